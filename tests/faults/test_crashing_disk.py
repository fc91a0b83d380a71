"""What the file system that loses power may come up with: the model that all else here rests on."""

import errno
import os
from collections.abc import Callable

import pytest

from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.testing.calls import Call, SkipCall, WatchedFilesystem
from dispatch.testing.crashfs import CrashFilesystem
from dispatch.testing.faults import (
    PowerLost,
    before,
    fail,
    fail_always,
    power_loss,
    skip_fsync,
)
from dispatch.testing.tree import File, Folder, Link, Pipe, Tree, folder_of


def folder(**inner: Tree) -> Folder:
    """Make the tree of a folder."""
    return folder_of({name.encode(): tree for name, tree in inner.items()})


def survivors(disk: CrashFilesystem) -> set[Folder]:
    """Every state that a power loss can leave now."""
    return set(disk.surviving())


@pytest.fixture
def disk() -> CrashFilesystem:
    """Give an empty disk."""
    return CrashFilesystem()


@pytest.fixture
def top(disk: CrashFilesystem) -> int:
    """Give its top folder, opened."""
    return disk.open_dir(b"/")


EMPTY, WITH_A, WITH_B = folder(), folder(a=File()), folder(b=File())


def test_a_name_may_be_lost_until_its_folder_was_synced(disk: CrashFilesystem, top: int) -> None:
    """It is visible all the while."""
    disk.create(b"a", top)
    assert disk.tree() == WITH_A
    assert survivors(disk) == {EMPTY, WITH_A}
    disk.fsync(top)
    assert survivors(disk) == {WITH_A}


def test_a_removal_may_be_undone_until_its_folder_was_synced(
    disk: CrashFilesystem, top: int
) -> None:
    """So a removed name can come back."""
    disk.create(b"a", top)
    disk.fsync(top)
    disk.unlink(b"a", top)
    assert disk.tree() == EMPTY
    assert survivors(disk) == {EMPTY, WITH_A}


def test_a_sync_of_the_file_makes_its_content_durable_and_not_its_name(
    disk: CrashFilesystem, top: int
) -> None:
    """And a sync of the folder its name and not its content."""
    disk.write(b"/a", b"1")
    both = {EMPTY, WITH_A, folder(a=File(b"1"))}
    assert survivors(disk) == both
    disk.fsync(disk.open_file(b"a", top))
    assert survivors(disk) == {EMPTY, folder(a=File(b"1"))}
    disk.write(b"/a", b"2")
    disk.fsync(top)
    assert survivors(disk) == {folder(a=File(b"1")), folder(a=File(b"2"))}


def test_a_rename_happened_wholly_or_not_at_all(disk: CrashFilesystem, top: int) -> None:
    """There is never a state with both names or neither."""
    disk.create(b"a", top)
    disk.fsync(top)
    disk.rename(b"a", b"b", top)
    assert survivors(disk) == {WITH_A, WITH_B}


def test_changes_of_different_names_survive_independently(disk: CrashFilesystem, top: int) -> None:
    """The later one without the earlier one, too."""
    disk.create(b"a", top)
    disk.create(b"b", top)
    assert survivors(disk) == {EMPTY, WITH_A, WITH_B, folder(a=File(), b=File())}


def test_changes_of_one_name_keep_their_order(disk: CrashFilesystem, top: int) -> None:
    """What follows a lost change of the same name is lost."""
    disk.create(b"a", top)
    disk.rename(b"a", b"b", top)
    disk.unlink(b"b", top)
    disk.mkdir(b"b", top)
    assert survivors(disk) == {EMPTY, WITH_A, WITH_B, folder(b=folder())}


def test_what_no_durable_name_leads_to_is_gone(disk: CrashFilesystem, top: int) -> None:
    """However often it was synced itself."""
    disk.mkdir(b"inner", top)
    inner = disk.open_dir(b"inner", top)
    disk.create(b"a", inner)
    disk.fsync(inner)
    assert survivors(disk) == {EMPTY, folder(inner=WITH_A)}
    disk.fsync(top)
    assert survivors(disk) == {folder(inner=WITH_A)}


def test_a_folder_keeps_its_unsynced_names_when_it_is_renamed(
    disk: CrashFilesystem, top: int
) -> None:
    """A half-deleted folder can stand under its old name."""
    disk.write(b"/old/a", b"")
    disk.sync()
    disk.rename(b"old", b"new", top)
    disk.unlink(b"a", disk.open_dir(b"new", top))
    assert survivors(disk) == {
        folder(**{name: inner}) for name in ("old", "new") for inner in (EMPTY, WITH_A)
    }


