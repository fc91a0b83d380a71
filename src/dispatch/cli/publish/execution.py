"""What an execution is to `publish run`: where it resumes, and whether it is overtaken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from dispatch.checkpoint import execution as checkpoint
from dispatch.checkpoint.choosing import FALL_BACK, Bounds, choose_among
from dispatch.checkpoint.listing import parse_all, read_names
from dispatch.checkpoint.lost import Saves
from dispatch.checkpoint.patient import PatientStore
from dispatch.checkpoint.publishing import require_save
from dispatch.cli.publish import wiring

if TYPE_CHECKING:
    from dispatch.checkpoint.entry import Entry
    from dispatch.checkpoint.watch import Watcher
    from dispatch.cli.publish.output import Output


class Execution(Protocol):
    """One execution. Every wait for the store in it is bounded."""

    def start(self) -> Entry | None:
        """Start it, before its command; the publication that it resumes from, or None.

        Called once, on the main thread.

        Raises:
            DispatchError: It can't start; no command is run.
        """
        ...

    def overtaken(self) -> int | None:
        """The epoch of a newer execution, or None. Called on the watching thread, at each look.

        Raises:
            DispatchError: That can't be told now; it is asked again at the next look.
        """
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """Which publication to resume from.

    Attributes:
        bounds: Those that may be chosen.
        fallback: Whether one that can't be resumed from gives way to the next older one.
    """

    bounds: Bounds
    fallback: bool


class _Patient:
    """What both have: a store that is not waited for for ever, and a choice."""

    __slots__ = ("_attempt", "_output", "_store", "_watcher", "_wish")

    def __init__(self, watcher: Watcher, attempt: bytes, wish: Wish, output: Output) -> None:
        self._watcher = watcher
        self._attempt = attempt
        self._wish = wish
        self._output = output
        log = watcher.log
        self._store = PatientStore(log.store, log.patience, watcher.time_out)

    def _choose(self, entries: list[Entry]) -> Entry | None:
        """What the flags choose; each that is passed over is told.

        Raises:
            NotFoundError: Something is published, and nothing of it can be chosen.
        """
        framework = self._watcher.framework if self._wish.fallback else None
        choice, error = choose_among(
            self._store, framework, self._wish.bounds, entries, fallback=self._wish.fallback
        )
        for entry, reason in choice.passed_over:
            wiring.say_passed_over(self._watcher.log.location(entry), reason, self._output)
        if error is not None:
            raise error
        return choice.entry


class Claimed(_Patient):
    """An execution whose epoch is its own (format §10)."""

    __slots__ = ()

    def start(self) -> Entry | None:
        """Claim the epoch, publish lost saves, and agree with the other ranks."""
        watcher, log = self._watcher, self._watcher.log
        execution = self._execution()
        own = b"exec/" + self._attempt
        saves = log.relative(watcher.saves)
        looks = Saves(
            watcher.framework,
            inside=saves[len(own) + 1 :] if saves.startswith(own + b"/") else b"",
            ranks=watcher.ranks,
            settle=watcher.settle,
            sleep=log.patience.sleep,
        )
        self._refuse_in_vain(execution.foresee(looks))
        execution.claim()
        start = execution.start(looks, self._choose)
        for entry in start.adopted:
            message = f"adopted step {entry.step}, so far unpublished: {log.location(entry)}"
            fields = {"event": "adopted", **wiring.document_of(log, entry)}
            self._output.say(message, fields=fields)
        if start.later is not None:
            message = (
                f"this attempt has published step {start.later.step} before; its ranks still "
                "resume from where it began. A new start needs an attempt and an epoch of its own"
            )
            fields = {"event": "started-again", **wiring.document_of(log, start.later)}
            self._output.say(message, "warning", fields)
        if start.resume is not None and not start.is_first:
            self._say_if_out_of_bounds(start.resume)
        return start.resume

    def _refuse_in_vain(self, foreseen: list[Entry] | None) -> None:
        """Refuse what can't be chosen before the claim, which ends an older execution.

        Raises:
            NotFoundError: As `_choose`; or the save is gone.
        """
        if foreseen is None:
            return
        choice, error = choose_among(self._store, None, self._wish.bounds, foreseen, fallback=False)
        if error is not None:
            raise error
        if choice.entry is not None and not self._wish.fallback:
            require_save(self._store, choice.entry, FALL_BACK)

    def _say_if_out_of_bounds(self, fixed: Entry) -> None:
        """Say when another start has fixed a save that our flags don't choose."""
        bounds = self._wish.bounds
        if fixed.epoch == self._watcher.epoch:  # rolled back to; of which epoch it was is not told
            bounds = replace(bounds, epoch_below=None)
        if not bounds.admit(fixed):
            message = (
                f"what this execution resumes from was fixed before, and is not{bounds}. To roll "
                "back, start a new one, with an attempt and a greater epoch of its own"
            )
            fields = {"event": "fixed-before", **wiring.document_of(self._watcher.log, fixed)}
            self._output.say(message, "warning", fields)

    def overtaken(self) -> int | None:
        """The greatest claimed epoch, if it is above our own."""
        return self._execution().overtaken_by()

    def _execution(self) -> checkpoint.Execution:
        return checkpoint.Execution(self._store, self._watcher.epoch, self._attempt)


class Unclaimed(_Patient):
    """An execution that claims nothing, and so is never told that it is overtaken."""

    __slots__ = ()

    def start(self) -> Entry | None:
        """What the flags choose; a line when the latest is of a greater epoch."""
        entries = parse_all(read_names(self._store))
        latest = entries[-1] if entries else None
        wiring.say_if_overtaken(latest, self._watcher.epoch, self._output)
        return self._choose(entries)

    def overtaken(self) -> int | None:
        """None."""
        return None
