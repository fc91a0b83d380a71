"""Everything in a save, with stamps: loaded when a save looks complete."""

from __future__ import annotations

import os
import stat

from dispatch.adapters.posix.root import ABSENT
from dispatch.model.contents import Contents

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.ports.filesystem import Filesystem, Status

# On ext4 with 128-byte inodes a stamp is up to one second too early; the rest is for coarse ticks.
_STAMP_ERROR_NS_MAX = 2_000_000_000


class Walk:
    """One walk through a save. Links to files are followed, others lead out of it.

    Args:
        filesystem: The system calls.
        root: The handle that paths are relative to.
    """

    def __init__(self, filesystem: Filesystem, root: int) -> None:
        self._filesystem = filesystem
        self._root = root
        self._states: dict[bytes, object | None] = {}
        self._has_entered = False
        self._newest_ns = 0
        self._is_local = True

    def contents(self, now_ns: int) -> Contents:
        """What was found, at ``now_ns`` by the wall clock."""
        if not (self._has_entered and self._is_local):
            return Contents(self._states)
        age_ns = now_ns - self._newest_ns - _STAMP_ERROR_NS_MAX
        return Contents(self._states, max(0, age_ns) / 1e9)

    def into(self, folder: bytes, below: bytes) -> None:
        """Add what is in ``folder``, whose path in the save is ``below``, a slash at its end.

        Raises:
            OSError: As the kernel raised it; nothing that is absent is an error.
        """
        fs = self._filesystem
        try:
            handle = fs.open_dir(folder, self._root, follow=not below)
        except OSError as error:
            if error.errno in ABSENT:
                return
            raise
        try:
            own = fs.fstat(handle)
            self._has_entered = True
            self._is_local = self._is_local and fs.is_local(handle)
            self._note(own, own.st_dev)
            names = fs.listdir(handle)
            found = [(os.fsencode(name), self._status(name, handle)) for name in names]
        finally:
            fs.close(handle)
        for name, status in found:
            is_file = status is not None and stat.S_ISREG(status.st_mode)
            self._states[below + name] = _state(status) if status and is_file else None
            if status is not None:
                self._note(status, own.st_dev)
                if stat.S_ISDIR(status.st_mode):
                    self.into(folder + b"/" + name, below + name + b"/")

    def _status(self, name: str, folder: int) -> Status | None:
        try:
            return self._filesystem.stat(name, folder)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise

    def _note(self, status: Status, device: int) -> None:
        # The change time: the other one can be set, and a copy sets it to that of the original.
        self._newest_ns = max(self._newest_ns, status.st_ctime_ns)
        if status.st_dev != device:
            self._is_local = False  # behind a link or a mount: another clock may have stamped it


def _state(status: Status) -> object:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