def test_a_disk_that_comes_up_is_durable_and_holds_everything(disk: CrashFilesystem) -> None:
    """Links and pipes, too; what was mounted is not mounted any more."""
    disk.write(b"/folder/a", b"1")
    disk.link(b"/folder/link", b"a")
    disk.pipe(b"/folder/pipe")
    disk.mount_on(b"/folder/mounted")
    disk.write(b"/folder/mounted/a", b"2")
    disk.sync()
    inner = folder(a=File(b"1"), link=Link(b"a"), pipe=Pipe(), mounted=folder())
    [survivor] = disk.after_power_loss()
    assert survivor.tree() == folder(folder=inner)
    assert survivors(survivor) == {folder(folder=inner)}
    assert survivor.open_handles == 0


def test_no_call_is_answered_once_power_is_lost(disk: CrashFilesystem, top: int) -> None:
    """Not even closing; and what the others see stays as it was."""
    disk.lose_power_before(2)
    disk.create(b"a", top)
    calls: list[Callable[[int], object]] = [disk.fsync, disk.listdir, disk.close]
    for call in calls:
        with pytest.raises(PowerLost):
            call(top)
    assert disk.tree() == WITH_A


def test_mounts_differ_and_handles_are_counted(disk: CrashFilesystem, top: int) -> None:
    """A mounted file system has a device and a mount of its own, and can't be renamed away."""
    disk.mount_on(b"/mounted")
    mounted = disk.open_dir(b"mounted", top)
    assert disk.fstat(mounted).st_dev != disk.fstat(top).st_dev
    assert disk.mount(mounted) != disk.mount(top)
    assert disk.fstat(disk.open_dir(b"..", mounted)).st_ino == disk.fstat(top).st_ino
    with pytest.raises(OSError, match="busy"):
        disk.rename(b"mounted", b"b", top)
    with pytest.raises(OSError, match="busy"):
        disk.rmdir(b"mounted", top)
    assert disk.open_handles == 3
    disk.close(mounted)
    assert disk.open_handles == 2


def test_calls_are_logged_with_their_paths(disk: CrashFilesystem, top: int) -> None:
    """A handle's calls with the path that it was opened with."""
    disk.mkdir(b"inner", top)
    inner = disk.open_dir(b"inner", top)
    disk.create(b"a", inner)
    disk.fsync(inner)
    disk.close(inner)
    assert [(call.number, call.method, call.path) for call in disk.calls] == [
        (1, "open_dir", b"/"),
        (2, "mkdir", b"/inner"),
        (3, "open_dir", b"/inner"),
        (4, "create", b"/inner/a"),
        (5, "fsync", b"/inner"),
        (6, "close", b"/inner"),
    ]


@pytest.mark.parametrize(
    "mistake",
    [
        lambda disk: disk.open_dir(b"relative"),
        lambda disk: disk.stat(b"/a\0b"),
        lambda disk: disk.create(b"a/", disk.open_dir(b"/")),
        lambda disk: disk.rename(b"a/b", b"c", disk.open_dir(b"/")),
    ],
)
def test_the_disk_refuses_what_the_kernel_would_let_pass(
    disk: CrashFilesystem, mistake: Callable[[CrashFilesystem], object]
) -> None:
    """A caller's mistake is not an errno."""
    with pytest.raises(ValueError, match=r"relative|NUL|slash|plain"):
        mistake(disk)


def test_a_call_fails_as_a_rule_says_and_is_not_made(disk: CrashFilesystem, top: int) -> None:
    """That one alone, or each that the rule is about."""
    once = WatchedFilesystem(disk, fail(2, errno.EIO))
    once.create(b"a", top)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        once.create(b"b", top)
    once.create(b"c", top)
    always = WatchedFilesystem(disk, fail_always(errno.EROFS, lambda c: c.method == "unlink"))
    for name in (b"a", b"c"):
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)):
            always.unlink(name, top)
    always.create(b"d", top)
    assert disk.tree().names() == [b"a", b"c", b"d"]


def test_a_skipped_fsync_says_that_it_was_made(disk: CrashFilesystem) -> None:
    """The k-th of those that match; the others are made."""
    watched = WatchedFilesystem(disk, skip_fsync(2, lambda call: call.path == b"/"))
    top = watched.open_dir(b"/")
    for name, count in ((b"a", 1), (b"b", 2), (b"c", 1)):
        watched.create(name, top)
        watched.fsync(top)
        assert len(survivors(disk)) == count


def test_only_an_fsync_can_be_skipped(disk: CrashFilesystem) -> None:
    """A rule that skips another call has a bug."""

    def skip(call: Call) -> None:
        raise SkipCall

    with pytest.raises(SkipCall):
        WatchedFilesystem(disk, skip).open_dir(b"/")


def test_another_process_acts_right_before_a_call(disk: CrashFilesystem, top: int) -> None:
    """So the call finds what it did."""
    watched = WatchedFilesystem(disk, before(1, lambda: disk.create(b"a", top)))
    with pytest.raises(FileExistsError):
        watched.create(b"a", top)


def test_power_can_be_lost_on_any_file_system() -> None:
    """A rule for the real one: nothing is made from a call on."""
    watched = WatchedFilesystem(OsFilesystem(), power_loss(1))
    for _ in range(2):
        with pytest.raises(PowerLost):
            watched.open_dir(b"/")
