"""A file system in memory that can lose power.

For example, every state that a crash can leave at any moment of an operation::

    for number in count(1):
        disk = CrashFilesystem()
        disk.write(b"/root/exec/a/model", b"weights")
        disk.sync()
        disk.lose_power_before(number)
        try:
            operation(disk)
            is_done = True
        except PowerLost:
            is_done = False
        for survivor in disk.after_power_loss():
            ...  # a new CrashFilesystem each
        if is_done:
            break

What can survive is said in `dispatch.testing.disk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.testing.calls import WatchedFilesystem
from dispatch.testing.disk import FileInode, FolderInode
from dispatch.testing.faults import PowerLost
from dispatch.testing.lookup import walk
from dispatch.testing.ramfs import RamFilesystem
from dispatch.testing.tree import File, Folder, Link, Pipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.testing.calls import Call, Rule
    from dispatch.testing.disk import Inode
    from dispatch.testing.tree import Tree


EMPTY = Folder()


class CrashFilesystem(WatchedFilesystem):
    """`dispatch.ports.filesystem.Filesystem`, and the hands of whoever else uses the disk.

    What those hands do is visible at once, durable after `sync` or an fsync through the port,
    and neither logged nor put to the rules.

    Args:
        *rules: Asked before each call, after the power.
        content: What is on the disk at first, durably.

    Attributes:
        calls: Every call of the port so far.
    """

    def __init__(self, *rules: Rule, content: Folder = EMPTY) -> None:
        self._ram = RamFilesystem()
        self._power_lost_before: int | None = None
        super().__init__(self._ram, self._require_power, *rules)
        self._fill(self._ram.top, content)

    @property
    def open_handles(self) -> int:
        """How many handles are open now."""
        return self._ram.open_handles

    def become_remote(self) -> None:
        """Be a network file system from now on: `is_local` answers False."""
        self._ram.local = False

    def now_ns(self) -> int:
        """The clock that changes are stamped with; it moves with each of them."""
        return self._ram.now_ns

    def advance(self, seconds: float) -> None:
        """Move the clock on."""
        self._ram.now_ns += round(seconds * 1e9)

    # -- power

    def lose_power_before(self, number: int) -> None:
        """Lose power before the ``number``-th call from now, counted from 1."""
        self._power_lost_before = len(self.calls) + number

    def after_power_loss(self) -> Iterator[CrashFilesystem]:
        """Each different disk that a machine could come up with if power were lost right now.

        Everything on such a disk is durable, and nothing is mounted on it.
        """
        for tree in self.surviving():
            yield CrashFilesystem(content=tree)

    def surviving(self) -> Iterator[Folder]:
        """The same, as trees."""
        for tree in self._ram.top.surviving():
            if isinstance(tree, Folder):
                yield tree

    def _require_power(self, call: Call) -> None:
        if self._power_lost_before is not None and call.number >= self._power_lost_before:
            raise PowerLost

    # -- other hands

    def tree(self) -> Folder:
        """All that a program sees now."""
        return self._ram.top.tree()

    def write(self, path: bytes, content: bytes) -> None:
        """Make the file ``path`` hold ``content``, with the folders that lead to it."""
        folder, name = self._prepare(path)
        inode = folder.names.get(name)
        if not isinstance(inode, FileInode):
            inode = self._ram.new_file(folder)
            self._ram.change(folder, {name: inode})
        inode.content = content

    def make_folder(self, path: bytes) -> None:
        """Make the folder ``path`` where it is missing, and those that lead to it."""
        self._prepare(path + b"/.")

    def link(self, path: bytes, target: bytes) -> None:
        """Make ``path`` a symbolic link to ``target``."""
        folder, name = self._prepare(path)
        self._ram.change(folder, {name: self._ram.new_link(folder, target)})

    def pipe(self, path: bytes) -> None:
        """Make ``path`` a named pipe."""
        folder, name = self._prepare(path)
        self._ram.change(folder, {name: self._ram.new_pipe(folder)})

    def remove(self, path: bytes) -> None:
        """Remove ``path`` and all that is in it."""
        folder, name = self._prepare(path)
        inode = folder.names.get(name)
        if isinstance(inode, FolderInode):
            for inner in inode.names:
                self.remove(path + b"/" + inner)
            inode.parent = None
        self._ram.change(folder, {name: None})

    def mount_on(self, path: bytes) -> None:
        """Mount a new, empty file system on the folder ``path``, until power is lost."""
        self.make_folder(path)
        inode = self._ram.look(path)
        if isinstance(inode, FolderInode):
            inode.mounted = self._ram.new_folder(None)
            inode.mounted.parent = inode.parent

    def sync(self) -> None:
        """Make everything durable, as the system call of that name does."""
        pending: list[Inode] = [self._ram.top]
        while pending:
            inode = pending.pop()
            inode.sync()
            if isinstance(inode, FolderInode):
                pending += inode.names.values()

    def _prepare(self, path: bytes) -> tuple[FolderInode, bytes]:
        """The folder that holds ``path``, made where it is missing, and the last name."""
        *above, name = path.split(b"/")
        folder = self._ram.top
        for element in filter(None, above):
            inode = walk(element, folder, self._ram.top, follow=True).inode
            if inode is None:
                inode = self._ram.new_folder(folder)
                self._ram.change(folder, {element: inode})
            assert isinstance(inode, FolderInode), f"{element!r} of {path!r} is no folder"
            folder = inode
        return folder, name

    def _fill(self, folder: FolderInode, content: Folder) -> None:
        inodes = {name: self._inode_of(tree, folder) for name, tree in content.inner}
        self._ram.change(folder, dict(inodes))
        folder.sync()

    def _inode_of(self, tree: Tree, folder: FolderInode) -> Inode:
        match tree:
            case File(content):
                file = self._ram.new_file(folder)
                file.content = content
                file.sync()
                return file
            case Link(target):
                return self._ram.new_link(folder, target)
            case Pipe():
                return self._ram.new_pipe(folder)
            case Folder():
                inner = self._ram.new_folder(folder)
                self._fill(inner, tree)
                return inner
