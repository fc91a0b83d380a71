"""How old a save is, where one kernel gives the stamps and the time; and what can't be known."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.errors import RefusedError, UnavailableError
from dispatch.testing.calls import Call, WatchedFilesystem
from dispatch.testing.faults import fail_always

SAVE = b"exec/a/step-1"
LATER_S = 100  # how far the clock has gone on since the save was written


class OnLocal(OsFilesystem):
    """A file system of which it is known whether this kernel alone keeps its stamps."""

    def __init__(self, *, is_local: bool) -> None:
        self._is_local = is_local

    def is_local(self, handle: int) -> bool:
        return self._is_local


def age(root: Path, *, is_local: bool = True, later_s: float = LATER_S) -> float | None:
    """Ask a store whose clock has gone on."""
    store = PosixStore(
        os.fsencode(root),
        OnLocal(is_local=is_local),
        now_ns=lambda: time.time_ns() + int(later_s * 1e9),
        token=lambda: b"12345678",
    )
    unchanged_s = store.contents(SAVE).unchanged_s
    store.close()
    return unchanged_s


@pytest.fixture
def save(root: Path) -> Path:
    """A save with a folder in it."""
    folder = root / os.fsdecode(SAVE)
    (folder / "model").mkdir(parents=True)
    (folder / ".metadata").write_bytes(b"m")
    (folder / "model/weights").write_bytes(b"w")
    return folder


def test_a_save_is_as_old_as_its_last_change_less_what_a_stamp_can_be_off_by(
    root: Path, save: Path
) -> None:
    unchanged_s = age(root)
    assert unchanged_s is not None
    assert LATER_S - 10 < unchanged_s < LATER_S


def test_times_that_a_copy_sets_do_not_make_it_old(root: Path, save: Path) -> None:
    """As rsync and cp -p do while they write."""
    for path in (save, *save.rglob("*")):
        os.utime(path, (0, 0))
    assert age(root, later_s=0) == 0


def test_a_clock_that_was_set_back_makes_it_young(root: Path, save: Path) -> None:
    assert age(root, later_s=-1000) == 0


def test_of_a_network_s_file_system_no_age_is_known(root: Path, save: Path) -> None:
    """Its stamps are another machine's."""
    assert age(root, is_local=False) is None


def test_of_a_save_that_is_not_there_no_age_is_known(root: Path) -> None:
    assert age(root) is None


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no /dev/shm")
def test_a_file_behind_a_link_to_another_file_system_leaves_the_age_unknown(
    root: Path, save: Path
) -> None:
    """Who knows whose clock stamped it."""
    if Path("/dev/shm").stat().st_dev == save.stat().st_dev:
        pytest.skip("the temporary folder is in /dev/shm")
    elsewhere = Path("/dev/shm") / f"dispatch-test-{os.getpid()}"
    elsewhere.write_bytes(b"w")
    try:
        (save / "linked").symlink_to(elsewhere)
        assert age(root) is None
    finally:
        elsewhere.unlink()


@pytest.mark.parametrize(
    ("matches", "error"),
    [
        (lambda call: call.method == "listdir", UnavailableError),
        (lambda call: call.method == "stat" and call.path.endswith(b"weights"), UnavailableError),
        (lambda call: call.method == "open_dir" and call.path.endswith(b"model"), RefusedError),
    ],
    ids=["listing", "looking at a file", "opening a folder"],
)
def test_a_failure_to_look_is_an_error_and_leaves_nothing_open(
    root: Path, save: Path, matches: Callable[[Call], bool], error: type[Exception]
) -> None:
    code = 13 if error is RefusedError else 5
    filesystem = WatchedFilesystem(OsFilesystem(), fail_always(code, matches))
    store = PosixStore(
        os.fsencode(root), filesystem, now_ns=time.time_ns, token=lambda: b"12345678"
    )
    with pytest.raises(error, match="step-1"):
        store.contents(SAVE)
    opened = sum(call.method == "open_dir" for call in filesystem.calls)
    closed = sum(call.method == "close" for call in filesystem.calls)
    assert opened - closed - (error is RefusedError) == 1  # the root's own stays
    store.close()


def test_what_goes_while_it_is_looked_at_is_a_mere_name(root: Path, save: Path) -> None:
    """A rotation is at work: the save is not complete, and nobody's fault."""

    def rule(call: Call) -> None:
        if call.method == "stat" and call.path.endswith(b".metadata"):
            (save / ".metadata").unlink()

    store = PosixStore(
        os.fsencode(root),
        WatchedFilesystem(OsFilesystem(), rule),
        now_ns=time.time_ns,
        token=lambda: b"12345678",
    )
    contents = store.contents(SAVE)
    assert contents.files() == [b"model/weights"]
    assert contents.states[b".metadata"] is None
    store.close()
