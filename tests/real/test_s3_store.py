"""The S3 store on real servers: the contract, races of publishers, a storage daemon that hangs."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dispatch.adapters.s3 import connection
from dispatch.checkpoint import Entry
from dispatch.checkpoint.log import Log
from dispatch.errors import (
    AlreadyPublishedError,
    CredentialsError,
    NotFoundError,
    RefusedError,
    UnknownOutcomeError,
)
from dispatch.testing.contracts.bench import MakeStore
from tests.contracts.buckets import BucketBench, S3Contract, open_log, variables_of
from tests.servers.s3 import Keys, S3Server
from tests.servers.stores import Store, real_store

pytestmark = pytest.mark.real

RACERS = 32
ROUNDS = {"radosgw": 100, "seaweedfs": 5}  # losers on SeaweedFS wait for up to 14 s
PROCESSES, PROCESS_ROUNDS = 8, 10
MANY = 2500
WAIT_S = 60.0
SERVERS = ("radosgw", "radosgw_https", "seaweedfs")


@pytest.fixture(scope="module", params=SERVERS)
def store(request: pytest.FixtureRequest) -> Store:
    """Each server."""
    server: S3Server = request.getfixturevalue(request.param)
    return real_store(server)


@pytest.fixture
def bench(store: Store) -> BucketBench:
    """A root in a bucket of its own."""
    return BucketBench(store)


@pytest.fixture
def log(store: Store, bench: BucketBench) -> Iterator[Log]:
    """Its log, as a program opens it."""
    with open_log(store, bench.root) as opened:
        yield opened


class TestS3Store(S3Contract):
    """The store contract on each server."""

    @pytest.fixture
    def make_store(self, store: Store) -> MakeStore:
        return lambda: BucketBench(store)


def test_a_prune_deletes_a_large_save_in_batches(bench: BucketBench, log: Log) -> None:
    """More keys than one batch takes; what is kept stays whole."""
    for number in range(1100):
        bench.write(b"exec/a/step-1/part-%d" % number, b"")
    bench.write(b"exec/a/step-1/.metadata", b"m")
    bench.write(b"exec/a/step-10/.metadata", b"m")
    old = log.publish(1, 1, "exec/a/step-1")
    new = log.publish(1, 10, "exec/a/step-10")
    result = log.prune(1)
    assert (result.entries, result.skipped) == ([old], [])
    assert result.folders == [f"{bench.root}/exec/a/step-1"]
    assert sorted(bench.keys()) == ["exec/a/step-10/.metadata", f"pub/{new.name()}"]


def test_the_latest_is_found_on_the_last_page(bench: BucketBench, log: Log) -> None:
    """Of 2,500 publications."""
    entries = [Entry(1, step, f"exec/a/step-{step}") for step in range(MANY)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda entry: bench.write(b"pub/" + entry.name().encode(), b""), entries))
    assert log.resolve() == entries[-1]
    assert log.entries() == entries


def race(log_of: Callable[[], Log], step: int) -> Counter[str]:
    """Let all publish one save at once; count what they are told."""
    barrier = threading.Barrier(RACERS)

    def publish(log: Log) -> str:
        barrier.wait(WAIT_S)
        try:
            log.publish(1, step, "exec/a/step-1")
        except AlreadyPublishedError:
            return "already there"
        return "created"

    logs = [log_of() for _ in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        return Counter(pool.map(publish, logs))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ROUNDS)
def test_one_of_many_publishers_creates(request: pytest.FixtureRequest, name: str) -> None:
    """32 at once: one is told that it created the entry, 31 that it was there."""
    store = real_store(request.getfixturevalue(name))
    bench = BucketBench(store)
    bench.write(b"exec/a/step-1/.metadata", b"m")
    logs = [open_log(store, bench.root) for _ in range(RACERS)]
    for step in range(ROUNDS[name]):
        remaining = iter(logs)
        told = race(lambda remaining=remaining: next(remaining), step)  # type: ignore[misc]  # a lambda's default
        assert told == {"created": 1, "already there": RACERS - 1}
    assert len(log_steps(logs[0])) == ROUNDS[name]


def log_steps(log: Log) -> list[int]:
    """List the steps that are published."""
    return [entry.step for entry in log.entries()]


def publish_in_a_process(store: Store, root: str, step: int) -> subprocess.Popen[bytes]:
    """Start the real program."""
    ca_file = store.server.ca_file
    return subprocess.Popen(
        [
            sys.executable, "-m", "dispatch.cli.publish", "publish", "-checkpoint", root,
            "-endpoint", store.server.url, *(["-ca-file", str(ca_file)] if ca_file else []),
            "-creds", "env", "-json", f"{root}/exec/a/step-1", str(step),
        ],
        env={
            "PATH": os.defpath,
            "DISPATCH_EPOCH": "1",
            **variables_of(store),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ROUNDS)
def test_one_of_many_processes_creates(request: pytest.FixtureRequest, name: str) -> None:
    """Eight real programs at once."""
    store = real_store(request.getfixturevalue(name))
    bench = BucketBench(store)
    bench.write(b"exec/a/step-1/.metadata", b"m")
    for step in range(PROCESS_ROUNDS):
        running = [publish_in_a_process(store, bench.root, step) for _ in range(PROCESSES)]
        answers = [process.communicate(timeout=2 * WAIT_S)[0] for process in running]
        assert [process.returncode for process in running] == [0] * PROCESSES
        assert sum(b'"created": true' in answer for answer in answers) == 1
    with open_log(store, bench.root) as log:
        assert log_steps(log) == list(range(PROCESS_ROUNDS))


@pytest.mark.timeout(400)
def test_a_storage_daemon_that_hangs_in_the_middle_of_a_put(
    radosgw: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is given up and asked for again; in the end there is one entry, and it is told.

    The read time-out is shorter here: a Ceph daemon that was stopped for half a minute may take
    minutes to answer for that object again, and other tests need it.
    """
    monkeypatch.setattr(connection, "_READ_S", 2)
    store = real_store(radosgw)
    bench = BucketBench(store)
    bench.write(b"exec/a/step-1/.metadata", b"m")
    log = open_log(store, bench.root)
    osd = radosgw.daemons["osd"]
    client = log.store._requests.client  # type: ignore[attr-defined]  # it is on S3
    put_object = client.put_object
    tries = threading.Semaphore(0)
    is_first = itertools.chain([True], itertools.repeat(False))

    def put(**parameters: object) -> object:
        if next(is_first):
            osd.pause()
        tries.release()
        return put_object(**parameters)

    client.put_object = put  # to be there at the moment
    with ThreadPoolExecutor(1) as pool:
        published = pool.submit(publish_until_told, log)
        try:
            assert tries.acquire(timeout=WAIT_S)
            assert tries.acquire(timeout=WAIT_S)  # the second: the first was given up
            assert not published.done()
        finally:
            osd.resume()
        assert published.result(6 * WAIT_S) in {"created", "already there"}
    assert len(log.entries()) == 1


