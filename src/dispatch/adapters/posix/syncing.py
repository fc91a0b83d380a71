"""Making a save's own files durable before it is published."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from dispatch.adapters.posix.root import ABSENT
from dispatch.adapters.posix.translation import translate, unsynced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.ports.filesystem import Filesystem


def sync_tree(fs: Filesystem, root: int, save: bytes) -> Iterator[bytes]:
    """See `dispatch.ports.store.SavesStore.sync_save`: files, then folders, then those above."""
    folders: list[bytes] = []
    pending = [save]
    while pending:
        path = pending.pop()
        kind = _kind(fs, root, path, follow=path == save)
        if kind == stat.S_IFREG:
            if _sync(fs, root, path):
                yield path
        elif kind == stat.S_IFDIR:
            folders.append(path)
            pending += _inside(fs, root, path)
    above = save
    while above := above.rpartition(b"/")[0]:
        folders.insert(0, above)
    folders.insert(0, b".")
    for path in reversed(folders):
        if _sync(fs, root, path):
            yield path


def _kind(fs: Filesystem, root: int, path: bytes, *, follow: bool) -> int | None:
    try:
        return stat.S_IFMT(fs.stat(path, root, follow=follow).st_mode)
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise translate(error, f"looking at {os.fsdecode(path)}") from error


def _inside(fs: Filesystem, root: int, folder: bytes) -> list[bytes]:
    try:
        handle = fs.open_dir(folder, root)
    except OSError as error:
        if error.errno in ABSENT:
            return []
        raise translate(error, f"opening {os.fsdecode(folder)}") from error
    try:
        return [folder + b"/" + os.fsencode(name) for name in fs.listdir(handle)]
    except OSError as error:
        raise translate(error, f"listing {os.fsdecode(folder)}") from error
    finally:
        fs.close(handle)


def _sync(fs: Filesystem, root: int, path: bytes) -> bool:
    """Whether there was anything to sync."""
    shown = os.fsdecode(path)
    try:
        handle = fs.open_file(path, root)
    except OSError as error:
        if error.errno in ABSENT:
            return False
        raise translate(error, f"opening {shown} to sync it") from error
    try:
        fs.fsync(handle)
    except OSError as error:
        raise unsynced(error, shown) from error
    finally:
        fs.close(handle)
    return True
