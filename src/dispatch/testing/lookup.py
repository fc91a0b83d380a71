"""From a path to an inode, as Linux goes it: through links, mounts and removed folders."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from dispatch.testing.disk import FolderInode, LinkInode

if TYPE_CHECKING:
    from dispatch.testing.disk import Inode

NAME_BYTES_MAX = 255  # NAME_MAX on every Linux file system that matters
PATH_BYTES_MAX = 4095  # PATH_MAX, less the NUL
LINKS_MAX = 40  # MAXSYMLINKS: links followed in one path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads.

    Attributes:
        folder: The folder that its last name is in.
        name: That name; empty when the path ends in the folder itself (``.``, ``..``, ``/``).
        inode: What the name stands for; None when there is none.
    """

    folder: FolderInode
    name: bytes
    inode: Inode | None


def refuse(code: int) -> NoReturn:
    """Answer with the errno ``code``, as Python does.

    Raises:
        OSError: Always.
    """
    raise OSError(code, os.strerror(code))


def walk(path: bytes, start: FolderInode, top: FolderInode, *, follow: bool) -> Place:
    """Where ``path`` leads from ``start``; ``top`` is where absolute links begin.

    Args:
        path: Without a trailing slash: nothing that means a file or a folder may carry one.
        start: The folder that the path is relative to.
        top: The folder ``/``.
        follow: Whether a link at the end is followed, too.

    Raises:
        OSError: ENOENT, ENOTDIR or ELOOP on the way, or a name or path that is too long.
        ValueError: The path holds a NUL, as Python says it, or has a trailing slash.
    """
    if b"\0" in path or (path.endswith(b"/") and path != b"/"):
        message = f"{path!r} holds a NUL or ends in a slash"
        raise ValueError(message)
    if not path:
        refuse(errno.ENOENT)
    if len(path) > PATH_BYTES_MAX:
        refuse(errno.ENAMETOOLONG)
    place, links = Place(start, b"", start), 0
    elements = _elements(path)
    while elements:
        element, *elements = elements
        place = _step(place.inode, element)
        if isinstance(place.inode, LinkInode) and (elements or follow):
            links += 1
            if links > LINKS_MAX:
                refuse(errno.ELOOP)
            target = place.inode.target
            elements = _elements(target) + elements
            back = top if target.startswith(b"/") else place.folder
            place = Place(back, b"", back)
    return place


def _elements(path: bytes) -> list[bytes]:
    return [element for element in path.split(b"/") if element not in {b"", b"."}]


def _step(inode: Inode | None, element: bytes) -> Place:
    """Where ``element`` leads in what the path has led to so far."""
    if inode is None:
        refuse(errno.ENOENT)
    if not isinstance(inode, FolderInode):
        refuse(errno.ENOTDIR)
    if len(element) > NAME_BYTES_MAX:
        refuse(errno.ENAMETOOLONG)
    if element == b"..":
        above = inode.parent or inode
        return Place(above, b"", above)
    inner = inode.names.get(element)
    while isinstance(inner, FolderInode) and inner.mounted:
        inner = inner.mounted
    return Place(inode, element, inner)
