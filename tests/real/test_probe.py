"""`publish probe` on real servers: those that can be trusted, and those that it must call out."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.cli.program import Ended, Program, Running
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.s3 import S3Server

pytestmark = pytest.mark.real

BUCKETS = itertools.count(1)
GOOD = [
    "credentials", "proxy", "reachable", "listable", "writable", "folder sync",
    "exclusive creation", "race", "listing", "removal", "claims", "clock", "latency", "clean-up",
    "other probes",
]  # fmt: skip


class Bucket:
    """A bucket of its own on a real server, and the program for a root in it."""

    def __init__(self, server: S3Server, scratch: Path) -> None:
        self.server = server
        self.client = server.client()
        self.name = f"probe-{os.getpid()}-{next(BUCKETS)}"
        self.client.create_bucket(Bucket=self.name)
        self.program = Program([sys.executable, "-m", "dispatch.cli.publish"], scratch)
        self._environment = {
            "AWS_ACCESS_KEY_ID": server.keys.access_key_id,
            "AWS_SECRET_ACCESS_KEY": server.keys.secret_access_key,
        }
        ca_file = [] if server.ca_file is None else ["-ca-file", str(server.ca_file)]
        self._line = [
            "probe", "-checkpoint", f"s3://{self.name}/job", "-endpoint", server.url,
            "-addressing", "path", *ca_file,
        ]  # fmt: skip

    def probe(self, *more: str) -> Ended:
        """Run a probe to its end."""
        return self.program.run(*self._line, *more, environment=self._environment)

    def start(self, *more: str) -> Running:
        """Start one."""
        return self.program.start(*self._line, *more, environment=self._environment)

    def keys(self) -> list[str]:
        """All that is in the bucket."""
        found = self.client.list_objects_v2(Bucket=self.name).get("Contents", [])
        return [item["Key"] for item in found]


MakeBucket = Callable[[S3Server], Bucket]


@pytest.fixture
def make_bucket(tmp_path: Path) -> Iterator[MakeBucket]:
    """Make a bucket; whatever is started for it ends with the test."""
    made: list[Bucket] = []

    def make(server: S3Server) -> Bucket:
        scratch = tmp_path / str(len(made))
        scratch.mkdir()
        made.append(Bucket(server, scratch))
        return made[-1]

    yield make
    for bucket in made:
        bucket.program.kill_started()


@pytest.fixture(params=["radosgw", "radosgw_https", "seaweedfs"])
def trusted(request: pytest.FixtureRequest, make_bucket: MakeBucket) -> Bucket:
    """A bucket on each store that is to pass."""
    return make_bucket(request.getfixturevalue(request.param))


def checks_of(ended: Ended) -> dict[str, dict[str, Any]]:
    """Its document, by check."""
    return {check["check"]: check for check in json.loads(ended.out)["checks"]}


def failed(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What each check that failed says."""
    return {
        name: f"{check['found']}. {check['advice']}"
        for name, check in checks.items()
        if check["state"] == "FAIL"
    }


def test_a_store_that_honours_the_condition_passes(trusted: Bucket) -> None:
    """With all there is to know of it, and nothing left."""
    checks = checks_of(trusted.probe("-json").well())
    assert list(checks) == GOOD
    assert {check["state"] for check in checks.values()} == {"ok"}
    assert checks["reachable"]["found"] == trusted.server.url
    assert checks["credentials"]["found"] == "from env; no end of them is known"
    assert checks["race"]["found"].startswith("1 of 16 ")
    assert trusted.keys() == []


def test_a_second_probe_sees_nothing_of_the_first(trusted: Bucket) -> None:
    """SeaweedFS lists folders for a while after their last key has gone."""
    for _ in range(2):
        checks = checks_of(trusted.probe("-json").well())
        assert checks["other probes"]["state"] == "ok"


def test_a_store_that_ignores_the_condition_is_called_out(
    rclone_s3: S3Server, make_bucket: MakeBucket
) -> None:
    """It says what holds all the same: publications do, claims don't."""
    bucket = make_bucket(rclone_s3)
    checks = checks_of(bucket.probe("-json").ended_with(1))
    said = failed(checks)
    assert set(said) == {"exclusive creation", "claims"}
    assert "ignores the condition (If-None-Match)" in said["exclusive creation"]
    assert "nothing is lost or overwritten" in said["exclusive creation"]
    assert "Claims don't hold" in said["exclusive creation"]
    assert "'one' was claimed first" in said["claims"]
    assert bucket.keys() == []


def test_a_store_that_refuses_the_condition_is_called_out(
    swift_s3: S3Server, make_bucket: MakeBucket
) -> None:
    bucket = make_bucket(swift_s3)
    checks = checks_of(bucket.probe("-json").ended_with(1))
    said = failed(checks)
    assert set(said) == {"writable"}
    assert "501" in said["writable"]
    assert "refuses the condition (If-None-Match)" in said["writable"]
    assert "nothing can be published or claimed" in said["writable"]
    assert checks["writable"]["kind"] == "condition-refused"
    assert checks["listable"]["state"] == "ok"
    assert not checks["claims"]["made"]
    assert bucket.keys() == []


def test_the_proxy_is_named_and_all_goes_through_it(
    radosgw: S3Server, radosgw_https: S3Server, forward_proxy: ForwardProxy, make_bucket: MakeBucket
) -> None:
    """Plain requests, and CONNECT for https."""
    for server in (radosgw, radosgw_https):
        before = len(forward_proxy.requests())
        bucket = make_bucket(server)
        checks = checks_of(bucket.probe("-json", "-proxy", forward_proxy.url).well())
        assert checks["proxy"]["found"] == forward_proxy.url
        seen = forward_proxy.requests()[before:]
        host = server.url.partition("://")[2]
        is_plain = server is radosgw
        assert seen
        assert all(r.startswith("CONNECT ") != is_plain and host in r for r in seen)
        assert any(".probe-" in r for r in seen) is is_plain


def test_two_nodes_measure_each_other(trusted: Bucket) -> None:
    running = [trusted.start("-json", "-peer", "4103") for _ in range(2)]
    seats = set()
    for each in running:
        checks = checks_of(each.wait(120).well())
        assert failed(checks) == {}
        assert " in 10 rounds" in checks["visibility"]["found"]
        assert checks["other probes"]["state"] == "ok"
        seats.add(checks["peer"]["found"])
    assert len(seats) == 2
    assert trusted.keys() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_in_the_middle_leaves_no_key(
    radosgw: S3Server, make_bucket: MakeBucket, number: signal.Signals
) -> None:
    """Both nodes end, and neither leaves anything."""
    bucket = make_bucket(radosgw)
    first = bucket.start("-peer", "a", "-timeout", "60s")
    while bucket.keys() != ["job/.probe-a/first"]:
        assert first.is_running()
    assert first.end(number).status == -number
    assert bucket.keys() == []


def test_a_bucket_that_is_not_there_is_a_fail_and_is_not_made(
    radosgw: S3Server, make_bucket: MakeBucket
) -> None:
    bucket = make_bucket(radosgw)
    bucket.client.delete_bucket(Bucket=bucket.name)
    checks = checks_of(bucket.probe("-json").ended_with(1))
    assert "there is no such bucket" in failed(checks)["listable"]
    with pytest.raises(ClientError, match="404"):
        bucket.client.head_bucket(Bucket=bucket.name)
