"""Saves: looking at them without ever blocking, and syncing them."""

from __future__ import annotations

import os
import stat

from dispatch.adapters.posix.root import ABSENT, PosixRoot
from dispatch.adapters.posix.translation import translate

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.model.contents import Contents

_READ_SIZE = 1 << 20  # bytes in one read


class PosixSaves(PosixRoot):
    """`dispatch.ports.store.SavesStore`."""

    __slots__ = ()

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        """See `dispatch.ports.store.SavesStore`."""
        fs = self._filesystem
        try:
            handle = fs.open_dir(folder or b".", self._handle)
        except OSError as error:
            if error.errno in ABSENT:
                return []
            raise translate(error, f"opening {self._show(os.fsdecode(folder))}") from error
        try:
            start = os.fsdecode(prefix)
            names = fs.listdir(handle)
            return [os.fsencode(name) for name in names if name.startswith(start)]
        except OSError as error:
            raise translate(error, f"listing {self._show(os.fsdecode(folder))}") from error
        finally:
            fs.close(handle)

    def has_save(self, save: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`."""
        status = self._status(save)
        return status is not None and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode))

    def has_file(self, save: bytes, file: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`."""
        status = self._status(save + b"/" + file)
        return status is not None and stat.S_ISREG(status.st_mode)

    def has_name(self, save: bytes, file: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`."""
        return self._status(save + b"/" + file, follow=False) is not None

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        """See `dispatch.ports.store.SavesStore`."""
        if not self.has_file(save, file):
            return None  # not even opened: opening a device can do things
        path = save + b"/" + file
        fs = self._filesystem
        try:
            handle = fs.open_file(path, self._handle)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise translate(error, f"opening {self._show(os.fsdecode(path))}") from error
        try:
            status = fs.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > size_max:
                return None
            parts, size = [], 0
            while size <= size_max and (part := fs.read(handle, _READ_SIZE)):
                parts.append(part)
                size += len(part)
        except OSError as error:
            raise translate(error, f"reading {self._show(os.fsdecode(path))}") from error
        finally:
            fs.close(handle)
        return b"".join(parts) if size <= size_max else None

    def contents(self, save: bytes) -> Contents:
        """See `dispatch.ports.store.SavesStore`."""
        from dispatch.adapters.posix.contents import Walk

        walk = Walk(self._filesystem, self._handle)
        try:
            walk.into(save, b"")
        except OSError as error:
            raise translate(error, f"looking into {self._show(os.fsdecode(save))}") from error
        return walk.contents(self._now_ns())

    def sync_save(self, save: bytes) -> Iterator[bytes]:
        """See `dispatch.ports.store.SavesStore`."""
        from dispatch.adapters.posix.syncing import sync_tree

        return sync_tree(self._filesystem, self._handle, save)
