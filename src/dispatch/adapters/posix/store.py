"""A checkpoint root in a POSIX file system."""

from __future__ import annotations

import os

from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.adapters.posix.names import PosixNames
from dispatch.adapters.posix.saves import PosixSaves
from dispatch.errors import InvalidInputError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.adapters.posix.removal import PosixRemoval
    from dispatch.model.removal import Aside, Gone, Left


class PosixStore(PosixNames, PosixSaves):
    """`dispatch.ports.store.Store` below one folder."""

    __slots__ = ()

    # -- removal, loaded when something is to be removed

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        """See `dispatch.ports.store.RemovalStore`."""
        return self._removal().set_aside(save)

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        """See `dispatch.ports.store.RemovalStore`."""
        return self._removal().may_set_aside(save)

    def put_back(self, aside: Aside) -> bool:
        """See `dispatch.ports.store.RemovalStore`."""
        return self._removal().put_back(aside)

    def delete(self, aside: Aside) -> Left | Gone | None:
        """See `dispatch.ports.store.RemovalStore`."""
        return self._removal().delete(aside)

    def leftovers(self, folder: bytes) -> list[Aside]:
        """See `dispatch.ports.store.RemovalStore`."""
        return self._removal().leftovers(folder)

    def _removal(self) -> PosixRemoval:
        from dispatch.adapters.posix.removal import PosixRemoval

        return PosixRemoval(self._filesystem, self._handle, self._token)


def open_root(
    location: bytes,
    *,
    now_ns: Callable[[], int],
    token: Callable[[], bytes],
    pause: Callable[[], None],
) -> PosixStore:
    """The store below ``location``, an absolute path; ``/``, ``/.`` at its end mean nothing.

    Raises:
        InvalidInputError: The path is not absolute, or holds a NUL or a newline.
        NotFoundError: There is no such folder. Nothing was created.
    """
    shown = os.fsdecode(location)
    if not location:
        raise InvalidInputError("the checkpoint root is empty", hint="Is the variable set?")
    if not location.startswith(b"/"):
        message = f"checkpoint root {shown!r} is not absolute"
        raise InvalidInputError(message, hint="Give its whole path, from / on.")
    if b"\0" in location or b"\n" in location:
        message = f"checkpoint root {shown!r} holds a NUL or a newline"
        raise InvalidInputError(message)
    elements = [element for element in location.split(b"/") if element not in {b"", b"."}]
    root = b"/" + b"/".join(elements)
    return PosixStore(root, OsFilesystem(), now_ns=now_ns, token=token, pause=pause)
