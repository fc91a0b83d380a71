"""Faults on the way to a real store: each on one chosen request of each operation."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from dispatch.checkpoint import Entry, open_store
from dispatch.checkpoint.log import Log
from dispatch.errors import AlreadyPublishedError
from tests.contracts.buckets import BucketBench, variables_of
from tests.servers.faulty_proxy import (
    Fault,
    FaultyProxy,
    delay,
    drip,
    lose_reply,
    refuse,
    reset,
    run_faulty_proxy,
)
from tests.servers.s3 import S3Server
from tests.servers.stores import Store, real_store

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

AGAIN: dict[str, Fault] = {
    "lost reply": lose_reply,
    "reset": reset,
    "conflict": refuse(409, "ConditionalRequestConflict"),
    "slow down": refuse(503, "SlowDown"),
}
"""After these a request is sent again."""
LATE: dict[str, Fault] = {"drip": drip, "latency": delay}
"""After these there is an answer in the end, and it counts."""
FAULTS = AGAIN | LATE

OLD, NEW = "exec/a/step-1", "exec/a/step-2"


@pytest.fixture
def store(radosgw: S3Server) -> Store:
    return real_store(radosgw)


@pytest.fixture
def bench(store: Store) -> BucketBench:
    """A root with two saves."""
    made = BucketBench(store)
    for save in (OLD, NEW):
        for name in ("model", ".metadata"):
            made.write(f"{save}/{name}".encode(), b"x")
    return made


@pytest.fixture
def proxy(store: Store) -> Iterator[FaultyProxy]:
    with run_faulty_proxy(store.server.url) as running:
        yield running


@pytest.fixture
def log(store: Store, bench: BucketBench, proxy: FaultyProxy) -> Iterator[Log]:
    """The root's log, through the proxy."""
    environment = variables_of(store)
    with open_store(
        bench.root, endpoint=proxy.url, creds=["env"], environment=environment
    ) as opened:
        yield opened


def is_creation(line: bytes) -> bool:
    """Whether it creates an entry."""
    return line.startswith(b"PUT ") and b"/pub/" in line


def is_listing(line: bytes) -> bool:
    """Whether it lists."""
    return line.startswith(b"GET ") and b"list-type=2" in line


def is_retraction(line: bytes) -> bool:
    """Whether it deletes an entry."""
    return line.startswith(b"DELETE ") and b"/pub/" in line


def is_batch(line: bytes) -> bool:
    """Whether it deletes many keys."""
    return line.startswith(b"POST ") and urlsplit(line.split()[1].decode()).query == "delete"


def tries(name: str) -> int:
    """How many requests are sent for one that meets the fault."""
    return 2 if name in AGAIN else 1


def entries(bench: BucketBench) -> list[str]:
    """List what is in pub/, past the proxy."""
    keys = bench.keys()
    return sorted(key for key in keys if key.startswith("pub/"))


@pytest.mark.parametrize("name", FAULTS)
def test_a_publication_is_there_once(
    name: str, log: Log, bench: BucketBench, proxy: FaultyProxy
) -> None:
    """Whoever's reply was lost may be told that it was there already."""
    proxy.script(FAULTS[name], is_creation)
    expected = Entry(1, 1, OLD)
    try:
        assert log.publish(1, 1, OLD) == expected
    except AlreadyPublishedError:
        assert name == "lost reply"
    assert (proxy.remaining(), proxy.count(is_creation)) == (0, tries(name))
    assert entries(bench) == [f"pub/{expected.name()}"]
    assert log.resolve() == expected


@pytest.mark.parametrize("name", FAULTS)
def test_the_latest_is_found(name: str, log: Log, proxy: FaultyProxy) -> None:
    log.publish(1, 1, OLD)
    latest = log.publish(1, 2, NEW)
    before = proxy.count(is_listing)
    assert log.resolve() == latest
    at_rest = proxy.count(is_listing) - before
    proxy.script(FAULTS[name], is_listing)
    assert log.resolve() == latest
    assert proxy.remaining() == 0
    assert proxy.count(is_listing) - before == 2 * at_rest + tries(name) - 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_prune_comes_to_its_end(
    name: str, log: Log, bench: BucketBench, proxy: FaultyProxy
) -> None:
    """With a fault on its listing, on the removal of an entry, and on that of a save."""
    old = log.publish(1, 1, OLD)
    new = log.publish(1, 2, NEW)
    for is_meant in (is_listing, is_retraction, is_batch):
        proxy.script(FAULTS[name], is_meant)
    result = log.prune(1)
    assert proxy.remaining() == 0
    assert (result.entries, result.skipped) == ([old], [])
    assert proxy.count(is_retraction) == tries(name)
    assert result.folders == [f"{bench.root}/{OLD}"]
    kept = [f"{NEW}/.metadata", f"{NEW}/model", f"pub/{new.name()}"]
    assert sorted(bench.keys()) == kept
    assert log.resolve() == new
