"""One execution's start: its epoch is its own, lost saves are found, all ranks load one save.

The order is the guarantee; docs/design/0010 walks the interleavings.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatch.checkpoint.choosing import FALL_BACK
from dispatch.checkpoint.claims import (
    NOTHING,
    RUNS,
    claim_name,
    read_claims,
    resume_name,
    taken,
)
from dispatch.checkpoint.entry import Entry, parse_entry_held, valid_save
from dispatch.checkpoint.fates import is_given_up, take_over
from dispatch.checkpoint.listing import parse_all, read_names
from dispatch.checkpoint.publishing import publish_entry, require_save
from dispatch.errors import InvalidInputError, NotFoundError, OvertakenError
from dispatch.model.attempt import is_attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dispatch.checkpoint.claims import Claims
    from dispatch.checkpoint.lost import Saves
    from dispatch.ports.store import PublishingStore


@dataclass(frozen=True, slots=True)
class Start:
    """How an execution starts.

    Attributes:
        resume: What every rank of it loads; None to start from scratch.
        adopted: The lost saves that this call published, ascending.
        is_first: False when another rank had fixed the resume point before.
        later: The latest publication, when it is this execution's own: it has trained before,
            and a new start of it still loads ``resume``.
    """

    resume: Entry | None
    adopted: list[Entry] = field(default_factory=list)
    is_first: bool = True
    later: Entry | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a job in one root.

    Attributes:
        store: The root.
        epoch: The execution's epoch, 0 to 2^64-1.
        attempt: Its token, see `dispatch.model.attempt.parse_attempt`.
    """

    store: PublishingStore
    epoch: int
    attempt: bytes

    def claim(self) -> None:
        """Make the epoch this attempt's own. Calling again is safe.

        When it returns, the claim survives a power loss, and no prune that begins from now on
        removes anything until this epoch, or a greater one, has a publication.

        Raises:
            OvertakenError: A greater epoch is claimed (kind ``overtaken``), or this one by another
                attempt (kind ``epoch-taken``).
            InvalidInputError: The attempt has claimed another epoch (kind ``attempt-used``), so
                its folder holds the saves of another execution. Nothing was claimed.
            MalformedError: A name in ``runs/`` is no claim, or holds no value.
            UnknownOutcomeError: The claim may not survive a power loss.
        """
        claims = self._refuse_if_overtaken()
        value = os.fsdecode(self.attempt)
        if self.epoch not in claims.epochs:
            self._refuse_if_used(value, claims)
        held = self.store.claim(RUNS, claim_name(self.epoch), value)
        if held != value:
            error = taken(self.epoch, held, value)
            raise error
        self._refuse_if_overtaken()  # of two that claim at once, one at least sees the other

    def overtaken_by(self) -> int | None:
        """The greatest claimed epoch, if it is above this execution's."""
        greatest = read_claims(self.store).greatest
        return greatest if greatest is not None and greatest > self.epoch else None

    def start(self, saves: Saves, choose: Callable[[list[Entry]], Entry | None]) -> Start:
        """Publish what was lost, and fix what every rank of this execution resumes from.

        Only after `claim`. Whichever rank comes first decides for all, for good.

        Args:
            saves: What the saves of this job look like.
            choose: Given all publications, ascending: which to resume from, or None for none.
                When it isn't the latest, its save is published again under this epoch, so that a
                crash before the first save doesn't undo the choice.

        Raises:
            NotFoundError: The chosen save is gone, or a prune has decided to remove it, and
                nothing was fixed; or what was fixed is gone, since this execution, or a greater
                one, has published since.
            InvalidInputError: ``choose`` rolls back, and this epoch has publications already.
            OvertakenError: It rolls back, and a greater epoch has publications.
            DispatchError: What ``choose`` or the store raises. Adopted saves stay published.
        """
        fixed = self.store.claimed(RUNS, resume_name(self.epoch))
        if fixed is not None:
            return self._follow(fixed)
        adopted = self.adopt(saves)
        entries = self._entries()
        try:
            chosen = self._chosen(choose, entries)
        except NotFoundError:
            fixed = self.store.claimed(RUNS, resume_name(self.epoch))
            if fixed is None:
                self._refuse_if_overtaken()
                raise
            return self._follow(fixed)  # another rank decided meanwhile, and a prune went on
        name = NOTHING if chosen is None else chosen.name()
        fixed = self.store.claim(RUNS, resume_name(self.epoch), name)
        latest = entries[-1] if entries else None
        return Start(self._resume(fixed, latest), adopted, is_first=fixed == name)

    def _chosen(
        self, choose: Callable[[list[Entry]], Entry | None], entries: list[Entry]
    ) -> Entry | None:
        """What to resume from, which is the latest or will be, and whose save is there."""
        chosen = choose(entries)
        if chosen is None:
            return None
        if chosen != entries[-1]:
            new = Entry(self.epoch, chosen.step, chosen.path)
            self._require_latest(new, entries[-1])
            take_over(self.store, chosen, new)
            chosen = new
        require_save(self.store, chosen, FALL_BACK)
        return chosen

    def _require_latest(self, new: Entry, latest: Entry) -> None:
        """Refuse to roll back where a crash would undo it."""
        if new > latest:
            return
        message = f"epoch {latest.epoch} has published already, so no older save can be the latest"
        if latest.epoch > self.epoch:
            hint = "A newer execution has taken over; there is nothing to do here."
            raise OvertakenError(message, hint=hint)
        hint = "To roll back, start a new execution, with a greater epoch."
        raise InvalidInputError(message, hint=hint)

    def adopt(self, saves: Saves) -> list[Entry]:
        """Publish what watchers of older executions left, above the latest and nothing below it.

        Each save is published as its own execution would have, in ascending order, and like there
        one to which others may still write is looked at twice.

        Returns:
            The publications that this call created.
        """
        # A prune or a person may have removed what is above the latest now.
        return [
            entry
            for entry in saves.whole(self.store, self._unpublished(saves, self._entries()))
            if not is_given_up(self.store, entry) and self._publish(entry)
        ]

    def foresee(self, saves: Saves) -> list[Entry] | None:
        """What `start` would choose among now, ascending; None where the choice is made already.

        Nothing is written. What no watcher has published counts as if it were published.
        """
        if self.store.claimed(RUNS, resume_name(self.epoch)) is not None:
            return None
        entries = self._entries()
        return sorted([*entries, *self._unpublished(saves, entries)], key=Entry.key)

    def _unpublished(self, saves: Saves, entries: list[Entry]) -> list[Entry]:
        named, latest = {entry.path for entry in entries}, entries[-1] if entries else None
        return [
            entry
            for entry in self._lost(saves, 0 if latest is None else latest.epoch)
            if (latest is None or entry > latest) and entry.path not in named
        ]

    def _lost(self, saves: Saves, low: int) -> Iterator[Entry]:
        """Each save of a claimed execution from epoch ``low`` on, below this one; ascending."""
        for epoch in read_claims(self.store).epochs:
            if not low <= epoch < self.epoch:
                continue
            attempt = self.store.claimed(RUNS, claim_name(epoch))
            if attempt is None or not is_attempt(attempt):
                continue  # a person has just retracted it, or made it
            folder = b"/".join(filter(None, (b"exec", os.fsencode(attempt), saves.inside)))
            names = self.store.children(folder, saves.framework.prefix)
            steps = ((saves.framework.step_of(name), name) for name in names)
            for step, name in sorted((s, n) for s, n in steps if s is not None):
                path = folder + b"/" + name
                if valid_save(path):
                    yield Entry(epoch, step, path)

    def _publish(self, entry: Entry) -> bool:
        try:
            return publish_entry(self.store, entry, sync=True)
        except (InvalidInputError, NotFoundError) as error:
            if error.kind == "root-missing":
                raise
            return False  # it went away meanwhile, or nobody could publish it

    def _follow(self, fixed: str) -> Start:
        # Whoever fixed it may have died before it was durable.
        fixed = self.store.claim(RUNS, resume_name(self.epoch), fixed)
        entries = self._entries()
        latest = entries[-1] if entries else None
        resume = self._resume(fixed, latest)
        if resume is not None and not self.store.has_save(resume.path):
            message = f"save {resume.save!r}, which epoch {self.epoch} resumes from, is gone"
            hint = "This execution has published since; start a new one, with a greater epoch."
            raise NotFoundError(message, kind="save-missing", hint=hint)
        is_own = latest is not None and latest.epoch == self.epoch and latest != resume
        return Start(resume, is_first=False, later=latest if is_own else None)

    def _resume(self, fixed: str, latest: Entry | None) -> Entry | None:
        """The entry that was fixed. Each rank makes sure that a roll-back's is published."""
        if fixed == NOTHING:
            return None
        entry = parse_entry_held(fixed, f"{RUNS}/{resume_name(self.epoch)}")
        # Also when it is listed: whoever published it may have died before it was durable.
        if entry.epoch == self.epoch and (latest is None or latest <= entry):
            publish_entry(self.store, entry, sync=False)
        return entry

    def _entries(self) -> list[Entry]:
        return parse_all(read_names(self.store))

    def _refuse_if_used(self, attempt: str, claims: Claims) -> None:
        for epoch in claims.epochs:
            if self.store.claimed(RUNS, claim_name(epoch)) == attempt:
                message = f"attempt {attempt!r} has claimed epoch {epoch} already"
                hint = "Each execution needs an attempt of its own: add the restart count to it."
                raise InvalidInputError(message, kind="attempt-used", hint=hint)

    def _refuse_if_overtaken(self) -> Claims:
        claims = read_claims(self.store)
        claims.require_no_others()
        if claims.greatest is not None and claims.greatest > self.epoch:
            holder = self.store.claimed(RUNS, claim_name(claims.greatest))
            by = "" if holder is None else f" by attempt {holder!r}"
            message = f"epoch {claims.greatest} is claimed{by}, above this execution's {self.epoch}"
            hint = (
                "A newer execution has taken over; there is nothing to do here. A claim that was "
                "made by mistake is taken back by `publish retract -claim`."
            )
            raise OvertakenError(message, hint=hint)
        return claims
