"""Small files that hold secrets: read whole, bounded, and never quoted."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

_BYTES_MAX = 65_536  # the longest real token has some 4,000
ABSENT_ERRORS = (FileNotFoundError, NotADirectoryError)


@dataclass(frozen=True, slots=True)
class Text:
    """What a file holds."""

    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a file gave nothing.

    Attributes:
        why: For a message, after the file's name.
        is_missing: Whether there is no such file.
    """

    why: str
    is_missing: bool = False


Stamp = tuple[object, ...]
"""What changes when files do; compared and nothing else."""


def read_text(path: str, folder: int | None = None) -> Text | Unread:
    """The text of a file: UTF-8, of at most 64 KiB, without one line break at its end.

    Args:
        path: The file's path; relative to ``folder``, where one is given.
        folder: The descriptor of a folder.
    """
    try:
        # Without waiting: the open of a pipe would last until somebody writes.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except ABSENT_ERRORS:
        return Unread("does not exist", is_missing=True)
    except (OSError, ValueError) as error:
        return Unread(f"can't be read ({reason(error)})")
    try:
        return _content(descriptor)
    except OSError as error:
        return Unread(f"can't be read ({reason(error)})")
    finally:
        os.close(descriptor)


def _content(descriptor: int) -> Text | Unread:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return Unread("is not a regular file")
    with open(descriptor, "rb", closefd=False) as file:
        content = file.read(_BYTES_MAX + 1)
    if len(content) > _BYTES_MAX:
        return Unread(f"is longer than {_BYTES_MAX} bytes")
    try:
        return Text(content.decode().removesuffix("\n").removesuffix("\r"))
    except UnicodeDecodeError:
        return Unread("is not UTF-8 text")


def reason(error: OSError | ValueError) -> str:
    """What the system says, without the path, which the message has already."""
    return str(error.strerror) if isinstance(error, OSError) else "its name has a NUL"


def stamp(*paths: str) -> Stamp:
    """Something that differs once one of the files was rewritten, replaced, made or removed.

    Links are followed: a mounted Kubernetes secret is renewed by turning a link.
    """
    return tuple(map(_stamp_of_one, paths))


def _stamp_of_one(path: str) -> object:
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        return reason(error)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
