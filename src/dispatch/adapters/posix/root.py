"""The root of a checkpoint folder, by a descriptor that is opened once.

Everything is relative to that descriptor, so that a root renamed or replaced under way can't
redirect a write. The descriptors of other folders live for one call.
"""

from __future__ import annotations

import errno
import os

from dispatch.adapters.posix.translation import translate, unsynced
from dispatch.errors import DispatchError, InvalidInputError, NotFoundError, UnavailableError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.model.access import Access
    from dispatch.ports.filesystem import Filesystem, Status

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""What the kernel answers when a path leads to nothing."""
_CLOSED = -1  # no descriptor has it, so that what is asked after the end fails with EBADF


def _no_pause() -> None:
    """Another listing at once."""


class PosixRoot:
    """`dispatch.ports.store.Root` for one folder.

    Args:
        root: The folder's absolute path, without a trailing slash.
        filesystem: The system calls.
        now_ns: The wall clock in nanoseconds, only ever compared with a folder's own stamps to
            decide whether one listing is enough.
        token: Eight fresh random bytes at each call, for the names of what is being removed.
        pause: Waits a moment, of another length each time: before the third listing in a row,
            so that not all of them fall into the same burst of changes.

    Raises:
        NotFoundError: ``root`` is missing or is no folder.
    """

    __slots__ = ("_filesystem", "_handle", "_now_ns", "_pause", "_root", "_token")

    def __init__(
        self,
        root: bytes,
        filesystem: Filesystem,
        *,
        now_ns: Callable[[], int],
        token: Callable[[], bytes],
        pause: Callable[[], None] = _no_pause,
    ) -> None:
        self._root = root
        self._filesystem = filesystem
        self._now_ns = now_ns
        self._token = token
        self._pause = pause
        try:
            self._handle = filesystem.open_dir(root)
        except OSError as error:
            raise _root_error(root, error) from error

    def check(self) -> None:
        """See `dispatch.ports.store.Root`."""
        try:
            is_same = _identity(self._filesystem.stat(self._root)) == self._own_identity()
        except OSError as error:
            raise _root_error(self._root, error) from error
        if not is_same:
            raise UnavailableError(
                f"checkpoint root {os.fsdecode(self._root)!r} is no longer the folder it was",
                kind="root-replaced",
                hint="Another file system was mounted there, or the folder was replaced.",
            )

    def access(self) -> Access:
        """See `dispatch.ports.store.Root`."""
        from dispatch.model.access import Access

        medium = self._filesystem.type_name(self._handle)
        return Access("file system of unknown type" if medium is None else medium)

    def close(self) -> None:
        """See `dispatch.ports.store.Store`."""
        if self._handle != _CLOSED:
            self._filesystem.close(self._handle)
            self._handle = _CLOSED

    def location(self, path: bytes) -> bytes:
        """See `dispatch.ports.store.Root`."""
        return self._root.rstrip(b"/") + b"/" + path if path else self._root

    def relative(self, location: bytes) -> bytes:
        """See `dispatch.ports.store.Root`."""
        elements = [element for element in location.split(b"/") if element not in {b"", b"."}]
        own = self._own_identity()
        for end in range(len(elements) + 1):
            above = b"/" + b"/".join(elements[:end])
            try:
                if _identity(self._filesystem.stat(above)) == own:
                    return b"/".join(elements[end:])
            except OSError as error:
                if error.errno in ABSENT:
                    break
                raise translate(error, f"looking at {os.fsdecode(above)!r}") from error
        shown, root = os.fsdecode(location), os.fsdecode(self._root)
        message = f"{shown!r} is not below the checkpoint root {root!r}"
        raise InvalidInputError(message, hint="What counts is how its path is spelled.")

    def _own_identity(self) -> tuple[int, int]:
        try:
            return _identity(self._filesystem.fstat(self._handle))
        except OSError as error:
            raise translate(error, "looking at the root") from error

    # -- shared by names and saves

    def _sync(self, handle: int, folder: str) -> None:
        try:
            self._filesystem.fsync(handle)
        except OSError as error:
            raise unsynced(error, self._show(folder)) from error

    def _show(self, path: str) -> str:
        return os.fsdecode(self.location(os.fsencode(path)))

    def _status(self, path: bytes, *, follow: bool = True) -> Status | None:
        try:
            return self._filesystem.stat(path, self._handle, follow=follow)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise translate(error, f"looking at {self._show(os.fsdecode(path))}") from error


def _identity(status: Status) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _root_error(root: bytes, error: OSError) -> DispatchError:
    shown = repr(os.fsdecode(root))
    if error.errno == errno.ENOENT:
        return NotFoundError(
            f"checkpoint root {shown} does not exist",
            kind="root-missing",
            hint="Nothing was created: is it mounted here, and spelled right?",
        )
    if error.errno == errno.ENOTDIR:
        return NotFoundError(
            f"checkpoint root {shown} is not a directory", kind="root-not-a-directory"
        )
    return translate(error, f"opening checkpoint root {shown}")
