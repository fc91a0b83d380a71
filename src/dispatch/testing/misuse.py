"""What a store must never be asked, and what happens when the one in memory is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dispatch.model.claimed import VALUE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDERS = ("pub", "runs", "fates")
"""The folders that hold names, beside those of probes."""

NAME_BYTES_MAX = 255  # NAME_MAX: what a root must keep to, on any store (format §3)


class MisuseError(AssertionError):
    """The store was asked something that its port forbids to ask: the caller has a bug."""


def require_folder(folder: str) -> None:
    """Insist on a folder of names."""
    is_probe = folder.startswith(".probe-") and "/" not in folder and "\0" not in folder
    if folder not in FOLDERS and not is_probe:
        message = f"{folder!r} is no folder of names: {', '.join(FOLDERS)} or .probe-…"
        raise MisuseError(message)


def require_name(folder: str, name: str) -> None:
    """Insist on a name that every store can have in such a folder."""
    require_folder(folder)
    size = len(os.fsencode(name))
    if name in {"", ".", ".."} or "/" in name or "\0" in name or size > NAME_BYTES_MAX:
        message = f"{name!r} ({size} bytes) can't be a name: at most {NAME_BYTES_MAX}, no slash"
        raise MisuseError(message)


def require_value(value: str) -> None:
    """Insist on a value that every store can hold."""
    size = len(os.fsencode(value))
    if "\0" in value or not 1 <= size <= VALUE_BYTES_MAX:
        message = f"{value!r} can't be a value: it has {size} bytes of {VALUE_BYTES_MAX}, or a NUL"
        raise MisuseError(message)


def require_some(values: Mapping[str, str]) -> None:
    """Insist on something to do: a folder would be made for nothing."""
    if not values:
        raise MisuseError("no names to claim")


def require_clean(path: bytes) -> None:
    """Insist on a path relative to the root as the port has them."""
    elements = path.split(b"/")
    if b"\0" in path or any(e in {b"", b".", b".."} or len(e) > NAME_BYTES_MAX for e in elements):
        message = f"{path!r} is not a clean relative path"
        raise MisuseError(message)