def publish_until_told(log: Log) -> str:
    """Publish the save, again while the outcome is unknown, which is safe; say what was told."""
    outcome = ""
    for _ in range(4):
        try:
            log.publish(1, 1, "exec/a/step-1")
        except UnknownOutcomeError as error:
            outcome = error.kind
        except AlreadyPublishedError:
            return "already there"
        else:
            return "created"
    return outcome


def with_keys(store: Store, keys: Keys) -> Store:
    """Give the same store with other keys."""
    server = store.server
    other = S3Server(server.name, server.version, server.url, keys, server.ca_file)
    return Store(other, store.make_bucket, store.let_read)


def test_a_missing_bucket_and_wrong_keys_are_told(store: Store, bench: BucketBench) -> None:
    """Each by its own error."""
    with open_log(store, "s3://no-such-bucket-anywhere/x") as log, pytest.raises(NotFoundError):
        log.resolve()
    for keys in (Keys("nobody", "x" * 20), Keys(store.server.keys.access_key_id, "x" * 20)):
        with open_log(with_keys(store, keys), bench.root) as log:
            with pytest.raises(CredentialsError) as caught:
                log.resolve()
            assert caught.value.kind == "credentials-refused"


def test_keys_that_may_only_read_objects(store: Store) -> None:
    """What they may not do is refused, with the action and the key."""
    bucket = store.new_bucket()
    keys = store.let_read(bucket)
    limited = with_keys(store, keys)
    with open_log(limited, f"s3://{bucket}/x") as log, pytest.raises(RefusedError) as caught:
        log.resolve()
    assert f"ListObjectsV2 s3://{bucket}/x/pub/" in str(caught.value)
