"""The publication log of one checkpoint root: publish, list, resolve, retract, prune."""

from __future__ import annotations

import os

from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import PUB, latest_of, parse_all, read_names
from dispatch.checkpoint.publishing import publish_entry
from dispatch.errors import AlreadyPublishedError, NotFoundError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, Self

    from dispatch.checkpoint.prune import PruneResult
    from dispatch.ports.store import Store
    from dispatch.ports.waiting import Patience

    Path = str | bytes | os.PathLike[str]


def _no_progress(_: str) -> None:
    """Nobody looks on."""


class Log:
    """One root's publications.

    A save is given by its path relative to the root, or by its location (an absolute path, or an
    ``s3://`` URL on S3) as `exec_dir` and `location` give it.

    Open until `close`, or until the end of a ``with`` block.

    Attributes:
        store: The root, as primitives.
        patience: How `dispatch.checkpoint.Watcher` waits for a store that may hang.
    """

    __slots__ = ("patience", "store")

    def __init__(self, store: Store, patience: Patience) -> None:
        self.store = store
        self.patience = patience

    def __reduce__(self) -> NoReturn:
        message = "a Log can't be pickled: it holds a descriptor; open the root again instead"
        raise TypeError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what the root holds open (a descriptor on POSIX). Twice is fine."""
        self.store.close()

    def publish(self, epoch: int, step: int, save: Path, *, sync: bool = False) -> Entry:
        """Make a save visible to later executions.

        When this returns, and also when it raises `AlreadyPublishedError`, the entry survives a
        power loss. After any other exception it may or may not be there; calling again is safe.

        Args:
            epoch: The execution's epoch, 0 to 2^64-1.
            step: The step it was saved at, 0 to 2^64-1.
            save: The save, a folder or a file.
            sync: Make the save's own files durable first. Without it they are only as durable as
                the framework made them.

        Raises:
            AlreadyPublishedError: The entry was there; it was not touched.
            InvalidInputError: The path can't be published; nothing was written.
            NotFoundError: There is no such save (any more), and this call left no entry.
            UnknownOutcomeError: The entry may not survive a power loss.
        """
        entry = Entry(epoch, step, self.relative(save))
        if not publish_entry(self.store, entry, sync=sync):
            message = f"{entry.save!r} at step {step} was already published"
            raise AlreadyPublishedError(message, entry=entry)
        return entry

    def entries(self) -> list[Entry]:
        """All publications, ascending.

        Raises:
            MalformedError: A name in ``pub/`` is not an entry's.
            UnavailableError: No listing could be trusted (kind ``listing-torn``).
        """
        return parse_all(read_names(self.store))

    def resolve(self) -> Entry | None:
        """The latest publication, or None when nothing is published. A pure read.

        The save itself is not looked at. As strict as `entries`, and much faster.

        Raises:
            MalformedError: A name in ``pub/`` is not an entry's, wherever it stands.
            UnavailableError: No listing could be trusted (kind ``listing-torn``).
        """
        return latest_of(read_names(self.store))

    def retract(self, entry: Entry) -> None:
        """Take back a publication that was made by mistake. Its folder stays.

        Raises:
            NotFoundError: There is no such publication.
            UnknownOutcomeError: It may come back after a power loss.
            DispatchError: It could not be removed, and is still there.
        """
        removed, failures = self.store.remove(PUB, [entry.name()])
        for failure in failures.values():
            raise failure
        if not removed:
            self.store.check()
            message = f"{entry.name()!r} is not published"
            raise NotFoundError(message, kind="entry-missing", hint="`publish log` lists them.")

    def prune(
        self,
        keep: int,
        keep_every: int | None = None,
        *,
        dry_run: bool = False,
        progress: Callable[[str], None] = _no_progress,
    ) -> PruneResult:
        """Remove all but the latest ``keep`` publications, and the saves that only they named.

        Idempotent; several may run at once, on one machine or many.

        Args:
            keep: How many of the latest stay, at least 1.
            keep_every: Also keep, for each step that this divides, the entry of the greatest
                epoch.
            dry_run: Say what would be removed, and change nothing.
            progress: Told what is being done.

        Raises:
            InvalidInputError: A number is below 1; nothing was removed.
            MalformedError: A name in ``pub/`` is not an entry's.
            UnknownOutcomeError: Removed entries may come back after a power loss; no folder was
                touched.
        """
        from dispatch.checkpoint.prune import Pruner

        pruner = Pruner(self.store, keep, keep_every, progress)
        return pruner.plan() if dry_run else pruner.run()

    def location(self, entry: Entry) -> str:
        """Where the entry's save is: an absolute path, or a URL."""
        return os.fsdecode(self.store.location(entry.path))

    def exec_dir(self, attempt: str) -> str:
        """Where the execution with this token writes, and nobody else. It need not exist yet.

        Raises:
            InvalidInputError: The token can't be one element of a path.
        """
        from dispatch.model.attempt import parse_attempt

        return os.fsdecode(self.store.location(b"exec/" + parse_attempt(attempt)))

    def relative(self, save: Path) -> bytes:
        """The path of ``save`` relative to the root; one that is relative already stays."""
        path = os.fsencode(save)
        if path.startswith((b"/", b"s3://")):
            return self.store.relative(path)
        return path.rstrip(b"/") or path
