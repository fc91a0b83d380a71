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

    from dispatch.checkpoint.choosing import Choice
    from dispatch.checkpoint.completion import Framework
    from dispatch.checkpoint.prune import PruneResult
    from dispatch.ports.store import Store
    from dispatch.ports.waiting import Patience

    Path = str | bytes | os.PathLike[str]


def _no_progress(_: str) -> None:
    """Nobody looks on."""


def _nobody(_entry: Entry, _reason: str) -> None:
    """Nobody asked."""


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

    def choose(
        self,
        framework: Framework | None = None,
        *,
        fallback: bool = False,
        epoch_below: int | None = None,
        step_at_most: int | None = None,
        passed_over: Callable[[Entry, str], None] = _nobody,
    ) -> Choice:
        """The publication to resume from, by more than the order. A pure read.

        Args:
            framework: Whose rule the save has to pass; None: no save is looked at.
            fallback: Pass over a save that is gone or incomplete, to the next older publication.
            epoch_below: Choose among publications of a smaller epoch only.
            step_at_most: Choose among publications of this step or a lower one only.
            passed_over: Told of each publication that was passed over, the greatest first, with
                the reason, a clause after "the save", also when this raises.

        Returns:
            What was chosen; nothing only when nothing at all is published.

        Raises:
            NotFoundError: The save is gone or incomplete (kind ``save-unfit``), or no publication
                is within the bounds, or none of those can be resumed from (``none-chosen``).
            MalformedError: A name in ``pub/`` is not an entry's.
            UnavailableError: No listing could be trusted (kind ``listing-torn``).
            InvalidInputError: ``fallback`` is asked for without a framework.
        """
        from dispatch.checkpoint.choosing import Bounds, choose

        bounds = Bounds(epoch_below, step_at_most)
        choice, error = choose(self.store, framework, bounds, fallback=fallback)
        for entry, reason in choice.passed_over if fallback else ():
            passed_over(entry, reason)
        if error is not None:
            raise error
        return choice

    def retract(self, entry: Entry) -> None:
        """Take back a publication that was made by mistake. Its folder stays.

        An execution that starts later doesn't take it for one that was lost, unless ``fates/``
        may not be written.

        Raises:
            NotFoundError: There is no such publication.
            UnknownOutcomeError: It may come back after a power loss.
            DispatchError: It could not be removed, and is still there.
        """
        from dispatch.checkpoint.fates import give_up

        if self.store.written(PUB, [entry.name()]):
            give_up(self.store, entry)
        removed, failures = self.store.remove(PUB, [entry.name()])
        for failure in failures.values():
            raise failure
        if not removed:
            self.store.check()
            message = f"{entry.name()!r} is not published"
            raise NotFoundError(message, kind="entry-missing", hint="`publish log` lists them.")

    def claim_of(self, epoch: int) -> tuple[str, str | None]:
        """The attempt that has claimed ``epoch``, and the entry that it resumes from.

        The latter is None while that isn't decided, and ``-`` for from scratch.

        Raises:
            NotFoundError: Nobody has (kind ``claim-missing``).
        """
        from dispatch.checkpoint.claims import RUNS, claim_name, resume_name

        attempt = self.store.claimed(RUNS, claim_name(epoch))
        if attempt is None:
            self.store.check()
            raise NotFoundError(f"epoch {epoch} is not claimed", kind="claim-missing")
        return attempt, self.store.claimed(RUNS, resume_name(epoch))

    def retract_claim(self, epoch: int) -> None:
        """Take back a claim that was made by mistake, or by an execution that is surely dead.

        Its resume point goes, too, and prunes may have what it was about to roll back to.

        Raises:
            NotFoundError: There is no such claim.
            UnknownOutcomeError: It may come back after a power loss.
            DispatchError: It could not be removed, and is still there.
        """
        from dispatch.checkpoint.claims import RUNS, claim_name, resume_name
        from dispatch.checkpoint.fates import give_up_roll_backs

        self.claim_of(epoch)
        # In this order: who claims the epoch next must not follow another's resume point.
        for name in (resume_name(epoch), claim_name(epoch)):
            _, failures = self.store.remove(RUNS, [name])
            for failure in failures.values():
                raise failure
        give_up_roll_backs(self.store, epoch)

    def prune(
        self,
        keep: int,
        keep_every: int | None = None,
        *,
        epoch: int | None = None,
        dry_run: bool = False,
        progress: Callable[[str], None] = _no_progress,
    ) -> PruneResult:
        """Remove all but the latest ``keep`` publications, and the saves that only they named.

        Idempotent; several may run at once, on one machine or many. Nothing is removed while an
        execution that has claimed its epoch may still be loading a save; `PruneResult.held` says
        so then.

        Args:
            keep: How many of the latest stay, at least 1.
            keep_every: Also keep, for each step that this divides, the entry of the greatest
                epoch.
            epoch: The pruning execution's own. When a greater one is claimed, this one was
                overtaken and removes nothing. None when a person prunes.
            dry_run: Say what would be removed, and change nothing.
            progress: Told what is being done.

        Raises:
            InvalidInputError: A number is below 1; nothing was removed.
            MalformedError: A name in ``pub/`` is not an entry's.
            UnknownOutcomeError: Removed entries may come back after a power loss; no folder was
                touched.
        """
        from dispatch.checkpoint.prune import Pruner

        pruner = Pruner(self.store, keep, keep_every, epoch, progress)
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
