"""What a store in memory keeps: folders, files, links and pipes, changed in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

LINKS_MAX = 40  # as Linux: links followed in one path


@dataclass(slots=True)
class Folder:
    """A folder.

    Attributes:
        inner: Its names and what each stands for, in the order they were made; bytes are a file.
        is_mount: Whether another file system is mounted here.
    """

    inner: dict[bytes, Node] = field(default_factory=dict)
    is_mount: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, relative to the folder that it is in."""

    target: bytes


@dataclass(frozen=True, slots=True)
class Pipe:
    """Something that is neither a folder nor a file, and that a reader could block on."""


Node: TypeAlias = Folder | Link | Pipe | bytes


def split(path: bytes) -> tuple[bytes, bytes]:
    """The folder (empty for the top) and the name of ``path``."""
    folder, _, name = path.rpartition(b"/")
    return folder, name


def look(top: Folder, path: bytes) -> Node | None:
    """What is at ``path``, no link followed; None when nothing is."""
    node: Node | None = top
    for element in filter(None, path.split(b"/")):
        if not isinstance(node, Folder):
            return None
        node = node.inner.get(element)
    return node


def resolve(top: Folder, path: bytes) -> Node | None:
    """What ``path`` leads to, every link followed; None when that is nothing."""
    above: list[Folder] = [top]
    elements = path.split(b"/")
    links = 0
    node: Node | None = top
    while elements:
        element, *elements = elements
        if element in {b"", b"."}:
            continue
        if element == b"..":
            above = above[:-1] or above
            continue
        node = above[-1].inner.get(element)
        if isinstance(node, Link):
            links += 1
            if links > LINKS_MAX or node.target.startswith(b"/"):
                return None
            elements = node.target.split(b"/") + elements
        elif isinstance(node, Folder):
            above.append(node)
        elif elements or node is None:
            return None
        else:
            return node
    return above[-1]


def parent_of(top: Folder, path: bytes) -> tuple[Folder, bytes]:
    """The folder that holds ``path``, made where it is missing, and the last name."""
    *above, name = path.split(b"/")
    folder = top
    for element in above:
        inner = folder.inner.setdefault(element, Folder())
        assert isinstance(inner, Folder), f"{element!r} of {path!r} is no folder"
        folder = inner
    return folder, name
