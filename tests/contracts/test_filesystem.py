"""The file system contract, and the crashing disk beside the real one, call by call."""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dispatch.ports.filesystem import Filesystem
from dispatch.testing.contracts.filesystem import FilesystemContract, MakeDisk
from tests.contracts.disks import CrashDisk, OsDisk

Step = tuple[str, ...]

NAMES = ("a", "b", "c")
PATHS = (*NAMES, "a/a", "a/b", "b/a", "l/a", "a/l", "l", ".", "a/..", "b/../a", "x" * 256, "a/b/c")
PLAIN = (*NAMES, "l")


class TestCrashingDisk(FilesystemContract):
    """The file system in memory."""

    @pytest.fixture
    def make_disk(self) -> MakeDisk:
        return CrashDisk


@pytest.fixture
def os_disks(tmp_path: Path) -> Iterator[Callable[[bool], OsDisk]]:
    made: list[OsDisk] = []
    names = map("disk-{}".format, count(1))

    def make(is_watched: bool) -> OsDisk:
        made.append(OsDisk(tmp_path / next(names), is_watched=is_watched))
        return made[-1]

    yield make
    for disk in made:
        disk.system.close_all()


class TestOsFilesystem(FilesystemContract):
    """The running system's own."""

    @pytest.fixture
    def make_disk(self, os_disks: Callable[[bool], OsDisk]) -> MakeDisk:
        return lambda: os_disks(False)


class TestWatchedFilesystem(FilesystemContract):
    """The same through the layer that logs calls and injects faults."""

    @pytest.fixture
    def make_disk(self, os_disks: Callable[[bool], OsDisk]) -> MakeDisk:
        return lambda: os_disks(True)


def kind(filesystem: Filesystem, path: str, at: int, *, follow: bool) -> str:
    """Say what a program would see at ``path``."""
    status = filesystem.stat(path, at, follow=follow)
    size = status.st_size if stat.S_ISREG(status.st_mode) else ""
    return f"{stat.S_IFMT(status.st_mode):o} {size}"


def listing(filesystem: Filesystem, path: str, at: int, *, follow: bool) -> str:
    """Say what a folder holds."""
    handle = filesystem.open_dir(path, at, follow=follow)
    try:
        return " ".join(sorted(filesystem.listdir(handle)))
    finally:
        filesystem.close(handle)


def content(filesystem: Filesystem, path: str, at: int) -> str:
    """Read a file and sync it."""
    handle = filesystem.open_file(path, at)
    try:
        filesystem.fsync(handle)
        return repr(filesystem.read(handle, 100))
    finally:
        filesystem.close(handle)


def answer(filesystem: Filesystem, at: int, step: Step) -> str:
    """Make one step, and say what came of it."""
    what, path, *more = step
    change: dict[str, Callable[..., None]] = {
        "create": filesystem.create,
        "mkdir": filesystem.mkdir,
        "unlink": filesystem.unlink,
        "rmdir": filesystem.rmdir,
        "rename": filesystem.rename,
    }
    try:
        match what:
            case "stat" | "lstat":
                return kind(filesystem, path, at, follow=what == "stat")
            case "list" | "list-nofollow":
                return listing(filesystem, path, at, follow=what == "list")
            case "read":
                return content(filesystem, path, at)
            case "readlink":
                return repr(filesystem.readlink(path, at))
            case "symlink":
                filesystem.symlink(os.fsencode(*more), path, at)
            case _:
                change[what](path, *more, at)
    except OSError as error:
        return f"{step}: {os.strerror(error.errno or 0)}"
    return "done"


ONE_PATH = st.tuples(
    st.sampled_from(
        ["create", "mkdir", "unlink", "stat", "lstat", "list", "list-nofollow", "read", "readlink"]
    ),
    st.sampled_from(PATHS),
)
REMOVE = st.tuples(st.just("rmdir"), st.sampled_from([*PLAIN, "a/a", "a/b", "l/a", "."]))
LINK = st.tuples(
    st.just("symlink"), st.sampled_from(PATHS), st.sampled_from(["a", "../d/b", "l", "", "x" * 255])
)
RENAME = st.tuples(st.just("rename"), st.sampled_from(PLAIN), st.sampled_from(PLAIN))


@given(
    target=st.sampled_from(["a", "b/a", "l", "nowhere", "../d/a", "."]),
    steps=st.lists(st.one_of(ONE_PATH, RENAME, REMOVE, LINK), max_size=25),
)
@example(target="a", steps=[("create", "a"), ("rename", "a", "b"), ("mkdir", "a"), ("list", "l")])
@example(
    target="a", steps=[("symlink", "c", "a"), ("mkdir", "a"), ("create", "c/b"), ("list", "c")]
)
@example(
    target="a",
    steps=[("symlink", "a", "x"), ("readlink", "a"), ("readlink", "."), ("readlink", "l")],
)
@example(target=".", steps=[("mkdir", "a"), ("create", "l/a/b"), ("rename", "l", "a")])
def test_the_crashing_disk_answers_like_the_real_one(target: str, steps: list[Step]) -> None:
    """The same steps, with a link among them, give the same answers and errnos."""
    with tempfile.TemporaryDirectory() as scratch:
        real, fake = OsDisk(Path(scratch, "d")), CrashDisk()
        answers = []
        for disk in (real, fake):
            disk.write(b"b/b", b"content")
            disk.link(b"l", target.encode())
            at = disk.filesystem.open_dir(disk.folder)
            answers.append([answer(disk.filesystem, at, step) for step in steps])
            disk.filesystem.close(at)
        assert answers[0] == answers[1]
        assert not real.system.left_open
