"""A storage daemon that stands still for longer than the real read time-out, under a publication.

The library's own test (test_s3_store.py) has a short time-out; here nothing is changed, and the
program waits as it does for users. The cluster is this test's own: after half a minute of
standing still Ceph may answer late for some time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatch.adapters.s3.connection import _READ_S
from tests.cli.program import ATTEMPT, EPOCH, Program, wait_for
from tests.cli.roots import entry_name
from tests.servers.certificates import Certificates
from tests.servers.radosgw import run_radosgw
from tests.servers.relay import run_relay
from tests.servers.s3 import S3Server

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

pytestmark = pytest.mark.real

OUTCOME_S_MAX = 120.0  # a bound: the operation's own deadline is 80 s, and a last try takes 35

CEPH_S_MAX = 480.0  # a bound: 100 s were seen on a quiet machine, over 180 s on a busy one


@pytest.fixture
def cluster(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[S3Server]:
    """A cluster that nobody else uses."""
    with run_radosgw(tmp_path_factory.mktemp("radosgw-alone"), certificates) as servers:
        yield servers[0]


@pytest.mark.timeout(900)
def test_a_publication_outlives_a_storage_daemon_that_stands_still_for_half_a_minute(
    cluster: S3Server, tmp_path: Path
) -> None:
    """The first try times out, with its effect unknown; in the end the entry is there once."""
    client, osd = cluster.client(), cluster.daemons["osd"]
    client.create_bucket(Bucket="runs")
    save = f"exec/{ATTEMPT}/step-1"
    client.put_object(Bucket="runs", Key=f"job/{save}/.metadata", Body=b"m")
    tries: list[float] = []

    def stop_at_the_first_try(piece: bytes) -> None:
        if piece.startswith(b"PUT /runs/job/pub/"):
            if not tries:
                osd.pause()
            tries.append(time.monotonic())

    program = Program([sys.executable, "-m", "dispatch.cli.publish"], tmp_path)
    with run_relay(cluster.url, stop_at_the_first_try) as url:
        line = ["publish", "-checkpoint", "s3://runs/job", "-endpoint", url]
        line += [f"s3://runs/job/{save}", "1"]
        environment = keys_of(cluster)
        running = program.start(*line, environment=environment)
        try:
            wait_for(lambda: len(tries) == 2, "a second try", 2 * _READ_S)
        finally:
            osd.resume()
        ended = running.wait(OUTCOME_S_MAX)
        # After half a minute Ceph may take longer still than the operation does; then the program
        # says that to call again is safe, and so it is.
        while ended.status and tries[-1] - tries[0] < CEPH_S_MAX:
            ended.ended_with(1).says("It may have happened; to call again is safe")
            ended = program.start(*line, environment=environment).wait(OUTCOME_S_MAX)
    ended.well()
    assert tries[1] - tries[0] >= _READ_S  # it was the real time-out that ended the first
    assert b"published" in ended.err
    assert names_in(client) == [entry_name(EPOCH, 1, save)]


def keys_of(server: S3Server) -> dict[str, str]:
    """The environment of a program that may use the server."""
    return {
        "AWS_ACCESS_KEY_ID": server.keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.keys.secret_access_key,
    }


def names_in(client: S3Client) -> list[str]:
    """The publications."""
    listed = client.list_objects_v2(Bucket="runs", Prefix="job/pub/")
    return [item["Key"].removeprefix("job/pub/") for item in listed.get("Contents", ())]
