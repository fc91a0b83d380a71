"""`dispatch.ports.filesystem.Filesystem` in memory, with Linux's answers and errnos.

Stricter than the kernel where a caller's mistake would pass there: a handle is never used twice,
a relative path needs a folder, and only plain names are renamed.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from dispatch.testing.disk import FileInode, FolderInode, LinkInode, PipeInode
from dispatch.testing.lookup import PATH_BYTES_MAX, refuse, walk

if TYPE_CHECKING:
    from dispatch.testing.disk import Inode
    from dispatch.testing.lookup import Place

TICK_NS = 1_000_000  # what every change moves the clock by
_START_NS = 1_700_000_000_000_000_000
_MODES = {FileInode: stat.S_IFREG, FolderInode: stat.S_IFDIR, LinkInode: stat.S_IFLNK}


@dataclass(frozen=True, slots=True)
class RamStatus:
    """`dispatch.ports.filesystem.Status`."""

    st_mode: int
    st_dev: int
    st_ino: int
    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int


@dataclass(slots=True)
class _Opened:
    inode: Inode
    offset: int = 0


class RamFilesystem:
    """The system calls on inodes.

    Attributes:
        top: The inode of ``/``.
        now_ns: The clock: every change moves it by `TICK_NS`, and anybody may move it on.
        local: What `is_local` answers.
    """

    def __init__(self) -> None:
        self.now_ns = _START_NS
        self.local = True
        self._numbers = count(1)
        self._devices = count(1)
        self._handles = count(3)
        self._open: dict[int, _Opened] = {}
        self.top = self.new_folder(None)

    @property
    def open_handles(self) -> int:
        """How many handles are open."""
        return len(self._open)

    def new_folder(self, parent: FolderInode | None) -> FolderInode:
        """An empty folder, with no name yet; without a parent the top of a new file system."""
        device = parent.device if parent else next(self._devices)
        return FolderInode(next(self._numbers), device, self.now_ns, parent)

    def new_file(self, folder: FolderInode) -> FileInode:
        """An empty file for ``folder``, with no name yet."""
        return FileInode(next(self._numbers), folder.device, self.now_ns)

    def new_link(self, folder: FolderInode, target: bytes) -> LinkInode:
        """A link for ``folder``, with no name yet."""
        return LinkInode(next(self._numbers), folder.device, self.now_ns, target)

    def new_pipe(self, folder: FolderInode) -> PipeInode:
        """A named pipe for ``folder``, with no name yet."""
        return PipeInode(next(self._numbers), folder.device, self.now_ns)

    def change(self, folder: FolderInode, change: dict[bytes, Inode | None]) -> None:
        """Change a folder's names, and its stamp."""
        self.now_ns += TICK_NS
        folder.stamp_ns = self.now_ns
        folder.change(change)

    # -- the port

    def open_dir(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> int:
        inode = self.look(path, at, follow=follow)
        if not isinstance(inode, FolderInode):
            refuse(errno.ENOTDIR)
        return self._opened(inode)

    def open_file(self, path: bytes | str, at: int) -> int:
        return self._opened(self.look(path, at))

    def close(self, handle: int) -> None:
        self._inode(handle)
        del self._open[handle]

    def create(self, path: bytes | str, at: int) -> None:
        place = self._absent(path, at)
        self.change(place.folder, {place.name: self.new_file(place.folder)})

    def read(self, handle: int, size_max: int) -> bytes:
        inode = self._inode(handle)
        if isinstance(inode, FolderInode):
            refuse(errno.EISDIR)
        if not isinstance(inode, FileInode):
            return b""  # a pipe that nobody writes to
        opened = self._open[handle]
        part = inode.content[opened.offset : opened.offset + size_max]
        opened.offset += len(part)
        return part

    def symlink(self, target: bytes, path: bytes | str, at: int) -> None:
        if not target:
            refuse(errno.ENOENT)
        if len(target) > PATH_BYTES_MAX:
            refuse(errno.ENAMETOOLONG)
        place = self._absent(path, at)
        self.change(place.folder, {place.name: self.new_link(place.folder, target)})

    def readlink(self, path: bytes | str, at: int) -> bytes:
        inode = self.look(path, at, follow=False)
        if not isinstance(inode, LinkInode):
            refuse(errno.EINVAL)
        return inode.target

    def mkdir(self, path: bytes | str, at: int) -> None:
        place = self._absent(path, at)
        self.change(place.folder, {place.name: self.new_folder(place.folder)})

    def stat(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> RamStatus:
        return _status(self.look(path, at, follow=follow))

    def fstat(self, handle: int) -> RamStatus:
        return _status(self._inode(handle))

    def mount(self, handle: int) -> int | None:
        return self._inode(handle).device

    def type_name(self, handle: int) -> str | None:
        self._inode(handle)
        return "tmpfs" if self.local else "nfs4"

    def is_local(self, handle: int) -> bool:
        self._inode(handle)
        return self.local

    def listdir(self, handle: int) -> list[str]:
        return [os.fsdecode(name) for name in self._folder(handle).names]

    def rename(self, old: bytes | str, new: bytes | str, at: int) -> None:
        source, target = (self._place(self._plain(name), at, follow=False) for name in (old, new))
        if source.inode is None:
            refuse(errno.ENOENT)
        if source.inode is target.inode:
            return
        if _is_mounted_on(source.inode) or _is_mounted_on(target.inode):
            refuse(errno.EBUSY)
        if isinstance(source.inode, FolderInode):
            if target.inode is not None:
                self._require_empty(target.inode)
        elif isinstance(target.inode, FolderInode):
            refuse(errno.EISDIR)
        if isinstance(target.inode, FolderInode):
            target.inode.parent = None
        self.change(source.folder, {source.name: None, target.name: source.inode})

    def unlink(self, path: bytes | str, at: int) -> None:
        place = self._place(path, at, follow=False)
        if place.inode is None:
            refuse(errno.ENOENT)
        if isinstance(place.inode, FolderInode):
            refuse(errno.EISDIR)
        self.change(place.folder, {place.name: None})

    def rmdir(self, path: bytes | str, at: int) -> None:
        place = self._place(path, at, follow=False)
        if place.inode is None:
            refuse(errno.ENOENT)
        if not place.name:
            refuse(errno.EINVAL)
        if _is_mounted_on(place.inode):
            refuse(errno.EBUSY)
        self._require_empty(place.inode).parent = None
        self.change(place.folder, {place.name: None})

    def fsync(self, handle: int) -> None:
        inode = self._inode(handle)
        if isinstance(inode, PipeInode):
            refuse(errno.EINVAL)
        inode.sync()

    # -- paths and handles

    def look(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> Inode:
        """What is at ``path``.

        Raises:
            OSError: Nothing is (ENOENT), or the way there is no way.
        """
        inode = self._place(path, at, follow=follow).inode
        if inode is None:
            refuse(errno.ENOENT)
        return inode

    def _opened(self, inode: Inode) -> int:
        handle = next(self._handles)
        self._open[handle] = _Opened(inode)
        return handle

    def _inode(self, handle: int) -> Inode:
        if handle not in self._open:
            refuse(errno.EBADF)
        return self._open[handle].inode

    def _folder(self, handle: int) -> FolderInode:
        inode = self._inode(handle)
        if not isinstance(inode, FolderInode):
            refuse(errno.ENOTDIR)
        return inode

    def _plain(self, name: bytes | str) -> bytes:
        plain = os.fsencode(name)
        if b"/" in plain or plain in {b"", b".", b".."}:
            message = f"{plain!r} is not a plain name"
            raise ValueError(message)
        return plain

    def _absent(self, path: bytes | str, at: int) -> Place:
        place = self._place(path, at, follow=False)
        if place.inode is not None:
            refuse(errno.EEXIST)
        if place.folder.parent is None:
            refuse(errno.ENOENT)  # the folder was removed while it was open
        return place

    @staticmethod
    def _require_empty(inode: Inode) -> FolderInode:
        if not isinstance(inode, FolderInode):
            refuse(errno.ENOTDIR)
        if inode.names:
            refuse(errno.ENOTEMPTY)
        return inode

    def _place(self, path: bytes | str, at: int | None, *, follow: bool) -> Place:
        raw = os.fsencode(path)
        start = self.top if at is None or raw.startswith(b"/") else self._folder(at)
        if at is None and not raw.startswith(b"/"):
            message = f"{raw!r} is relative to no folder"
            raise ValueError(message)
        return walk(raw, start, self.top, follow=follow)


def _is_mounted_on(inode: Inode | None) -> bool:
    return (
        isinstance(inode, FolderInode)
        and inode.parent is not None
        and (inode.parent.device != inode.device)
    )


def _status(inode: Inode) -> RamStatus:
    size = 0
    if isinstance(inode, (FileInode, LinkInode)):
        size = len(inode.content if isinstance(inode, FileInode) else inode.target)
    mode = _MODES.get(type(inode), stat.S_IFIFO)
    return RamStatus(mode, inode.device, inode.number, size, inode.stamp_ns, inode.stamp_ns)
