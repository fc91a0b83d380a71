"""Inodes that know what of them would survive a power loss.

The model is the weakest that POSIX allows and that journals give: a change of a folder's names is
visible at once and durable once that folder was fsynced; a file's content once the file was. Of
the changes since then each may or may not have reached the disk, in any combination in which no
change survives that follows a lost one of the same name. A rename within a folder is one change.
What no durable name leads to is gone.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from dispatch.testing.tree import File, Folder, Link, Pipe, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.testing.tree import Tree

Names: TypeAlias = "dict[bytes, Inode]"
Change: TypeAlias = "dict[bytes, Inode | None]"
"""What each name that a change touches stands for after it; None for nothing."""


class Inode:
    """What a name stands for.

    Attributes:
        number: Unique on its device, never used again.
        device: The file system that it is on.
        stamp_ns: When it last changed.
    """

    __slots__ = ("device", "number", "stamp_ns")

    def __init__(self, number: int, device: int, stamp_ns: int) -> None:
        self.number = number
        self.device = device
        self.stamp_ns = stamp_ns

    def tree(self) -> Tree:
        """What a program sees."""
        raise NotImplementedError

    def surviving(self) -> list[Tree]:
        """Every different thing that it can be after a power loss."""
        return [self.tree()]

    def sync(self) -> None:
        """Make it durable as it is."""


class FileInode(Inode):
    """A regular file.

    Attributes:
        content: What a program reads; only `sync` makes it durable.
    """

    __slots__ = ("_durable", "content")

    def __init__(self, number: int, device: int, stamp_ns: int) -> None:
        super().__init__(number, device, stamp_ns)
        self.content = self._durable = b""

    def tree(self) -> Tree:
        """See `Inode`."""
        return File(self.content)

    def surviving(self) -> list[Tree]:
        """See `Inode`."""
        return list(dict.fromkeys((File(self._durable), File(self.content))))

    def sync(self) -> None:
        """See `Inode`."""
        self._durable = self.content


class LinkInode(Inode):
    """A symbolic link, whole from the moment that it has a name.

    Attributes:
        target: What it points to.
    """

    __slots__ = ("target",)

    def __init__(self, number: int, device: int, stamp_ns: int, target: bytes) -> None:
        super().__init__(number, device, stamp_ns)
        self.target = target

    def tree(self) -> Tree:
        """See `Inode`."""
        return Link(self.target)


class PipeInode(Inode):
    """A named pipe without a writer."""

    __slots__ = ()

    def tree(self) -> Tree:
        """See `Inode`."""
        return Pipe()


class FolderInode(Inode):
    """A folder.

    Attributes:
        names: What a program sees in it; never changed in place.
        parent: Where ``..`` leads; itself at the top; None once it was removed.
        mounted: The root of the file system that is mounted on it, which hides it until the
            power is lost.
    """

    __slots__ = ("_changes", "_durable", "mounted", "names", "parent")

    def __init__(self, number: int, device: int, stamp_ns: int, parent: FolderInode | None) -> None:
        super().__init__(number, device, stamp_ns)
        self.names: Names = {}
        self._durable: Names = {}
        self._changes: list[Change] = []
        self.parent: FolderInode | None = parent or self
        self.mounted: FolderInode | None = None

    def change(self, change: Change) -> None:
        """Let names stand for something else, visibly now, durably with the next `sync`."""
        self.names = _changed(self.names, change)
        self._changes.append(change)

    def sync(self) -> None:
        """See `Inode`."""
        self._durable = self.names
        self._changes = []

    def tree(self) -> Folder:
        """See `Inode`."""
        seen = self.mounted or self
        return folder_of({name: inode.tree() for name, inode in seen.names.items()})

    def surviving(self) -> list[Tree]:
        """Every different folder that it can be, what is in it included."""
        return list(dict.fromkeys(self._surviving()))

    def _surviving(self) -> Iterator[Folder]:
        below: dict[int, list[Tree]] = {}
        for names in _surviving_names(self._durable, self._changes):
            for inode in names.values():
                if id(inode) not in below:
                    below[id(inode)] = inode.surviving()
            for inner in product(*(below[id(inode)] for inode in names.values())):
                yield folder_of(dict(zip(names, inner, strict=True)))


def _surviving_names(durable: Names, changes: list[Change]) -> Iterator[Names]:
    """What ``durable`` becomes with every admissible part of ``changes``."""
    states: list[tuple[Names, frozenset[bytes]]] = [(durable, frozenset())]
    for change in changes:
        touched = frozenset(change)
        happened = [(_changed(names, change), lost) for names, lost in states if not lost & touched]
        states = happened + [(names, lost | touched) for names, lost in states]
        states = list({(_key(names), lost): (names, lost) for names, lost in states}.values())
    yield from {_key(names): names for names, _ in states}.values()


def _changed(names: Names, change: Change) -> Names:
    after: Change = {**names, **change}
    return {name: inode for name, inode in after.items() if inode is not None}


def _key(names: Names) -> frozenset[tuple[bytes, int]]:
    return frozenset((name, inode.number) for name, inode in names.items())
