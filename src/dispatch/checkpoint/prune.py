"""Removing old publications and the saves that only they named (format §7).

The order is the guarantee: an entry is gone for good before its folder is touched, and a folder
is out of sight for good before a file in it is deleted. So no entry ever names a half-deleted
save, and no half-deleted save ever stands under a name that could be published, wherever the
power fails and whoever publishes or prunes at the same time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from dispatch.checkpoint.claims import RUNS, read_claims, why_held
from dispatch.checkpoint.fates import FATES, doom, forget, read_fates
from dispatch.checkpoint.listing import PUB, parse_all, read_names
from dispatch.checkpoint.retention import EXEC, Named, is_protected, kept, parent
from dispatch.errors import DispatchError
from dispatch.model.removal import Aside, Gone, Left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dispatch.checkpoint.claims import Claims
    from dispatch.checkpoint.entry import Entry
    from dispatch.ports.store import Store

T = TypeVar("T")
_PUT_BACK = Left("it was published meanwhile", failed=False)
_TAKEN_OVER = Left("an execution that is rolling back has taken it over", failed=False)
_RESCUED = Left("a publication names what an interrupted prune left", failed=False)


@dataclass(frozen=True, slots=True)
class SkippedFolder:
    """A folder that a prune left, or an entry that it could not remove.

    Attributes:
        location: Where it is.
        reason: Why it was left, for a person.
        failed: False when a rule left it (a link, an overlap, another file system), True when it
            should have been removed and could not be.
    """

    location: str
    reason: str
    failed: bool = False


@dataclass(slots=True)
class PruneResult:
    """What a prune did, or would do.

    Attributes:
        entries: The publications that this prune removed, ascending.
        folders: The locations of the saves that it deleted.
        skipped: The folders that it left although nothing it keeps needed a removed entry.
        held: Why it removed nothing at all, when a claim kept it from it.
    """

    entries: list[Entry] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    skipped: list[SkippedFolder] = field(default_factory=list)
    held: str | None = None


@dataclass(frozen=True, slots=True)
class Pruner:
    """One prune of one root.

    Attributes:
        store: The root.
        keep: How many of the latest publications stay, at least 1.
        keep_every: Also keep the best entry of each step that this divides.
        epoch: The pruning execution's own; None when a person prunes.
        progress: Told what is being done, often; it may do nothing.
    """

    store: Store
    keep: int
    keep_every: int | None
    epoch: int | None
    progress: Callable[[str], None]

    def plan(self) -> PruneResult:
        """What `run` would remove and leave, with nothing changed."""
        entries, stay = self._entries_and_kept()
        _, held = self._claims(entries)
        if held:
            return PruneResult(held=held)
        fates = read_fates(self.store, [e for e in entries if e not in stay], stay)
        result, named = PruneResult(entries=fates.going), Named([*stay, *fates.taken])
        self._note_taken(fates.taken, result)
        for save in self._candidates(fates.going, named, result):
            self._note(save, self.store.may_set_aside(save), result)
        for aside in self._leftovers(entries, result):
            if aside.save and named.overlaps(aside.save):
                self._note(aside.save, _PUT_BACK, result)
            elif named.overlaps(aside.place):
                self._note(aside.place, _RESCUED, result)
            else:
                self._note(aside.save or aside.place, None, result)
        return result

    def run(self) -> PruneResult:
        """Remove what retention does not keep; each step's reason is in format §7.

        Raises:
            MalformedError: A name in ``pub/`` is not an entry's; nothing was removed, unless it
                appeared under way.
            UnknownOutcomeError: Removed entries may come back after a power loss; no folder was
                touched.
        """
        entries, stay = self._entries_and_kept()
        doomed = [entry for entry in entries if entry not in stay]
        claims, held = self._claims(entries)
        result = PruneResult(held=held)
        if held:
            return result
        fates = doom(self.store, doomed, stay)
        going, taken = fates.going, fates.taken
        if going:
            self._remove(going, result)
            if fates.unmade:
                reason = f"no names were made in it: {fates.unmade}"
                self._note(FATES.encode(), Left(reason, failed=False), result)
                taken = [*taken, *read_fates(self.store, going, stay).taken]
        self._note_taken(taken, result)
        asides = self._set_aside(going, taken, result)
        asides += self._leftovers(entries, result)
        deleted: set[bytes] = set()
        if asides:  # our own are among the leftovers
            deleted = self._settle(list(dict.fromkeys(asides)), result)
        self._forget(claims, stay, deleted, result)
        return result

    def _remove(self, going: list[Entry], result: PruneResult) -> None:
        self.progress(f"removing {len(going)} entries")
        removed, failures = self.store.remove(PUB, [entry.name() for entry in going])
        gone = set(removed)
        result.entries = [entry for entry in going if entry.name() in gone]
        for name, failure in failures.items():  # listed again below, so that its save stays
            self._note(f"{PUB}/{name}".encode(), Left(str(failure), failed=True), result)

    def _note_taken(self, taken: list[Entry], result: PruneResult) -> None:
        for entry in taken:
            self._note(entry.path, _TAKEN_OVER, result)

    def _claims(self, entries: list[Entry]) -> tuple[Claims, str | None]:
        """The claims, read after the entries, and why they let nothing be removed."""
        claims = read_claims(self.store)
        return claims, why_held(claims, self.epoch, entries[-1] if entries else None)

    def _forget(
        self, claims: Claims, stay: set[Entry], deleted: set[bytes], result: PruneResult
    ) -> None:
        """Remove the fates and claims that nobody needs any more; what fails stays, and is told."""
        try:
            forget(self.store, deleted)
            lowest = min((entry.epoch for entry in stay), default=0)
            if old := claims.below(lowest):
                _, failures = self.store.remove(RUNS, old)
                for failure in failures.values():
                    raise failure
        except DispatchError as error:
            reason = f"old claims and fates were not removed: {error}"
            self._note(RUNS.encode(), Left(reason, failed=False), result)

    def _entries_and_kept(self) -> tuple[list[Entry], set[Entry]]:
        entries = parse_all(read_names(self.store))
        return entries, kept(entries, self.keep, self.keep_every)

    def _candidates(
        self, doomed: list[Entry], named: Named, result: PruneResult
    ) -> Iterator[bytes]:
        for save in dict.fromkeys(entry.path for entry in doomed):
            if is_protected(save):
                self._note(save, Left("it is one of the root's own folders", failed=False), result)
            elif named.overlaps(save):
                reason = "a publication that stays names it, a part of it, or what it is part of"
                self._note(save, Left(reason, failed=False), result)
            else:
                yield save

    def _set_aside(
        self, going: list[Entry], taken: list[Entry], result: PruneResult
    ) -> list[Aside]:
        """Take the saves of the removed entries out of sight, if no entry names them now."""
        if not going:
            return []
        named = Named([*parse_all(read_names(self.store)), *taken])
        asides = []
        for save in self._candidates(going, named, result):
            self.progress(f"taking {os.fsdecode(save)} out of sight")
            outcome = self.store.set_aside(save)
            if isinstance(outcome, Aside):
                asides.append(outcome)
            elif isinstance(outcome, Left):
                self._note(save, outcome, result)
        return asides

    def _settle(self, asides: list[Aside], result: PruneResult) -> set[bytes]:
        """Put back what was published before it was taken aside, and delete the rest.

        A publisher looks at its save after it made its entry, so whatever was published with
        success was published before the save went aside, and one more listing shows it.

        Returns:
            The saves that this deleted.
        """
        deleted: set[bytes] = set()
        named = Named(parse_all(read_names(self.store)))
        for done, aside in enumerate(asides):
            self.progress(f"deleted {done} of {len(asides)} folders")
            if aside.save and named.overlaps(aside.save) and (back := self._put_back(aside)):
                self._note(aside.save, back, result)
            elif named.overlaps(aside.place):
                self._note(aside.place, _RESCUED, result)
            else:
                outcome = self.store.delete(aside)
                self._note(aside.save or aside.place, outcome, result)
                if outcome is None:
                    deleted.add(aside.save)
        return deleted

    def _put_back(self, aside: Aside) -> Left | None:
        """What to say of it when it is back, or could not be put back; None when it is gone."""
        try:
            return _PUT_BACK if self.store.put_back(aside) else None
        except DispatchError as error:
            return Left(f"it is published, and could not be put back: {error}", failed=True)

    def _note(self, save: bytes, outcome: Left | Gone | None, result: PruneResult) -> None:
        location = os.fsdecode(self.store.location(save))
        if outcome is None:
            result.folders.append(location)
        elif isinstance(outcome, Left):
            result.skipped.append(SkippedFolder(location, outcome.reason, outcome.failed))

    def _leftovers(self, entries: list[Entry], result: PruneResult) -> list[Aside]:
        """What interrupted prunes left beside saves, wherever saves are or were.

        Looked at: the root and ``exec``, the folders that hold a published save, each
        execution's folder, and the folders in those that are not published themselves (a
        framework's own subfolder).
        """
        named = {entry.path for entry in entries}
        folders = {b"", EXEC, *map(parent, named)}
        for own in self._inside(EXEC, result):
            folders |= {own, *(path for path in self._inside(own, result) if path not in named)}
        return [
            aside
            for folder in sorted(folders)
            for aside in self._look(folder, self.store.leftovers, result)
        ]

    def _inside(self, folder: bytes, result: PruneResult) -> list[bytes]:
        names = self._look(folder, lambda path: self.store.children(path, b""), result)
        return [folder + b"/" + name for name in names]

    def _look(
        self, folder: bytes, look: Callable[[bytes], list[T]], result: PruneResult
    ) -> list[T]:
        """What ``look`` finds in ``folder``, or nothing: others' folders may be closed to us."""
        try:
            return look(folder)
        except DispatchError as error:
            reason = f"it was not searched for what interrupted prunes left: {error}"
            self._note(folder, Left(reason, failed=False), result)
            return []
