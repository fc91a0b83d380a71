"""A folder tree as an immutable value: what a file system holds at one moment.

Two trees are equal when a program that looks at names, kinds and contents can't tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """A regular file.

    Attributes:
        content: Its bytes.
    """

    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link.

    Attributes:
        target: What it points to, as written.
    """

    target: bytes


@dataclass(frozen=True, slots=True)
class Pipe:
    """A named pipe, which a careless reader blocks on."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder.

    Attributes:
        inner: Its names, ascending, each with what it stands for.
    """

    inner: tuple[tuple[bytes, Tree], ...] = ()

    def names(self) -> list[bytes]:
        """The names directly in it, ascending."""
        return [name for name, _ in self.inner]

    def at(self, path: bytes) -> Tree | None:
        """What is at ``path``, slash-separated, links not followed; None when nothing is."""
        node: Tree | None = self
        for element in filter(None, path.split(b"/")):
            if not isinstance(node, Folder):
                return None
            node = dict(node.inner).get(element)
        return node

    def paths(self) -> list[bytes]:
        """Every path below it, each folder before what is in it."""
        found = []
        for name, node in self.inner:
            found.append(name)
            if isinstance(node, Folder):
                found += [name + b"/" + path for path in node.paths()]
        return found


Tree = File | Folder | Link | Pipe


def folder_of(inner: dict[bytes, Tree]) -> Folder:
    """The folder that holds ``inner``, whatever its order."""
    return Folder(tuple(sorted(inner.items(), key=lambda item: item[0])))
