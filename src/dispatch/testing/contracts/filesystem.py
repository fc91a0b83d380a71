"""The contract of a file system: `dispatch.ports.filesystem.Filesystem`.

How to run it: as `dispatch.testing.contracts` says for a store, with a fixture ``make_disk``.
"""

from __future__ import annotations

import errno
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dispatch.ports.filesystem import Filesystem


class Disk(Protocol):
    """An empty folder of a file system, and the hands of whoever else writes there."""

    @property
    def filesystem(self) -> Filesystem:
        """The file system under test."""
        ...

    @property
    def folder(self) -> bytes:
        """The absolute path of the folder."""
        ...

    def write(self, path: bytes, content: bytes) -> None:
        """Make a file, with the folders that lead to it."""
        ...

    def link(self, path: bytes, target: bytes) -> None:
        """Make a symbolic link."""
        ...

    def pipe(self, path: bytes) -> None:
        """Make a named pipe."""
        ...


MakeDisk: TypeAlias = "Callable[[], Disk]"


@contextmanager
def refused(*codes: int) -> Iterator[None]:
    """Expect an `OSError` with one of ``codes``."""
    with pytest.raises(OSError, match=r"\[Errno \d+\]") as caught:
        yield
    assert caught.value.errno in codes


class FilesystemContract:
    """What any file system below a POSIX store does; needs the fixture ``make_disk``."""

    def test_a_folder_is_opened_by_its_path_and_by_another_handle(
        self, make_disk: MakeDisk
    ) -> None:
        """Also as ".", which gives a second handle on the same folder."""
        disk = make_disk()
        disk.write(b"a/b/file", b"")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        inner = fs.open_dir(b"b", fs.open_dir(b"a", top))
        same = fs.open_dir(b".", inner)
        assert fs.fstat(same).st_ino == fs.stat(b"a/b", top).st_ino
        assert fs.listdir(same) == ["file"]
        fs.close(inner)
        assert fs.listdir(same) == ["file"]

    def test_a_handle_shows_each_name_that_came_after_it(self, make_disk: MakeDisk) -> None:
        """Whenever it was opened and however often it was listed before."""
        disk = make_disk()
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        for number in range(3):
            fs.create(f"name-{number}", top)
            assert sorted(fs.listdir(top)) == [f"name-{n}" for n in range(number + 1)]
        fs.unlink("name-1", top)
        assert sorted(fs.listdir(top)) == ["name-0", "name-2"]

    def test_only_folders_are_opened_as_folders(self, make_disk: MakeDisk) -> None:
        """A link to one is followed, unless asked not to."""
        disk = make_disk()
        disk.write(b"a/file", b"")
        disk.link(b"link", b"a")
        disk.link(b"circle", b"circle")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        assert fs.listdir(fs.open_dir(b"link", top)) == ["file"]
        with refused(errno.ENOTDIR, errno.ELOOP):
            fs.open_dir(b"link", top, follow=False)
        with refused(errno.ENOTDIR):
            fs.open_dir(b"a/file", top)
        with refused(errno.ENOTDIR):
            fs.open_dir(b"a/file/x", top)
        with refused(errno.ENOENT):
            fs.open_dir(b"missing", top)
        with refused(errno.ELOOP):
            fs.open_dir(b"circle", top)

    def test_a_name_is_created_once(self, make_disk: MakeDisk) -> None:
        """Whatever has the name, even a link to nothing, is in the way."""
        disk = make_disk()
        disk.write(b"folder/file", b"content")
        disk.link(b"lost", b"nowhere")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        fs.create("new", top)
        for name in ("new", "folder", "lost", "folder/file"):
            with refused(errno.EEXIST):
                fs.create(name, top)
            with refused(errno.EEXIST):
                fs.mkdir(name, top)
        assert fs.stat("new", top).st_size == 0
        assert fs.stat("folder/file", top).st_size == len(b"content")
        with refused(errno.ENAMETOOLONG):
            fs.create("x" * 256, top)

    def test_a_file_is_read_on_from_where_the_last_read_ended(self, make_disk: MakeDisk) -> None:
        """Each handle for itself; a folder can't be read."""
        disk = make_disk()
        disk.write(b"file", b"12345")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        one, other = fs.open_file(b"file", top), fs.open_file(b"file", top)
        assert [fs.read(one, 3), fs.read(one, 3), fs.read(one, 3)] == [b"123", b"45", b""]
        assert fs.read(other, 9) == b"12345"
        with refused(errno.EISDIR):
            fs.read(fs.open_file(b".", top), 1)

    def test_a_pipe_is_opened_without_waiting(self, make_disk: MakeDisk) -> None:
        """Nobody writes to it, so it is at its end."""
        disk = make_disk()
        disk.pipe(b"pipe")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        assert stat.S_ISFIFO(fs.stat(b"pipe", top).st_mode)
        assert fs.read(fs.open_file(b"pipe", top), 9) == b""

    def test_a_link_is_looked_at_or_through(self, make_disk: MakeDisk) -> None:
        """As asked for, at the end of a path; before the end always through."""
        disk = make_disk()
        disk.write(b"folder/file", b"")
        disk.link(b"link", b"folder")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        assert stat.S_ISDIR(fs.stat(b"link", top).st_mode)
        assert stat.S_ISLNK(fs.stat(b"link", top, follow=False).st_mode)
        assert stat.S_ISREG(fs.stat(b"link/file", top, follow=False).st_mode)

    def test_a_link_is_made_once_and_read_as_it_was_written(self, make_disk: MakeDisk) -> None:
        """Wherever it leads, and whatever bytes it has."""
        disk = make_disk()
        disk.write(b"folder/file", b"content")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        inner = fs.open_dir(b"folder", top)
        for number, target in enumerate(
            (b"nowhere", b"file", b"\xff\n" * 127 + b"x", b"/", b"a//")
        ):
            fs.symlink(target, f"link-{number}", inner)
            assert fs.readlink(f"folder/link-{number}", top) == target
            status = fs.stat(f"link-{number}", inner, follow=False)
            assert (stat.S_ISLNK(status.st_mode), status.st_size) == (True, len(target))
        assert "link-4" in fs.listdir(inner)
        for name in ("link-0", "link-1", "file"):
            with refused(errno.EEXIST):
                fs.symlink(b"other", name, inner)
        assert fs.readlink(b"link-0", inner) == b"nowhere"
        fs.unlink(b"link-1", inner)
        assert fs.stat(b"file", inner).st_size == len(b"content")
        with refused(errno.ENOENT):
            fs.readlink(b"link-1", inner)
        for no_link in (b"file", b"."):
            with refused(errno.EINVAL):
                fs.readlink(no_link, inner)
        with refused(errno.ENOENT):
            fs.symlink(b"", b"empty", inner)
        with refused(errno.ENAMETOOLONG):
            fs.symlink(b"target", b"x" * 256, inner)
        with refused(errno.ENAMETOOLONG):
            fs.symlink(b"x" * 4096, b"long", inner)

    def test_a_rename_keeps_what_is_renamed(self, make_disk: MakeDisk) -> None:
        """A handle on it stays, and a folder that holds something is never replaced."""
        disk = make_disk()
        disk.write(b"a/file", b"")
        disk.write(b"full/file", b"")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        handle = fs.open_dir(b"a", top)
        fs.mkdir(b"empty", top)
        fs.rename(b"a", b"empty", top)
        assert sorted(fs.listdir(top)) == ["empty", "full"]
        assert fs.listdir(handle) == ["file"]
        with refused(errno.ENOTEMPTY, errno.EEXIST):
            fs.rename(b"empty", b"full", top)
        with refused(errno.ENOENT):
            fs.rename(b"a", b"b", top)

    def test_only_an_empty_folder_is_removed(self, make_disk: MakeDisk) -> None:
        """And only as a folder; a link goes without what it leads to."""
        disk = make_disk()
        disk.write(b"folder/file", b"")
        disk.link(b"link", b"folder")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        with refused(errno.ENOTEMPTY, errno.EEXIST):
            fs.rmdir(b"folder", top)
        with refused(errno.EISDIR, errno.EPERM):
            fs.unlink(b"folder", top)
        with refused(errno.ENOTDIR):
            fs.rmdir(b"folder/file", top)
        fs.unlink(b"link", top)
        fs.unlink(b"folder/file", top)
        fs.rmdir(b"folder", top)
        assert fs.listdir(top) == []
        with refused(errno.ENOENT):
            fs.unlink(b"link", top)

    def test_a_removed_folder_takes_no_names(self, make_disk: MakeDisk) -> None:
        """Whoever still has it open finds it empty."""
        fs_of = make_disk()
        fs = fs_of.filesystem
        top = fs.open_dir(fs_of.folder)
        fs.mkdir(b"folder", top)
        handle = fs.open_dir(b"folder", top)
        fs.rmdir(b"folder", top)
        assert fs.listdir(handle) == []
        with refused(errno.ENOENT):
            fs.create(b"name", handle)
        with refused(errno.ENOENT):
            fs.mkdir(b"name", handle)
        with refused(errno.ENOENT):
            fs.symlink(b"target", b"name", handle)

    def test_a_closed_handle_is_no_handle(self, make_disk: MakeDisk) -> None:
        """Closing it twice is an error."""
        disk = make_disk()
        fs = disk.filesystem
        handle = fs.open_dir(disk.folder)
        fs.close(handle)
        with refused(errno.EBADF):
            fs.close(handle)

    def test_files_and_folders_can_be_synced(self, make_disk: MakeDisk) -> None:
        """A folder also by a handle that was opened as a file."""
        disk = make_disk()
        disk.write(b"file", b"1")
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        for handle in (top, fs.open_file(b"file", top), fs.open_file(b".", top)):
            fs.fsync(handle)

    def test_a_folder_is_stamped_when_its_names_change(self, make_disk: MakeDisk) -> None:
        """Its stamps never go back, and handles on one mount agree on the mount."""
        disk = make_disk()
        fs = disk.filesystem
        top = fs.open_dir(disk.folder)
        before = fs.fstat(top)
        fs.create(b"name", top)
        after = fs.fstat(top)
        assert after.st_mtime_ns >= before.st_mtime_ns
        assert after.st_ctime_ns >= before.st_ctime_ns
        assert fs.mount(top) == fs.mount(fs.open_file(b"name", top))
        assert fs.type_name(top) == fs.type_name(fs.open_file(b"name", top)) != ""
        assert (after.st_dev, after.st_ino) == (before.st_dev, before.st_ino)
