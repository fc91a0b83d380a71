"""What a store in memory keeps: folders, files, links and pipes, changed in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = b".pruned-"
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


def states_in(top: Folder, path: bytes) -> dict[bytes, object | None]:
    """Every name below ``path``: a file, or a link to one, with its content, else None."""
    found: dict[bytes, object | None] = {}
    folder = resolve(top, path)
    for name, inner in folder.inner.items() if isinstance(folder, Folder) else ():
        node = resolve(top, path + b"/" + name)
        found[name] = node if isinstance(node, bytes) else None
        if isinstance(inner, Folder):
            below = states_in(top, path + b"/" + name)
            found.update((name + b"/" + other, state) for other, state in below.items())
    return found


def durable_in(node: Node | None, path: bytes) -> Iterator[bytes]:
    """Every file and folder below ``path`` and that itself, links and pipes left out."""
    if isinstance(node, Folder):
        for name, inner in list(node.inner.items()):
            yield from durable_in(inner, path + b"/" + name)
    if isinstance(node, (Folder, bytes)):
        yield path


def holds_mount(node: Node) -> bool:
    """Whether another file system is mounted on it, or in it."""
    return isinstance(node, Folder) and (
        node.is_mount or any(holds_mount(inner) for inner in node.inner.values())
    )


def former(start: bytes, name: bytes) -> bytes:
    """The path of a save that was set aside as ``name``; empty when it wasn't by this rule."""
    token, dot, former = name[len(PREFIX) :].partition(b".")
    is_ours = bool(dot and former) and len(token) == 16  # noqa: PLR2004 - as made in set_aside
    return start + former if is_ours else b""
