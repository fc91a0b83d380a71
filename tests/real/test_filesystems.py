"""The POSIX store on freshly made file systems: ext4 in two layouts, XFS, btrfs and tmpfs."""

import errno
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from dispatch.adapters.posix import PosixStore, open_root
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.adapters.system.clock import pause, wall_ns
from dispatch.adapters.system.entropy import token
from dispatch.checkpoint import Entry, open_store
from dispatch.errors import RefusedError, UnavailableError
from dispatch.model.access import Access
from dispatch.model.removal import Left
from dispatch.testing.calls import Call, WatchedFilesystem
from dispatch.testing.contracts.bench import MakeStore
from dispatch.testing.contracts.filesystem import FilesystemContract, MakeDisk
from dispatch.testing.contracts.store import SharedStoreContract
from tests.contracts.benches import FolderBench
from tests.contracts.disks import OsDisk
from tests.real.mounts import KINDS, Kind, bound, mounted, run, scratch_at

pytestmark = [pytest.mark.real, pytest.mark.root]

BOUND_S = 30.0  # for what takes two seconds
PUBLISHERS = 8
SAVES = 50
NUMBERS = count(1)


@pytest.fixture(scope="module", params=KINDS, ids=str)
def filesystem(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Give the top of each file system."""
    kind: Kind = request.param
    with mounted(kind, tmp_path_factory.mktemp(kind.name)) as top:
        yield top


@pytest.fixture
def folder(filesystem: Path) -> Path:
    """Give a folder of the test's own."""
    inside = filesystem / f"test-{next(NUMBERS)}"
    inside.mkdir()
    return inside


@pytest.fixture
def root(folder: Path) -> Path:
    """Give a root in which one save is published."""
    save = folder / "exec" / "a" / "step-1"
    save.mkdir(parents=True)
    (save / "weights").write_bytes(b"w")
    open_store(folder).publish(1, 1, "exec/a/step-1", sync=True)
    return folder


class TestPosixStore(SharedStoreContract):
    """The store contract."""

    @pytest.fixture
    def make_store(self, folder: Path) -> Iterator[MakeStore]:
        with ExitStack() as mounts:

            def mount(place: Path) -> None:
                mounts.enter_context(scratch_at(place))

            yield lambda: FolderBench(folder / f"root-{next(NUMBERS)}", mount)


class TestOsFilesystem(FilesystemContract):
    """The file system contract."""

    @pytest.fixture
    def make_disk(self, folder: Path) -> Iterator[MakeDisk]:
        made: list[OsDisk] = []

        def make() -> OsDisk:
            made.append(OsDisk(folder / f"disk-{next(NUMBERS)}"))
            return made[-1]

        yield make
        for disk in made:
            disk.system.close_all()


def store_on(root: Path, filesystem: OsFilesystem | WatchedFilesystem) -> PosixStore:
    """Open the store of a root with a file system of the test's own."""
    return PosixStore(os.fsencode(root), filesystem, now_ns=wall_ns, token=token)


def test_the_type_of_the_file_system_is_told(filesystem: Path, folder: Path) -> None:
    """As `findmnt` tells it, which finds it another way."""
    told = run("findmnt", "-n", "-o", "FSTYPE", "--target", filesystem).strip()
    assert store_on(folder, OsFilesystem()).access() == Access(told)


def wait_until_whole(store: PosixStore) -> None:
    """Wait until one listing of pub/ is enough: until its last change is two seconds old."""
    end = time.monotonic() + BOUND_S
    while not store.names("pub")[1]:
        assert time.monotonic() < end, "no listing ever counts as whole"
        time.sleep(0.05)


def test_one_listing_of_a_folder_at_rest_is_enough(root: Path) -> None:
    """Its stamps are kept by this kernel alone, and old enough to hide nothing."""
    store = store_on(root, OsFilesystem())
    wait_until_whole(store)
    names, whole = store.names("pub")
    assert whole
    assert len(names) == 1


def test_a_change_while_a_folder_at_rest_is_listed_is_noticed(root: Path) -> None:
    """By the stamps, on every file system, also where these have whole seconds."""
    wait_until_whole(store_on(root, OsFilesystem()))
    changes = iter(("create", "remove"))

    def meddle(call: Call) -> None:
        if call.method == "listdir":
            name = Entry(2, 2, "exec/a/step-1").name()
            if next(changes) == "create":
                open_store(root).publish(2, 2, "exec/a/step-1")
            else:
                (root / "pub" / name).unlink()

    store = store_on(root, WatchedFilesystem(OsFilesystem(), meddle))
    assert store.names("pub")[1] is None
    wait_until_whole(store_on(root, OsFilesystem()))
    assert store.names("pub")[1] is None


def test_a_folder_that_was_just_changed_is_listed_twice(root: Path) -> None:
    """A further change could hide behind the same stamp."""
    assert store_on(root, OsFilesystem()).names("pub")[1] is False
    assert open_store(root).resolve() == Entry(1, 1, "exec/a/step-1")


def test_of_many_publishers_at_once_exactly_one_creates_each_name(root: Path) -> None:
    """Each with a store of its own, all with the same names."""
    names = [f"name-{number}" for number in range(SAVES)]

    def create(_: int) -> list[bool]:
        store = open_root(os.fsencode(root), now_ns=wall_ns, token=token, pause=pause)
        return [store.create("pub", name) for name in names]

    with ThreadPoolExecutor(PUBLISHERS) as pool:
        told = list(pool.map(create, range(PUBLISHERS)))
    assert [sum(column) for column in zip(*told, strict=True)] == [1] * SAVES


def test_prunes_at_once_remove_each_save_once(folder: Path) -> None:
    """Whoever loses a race to another goes on, and nothing is left over."""
    log = open_store(folder)
    for step in range(SAVES):
        save = folder / "exec" / "a" / f"step-{step}" / "model"
        save.mkdir(parents=True)
        (save / "weights").write_bytes(b"w")
        log.publish(1, step, f"exec/a/step-{step}")
    with ThreadPoolExecutor(PUBLISHERS) as pool:
        prunes = [pool.submit(lambda: open_store(folder).prune(2)) for _ in range(PUBLISHERS)]
        results = [prune.result() for prune in prunes]
    removed = [entry.step for result in results for entry in result.entries]
    folders = [Path(path).name for result in results for path in result.folders]
    deleted = [name for name in folders if not name.startswith(".pruned-")]  # others' leftovers
    assert sorted(removed) == list(range(SAVES - 2))
    assert len(deleted) == len(set(deleted))
    assert [skip for result in results for skip in result.skipped if skip.failed] == []
    left = sorted(path.name for path in (folder / "exec" / "a").iterdir())
    assert left == [f"step-{step}" for step in (SAVES - 2, SAVES - 1)]


def test_a_folder_of_the_same_file_system_mounted_in_a_save_is_left(root: Path) -> None:
    """A bind mount has the device number of what is around it, and is noticed all the same."""
    precious = root / "precious"
    precious.mkdir()
    (precious / "file").write_bytes(b"p")
    place = root / "exec" / "a" / "step-1" / "data"
    place.mkdir()
    with bound(precious, place):
        outcome = open_root(os.fsencode(root), now_ns=wall_ns, token=token, pause=pause).set_aside(
            b"exec/a/step-1"
        )
        assert isinstance(outcome, Left)
        assert not outcome.failed
    assert (precious / "file").read_bytes() == b"p"


def fill(folder: Path) -> list[Path]:
    """Make empty files until there is no room for another."""
    made: list[Path] = []
    while True:
        filler = folder / f"filler-{len(made)}"
        try:
            filler.touch()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return made
        made.append(filler)


def test_a_full_file_system_publishes_nothing_and_keeps_what_is_there(folder: Path) -> None:
    """Once there is room again the same call succeeds."""
    with scratch_at(folder, options="nr_inodes=12"):
        (folder / "step-1").write_bytes(b"w")
        log = open_store(folder)
        first = log.publish(1, 1, "step-1")
        fillers = fill(folder)
        with pytest.raises(UnavailableError) as caught:
            log.publish(1, 2, "step-1")
        assert caught.value.kind == "no-space"
        assert log.entries() == [first]
        fillers[0].unlink()
        assert log.publish(1, 2, "step-1") == log.resolve()


def test_a_read_only_file_system_is_read_and_not_written(folder: Path) -> None:
    """Resolve needs no right to write; publish and prune say what is wrong."""
    with scratch_at(folder):
        for step in (1, 2):
            (folder / f"step-{step}").write_bytes(b"w")
            open_store(folder).publish(1, step, f"step-{step}")
        run("mount", "-o", "remount,ro", folder)
        log = open_store(folder)
        assert log.resolve() == Entry(1, 2, "step-2")
        with pytest.raises(RefusedError) as caught:
            log.publish(1, 3, "step-1")
        assert caught.value.kind == "read-only"
        result = log.prune(1)
        assert (result.entries, result.folders) == ([], [])
        stuck = result.skipped[0]
        assert stuck.failed
        assert "EROFS" in stuck.reason
        assert len(log.entries()) == 2
