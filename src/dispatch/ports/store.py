"""What the publication log needs of a store: primitives, and no rule.

Naming, order, retention and completion are above this port, the same for every store. Paths are
bytes relative to the root, slash-separated, clean, and never empty unless a method says so.

Every method may raise `NotFoundError` (kind ``root-missing``) when the root itself is not there,
`UnavailableError` when the store did not answer or answered with a fault, and `RefusedError` when
permission is missing. A method that says nothing else leaves nothing behind when it raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dispatch.errors import DispatchError
    from dispatch.model.access import Access
    from dispatch.model.contents import Contents
    from dispatch.model.removal import Aside, Gone, Left


class NamesStore(Protocol):
    """Flat folders of names directly under the root (``pub``; later ``runs``)."""

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        """List ``folder`` once, in no particular order.

        Args:
            folder: Its name.
            in_vain: How many passes the caller has just made in vain. Changes come in bursts, so
                that a store may wait a moment before it makes yet another.

        Returns:
            The names, and whether this one pass can't have been torn: True only when the folder
            provably did not change while it was read, or when the store lists one folder in key
            order; None when it did change, so that the pass vouches for no other. A folder that
            is not there has no names, and that answer is not torn.
            Names are decoded as `os.fsdecode` does.
        """
        ...

    def create(self, folder: str, name: str) -> bool:
        """Add an empty ``name``, exclusively and durably, making ``folder`` where it is missing.

        Exactly one of any number of concurrent calls with one name returns True.

        Returns:
            True when this call added it, False when it was there before. Durable either way.

        Raises:
            UnknownOutcomeError: The name may be there and may not survive a power loss.
        """
        ...

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        """Remove ``names`` in the order given, then make their removal durable.

        Durable also when none was there: whoever removed it may not have synced yet. One that
        can't be removed doesn't keep the others from going.

        Returns:
            Those that this call removed, and the error of each that could not be. A name that
            was not there is in neither.

        Raises:
            UnknownOutcomeError: Some are removed and may come back after a power loss.
        """
        ...

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        """When each of ``names`` was made, except those that are not there.

        In seconds since 1970 by the store's clock, for showing an age: nothing is decided by it.
        """
        ...


class ClaimsStore(Protocol):
    """Names that hold a value, given once and for all, in the same flat folders."""

    def claim(self, folder: str, name: str, value: str) -> str:
        """Add ``name`` with ``value``, exclusively and durably, making ``folder`` if missing.

        A name is never seen without its whole value, and a value never changes. Of any number of
        concurrent calls, all return the same.

        Args:
            folder: As for `NamesStore`.
            name: Likewise.
            value: 1 to 255 bytes as `os.fsencode` encodes it, without NUL.

        Returns:
            The value that ``name`` has: ``value``, or what it was given before. Durable either
            way.

        Raises:
            MalformedError: Something is called ``name`` that holds no value.
            RefusedError: Also of kind ``no-links``: what the root is in can't hold values.
            UnknownOutcomeError: The name may be there and may not survive a power loss.
        """
        ...

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        """What `claim` does, for each name and its value, at least one; cheaper than one by one.

        Returns:
            The value that each name has.

        Raises:
            DispatchError: What `claim` raises. Some names may be there, and may not survive a
                power loss.
        """
        ...

    def claimed(self, folder: str, name: str) -> str | None:
        """The value of ``name``; None when it is not there.

        Raises:
            MalformedError: Something is called ``name`` that holds no value.
        """
        ...


class ScratchStore(Protocol):
    """Flat folders of names that are used for a while and leave nothing behind."""

    def drop(self, folder: str) -> bool:
        """Remove ``folder`` itself, which may come back after a power loss.

        Returns:
            False when it stays, since names are in it. A store whose folders are but parts of
            names has nothing to remove and says True.
        """
        ...


class SavesStore(Protocol):
    """What executions write: saves, each a folder (or one file) anywhere under the root."""

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        """The names directly in ``folder`` that start with ``prefix``, whatever they are.

        In no particular order. A folder that is not there, or is no folder, has none. An empty
        path is the root.
        """
        ...

    def has_save(self, save: bytes) -> bool:
        """Whether ``save`` exists: a folder, a link to one, or a plain file."""
        ...

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        """The content of ``file`` in ``save``. Never blocks on a FIFO or a device.

        None when it is absent, is no regular file, or holds more than ``size_max`` bytes.
        """
        ...

    def has_file(self, save: bytes, file: bytes) -> bool:
        """Whether ``file`` in ``save`` exists as a regular file."""
        ...

    def has_name(self, save: bytes, file: bytes) -> bool:
        """Whether anything at all is called ``file`` in ``save``."""
        ...

    def contents(self, save: bytes) -> Contents:
        """Every name in ``save``, without opening a file.

        A link to a file is that file; one to a folder leads out of the save and is a mere name.
        A save that is not there, or is a plain file, has none. What vanishes under way may be
        among them.
        """
        ...

    def sync_save(self, save: bytes) -> Iterator[bytes]:
        """Make every file and folder of ``save``, and the names that lead to it, durable.

        Lazy: each path is yielded once it is durable, so that a caller sees progress; all are
        when the iteration has ended. What vanishes under way is passed over, and links within
        the save are not followed.

        Raises:
            UnknownOutcomeError: A part of it may not survive a power loss.
        """
        ...


class RemovalStore(Protocol):
    """Taking saves away, so that a half-deleted one never looks complete."""

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        """Take ``save`` out of sight under a name that says what it was, durably with `delete`.

        A save that is reached through a symbolic link at any element, or that has another file
        system mounted in it, is left by rule. Where the store can't rename it stays visible.
        """
        ...

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        """What would keep `set_aside` from taking ``save``, without touching it; None: nothing."""
        ...

    def put_back(self, aside: Aside) -> bool:
        """Give the save its own name again, durably. False when it is no longer aside."""
        ...

    def delete(self, aside: Aside) -> Left | Gone | None:
        """Delete the save for good: first beyond the reach of `put_back`, then its files.

        Returns:
            None when this call deleted it, `Gone` when another did, `Left` when a part of it
            could not be deleted; what is left then is found by `leftovers`.
        """
        ...

    def leftovers(self, folder: bytes) -> list[Aside]:
        """What interrupted removals left directly in ``folder`` (empty path: the root).

        One with an empty ``save`` was on its way to deletion; the others may be put back.
        """
        ...


class Root(Protocol):
    """The root itself."""

    def check(self) -> None:
        """Make sure that the root is there and is the one that was opened.

        A store that nothing can be mounted over asks nothing: there a root that is missing shows
        when something is listed or created.

        Raises:
            NotFoundError: It is gone.
            UnavailableError: Kind ``root-replaced``: another file system was mounted there, or
                the folder was replaced.
        """
        ...

    def access(self) -> Access:
        """How the store is reached, asking for keys where none are in hand yet.

        Raises:
            CredentialsError: There are none.
        """
        ...

    def location(self, path: bytes) -> bytes:
        """Where ``path`` is for a person or a program: an absolute path, or a URL.

        An empty path is the root itself.
        """
        ...

    def relative(self, location: bytes) -> bytes:
        """The path of ``location`` relative to the root, by its spelling.

        It is what follows the first of its lexical ancestors that is the root's own directory.

        Raises:
            InvalidInputError: ``location`` is not below the root.
        """
        ...


class PublishingStore(NamesStore, ClaimsStore, ScratchStore, SavesStore, Root, Protocol):
    """What publishing needs."""


class Store(PublishingStore, RemovalStore, Protocol):
    """A checkpoint root in some store."""

    def close(self) -> None:
        """Give back what the store holds open. Nothing else may be asked of it; twice is fine."""
        ...
