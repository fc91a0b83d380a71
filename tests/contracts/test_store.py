"""The store contract, on every store that needs no server and no particular file system."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from dispatch.adapters.system.patience import ThreadPatience
from dispatch.checkpoint.log import Log
from dispatch.model.removal import Aside
from dispatch.testing.contracts.bench import MakePublishingStore, MakeStore
from dispatch.testing.contracts.store import (
    PublishingStoreContract,
    SharedStoreContract,
    StoreContract,
)
from dispatch.testing.memory import MemoryStore
from dispatch.testing.misuse import MisuseError
from tests.contracts.benches import (
    CrashBench,
    FolderBench,
    MemoryBench,
    PatientBench,
    WatchedBench,
)


class TestMemoryStore(StoreContract):
    """The store in memory."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return MemoryBench


class TestPosixStoreOnACrashingDisk(StoreContract):
    """The POSIX store on the file system that power-loss tests use."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return CrashBench


class TestPosixStoreUnderWatch(StoreContract):
    """The same through the layer that injects faults."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return WatchedBench


class TestPosixStoreInAFolder(SharedStoreContract):
    """The POSIX store on whatever file system temporary folders are on."""

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        names = map("root-{}".format, count(1))
        return lambda: FolderBench(tmp_path / next(names))


class TestPatientStore(PublishingStoreContract):
    """The store that a watcher uses."""

    @pytest.fixture
    def make_store(self) -> MakePublishingStore:
        return lambda: PatientBench(CrashBench())


def test_no_single_listing_of_a_network_file_system_is_enough() -> None:
    """Another machine may have changed it behind this kernel's stamps."""
    bench = CrashBench()
    store = bench.open()
    store.create("pub", "name")
    bench.disk.advance(seconds=60)
    assert store.names("pub") == (["name"], True)
    bench.disk.become_remote()
    assert store.names("pub") == (["name"], False)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda store: store.has_save(b"a//b"),
        lambda store: store.has_save(b"a/../b"),
        lambda store: store.has_save(b"/a"),
        lambda store: store.read(b"a", b"", 1),
        lambda store: store.has_file(b"a", b"x" * 256),
        lambda store: store.location(b"a/"),
        lambda store: store.names("exec"),
        lambda store: store.create("pub", "a/b"),
        lambda store: store.create("pub", "x" * 256),
        lambda store: store.remove("pub", [".."]),
        lambda store: store.written("pub", ["a/b"]),
        lambda store: store.claim("runs", "a/b", "value"),
        lambda store: store.claim("exec", "name", "value"),
        lambda store: store.claim("runs", "name", ""),
        lambda store: store.claim("runs", "name", "a\0b"),
        lambda store: store.claim("runs", "name", "x" * 256),
        lambda store: store.claim_all("runs", {}),
        lambda store: store.claim_all("runs", {"1": "value", "a/b": "value"}),
        lambda store: store.claimed("exec", "name"),
        lambda store: store.delete(Aside(b"", b"exec/a/step-1")),
        lambda store: store.put_back(Aside(b"a/step-1", b"b/.pruned-0000000000000001.step-1")),
    ],
)
def test_the_store_in_memory_refuses_what_a_caller_must_not_ask(
    misuse: Callable[[MemoryStore], object],
) -> None:
    """A real one would let it pass, or not, depending on what it is."""
    with pytest.raises(MisuseError):
        misuse(MemoryStore())


def test_a_log_publishes_and_prunes_in_memory() -> None:
    """The rules above the port work on the strict store, and never ask it what they must not."""
    bench = MemoryBench()
    for step in range(3):
        bench.write(b"exec/a/step-%d/model" % step, b"w")
    log = Log(bench.open(), ThreadPatience())
    entries = [log.publish(1, step, f"exec/a/step-{step}", sync=True) for step in range(3)]
    result = log.prune(1)
    assert result.entries == entries[:2]
    assert len(result.folders) == 2
    assert log.entries() == entries[2:]
    assert log.store.children(b"exec/a", b"") == [b"step-2"]
