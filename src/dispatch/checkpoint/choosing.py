"""Choosing a publication to resume from other than simply the latest, and looking at its save."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import parse_all, read_names
from dispatch.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dispatch.checkpoint.completion import Framework
    from dispatch.ports.store import PublishingStore

FALL_BACK = "With -fallback the next older publication is tried."
_ROUNDS_MAX = 5  # each is one more listing in which something was published or pruned meanwhile


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which publications may be chosen.

    Attributes:
        epoch_below: Those of a smaller epoch only; None: of any.
        step_at_most: Those of this step or a lower one only; None: of any.
    """

    epoch_below: int | None = None
    step_at_most: int | None = None

    def admit(self, entry: Entry) -> bool:
        """Whether a publication may be chosen."""
        is_below = self.epoch_below is None or entry.epoch < self.epoch_below
        return is_below and (self.step_at_most is None or entry.step <= self.step_at_most)

    def __str__(self) -> str:
        """For a message: `` of an epoch below 7 and a step of at most 500``."""
        parts = []
        if self.epoch_below is not None:
            parts.append(f"an epoch below {self.epoch_below}")
        if self.step_at_most is not None:
            parts.append(f"a step of at most {self.step_at_most}")
        return " of " + " and ".join(parts) if parts else ""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen.

    Attributes:
        entry: The publication to resume from; None only when nothing at all is published.
        passed_over: Those before it that can't be resumed from, the greatest first, each with
            the reason, a clause after "the save".
    """

    entry: Entry | None
    passed_over: tuple[tuple[Entry, str], ...] = ()


def candidates(entries: Iterable[Entry], bounds: Bounds) -> list[Entry]:
    """The publications that may be chosen, in the order of choice: the greatest first."""
    return sorted(filter(bounds.admit, entries), key=Entry.key, reverse=True)


def examine(
    store: PublishingStore, framework: Framework, entries: Iterable[Entry]
) -> Iterator[tuple[Entry, str | None]]:
    """Each publication with what keeps one from resuming from it; None: nothing.

    Lazy: the save of one is looked at when it is asked for.
    """
    for entry in entries:
        if store.has_save(entry.path):
            yield entry, framework.missing(store, entry.path, entry.step)
        else:
            store.check()
            yield entry, "is not there"


def choose_among(
    store: PublishingStore,
    framework: Framework | None,
    bounds: Bounds,
    entries: list[Entry],
    *,
    fallback: bool,
) -> tuple[Choice, NotFoundError | None]:
    """The choice among ``entries``, and the error to raise beside one that is none."""
    choice = _walk(store, framework, candidates(entries, bounds), fallback=fallback)
    return choice, _why_none(store, choice, entries, bounds, fallback=fallback)


def choose(
    store: PublishingStore, framework: Framework | None, bounds: Bounds, *, fallback: bool
) -> tuple[Choice, NotFoundError | None]:
    """What `Log.choose` says; the error that it raises beside the choice, which then is none."""
    if fallback and framework is None:
        message = "to fall back takes a framework, whose rule says when a save is complete"
        raise InvalidInputError(message)
    entries = parse_all(read_names(store))
    choice, error = choose_among(store, framework, bounds, entries, fallback=fallback)
    for _ in range(_ROUNDS_MAX):
        # A save that is gone may have been pruned, and a greater one published, meanwhile.
        again = parse_all(read_names(store)) if choice.passed_over else entries
        if again == entries:
            break
        entries = again
        choice, error = choose_among(store, framework, bounds, entries, fallback=fallback)
    return choice, error


def _walk(
    store: PublishingStore, framework: Framework | None, entries: list[Entry], *, fallback: bool
) -> Choice:
    if framework is None:
        return Choice(entries[0] if entries else None)
    passed_over: list[tuple[Entry, str]] = []
    for entry, reason in examine(store, framework, entries):
        if reason is None:
            return Choice(entry, tuple(passed_over))
        passed_over.append((entry, reason))
        if not fallback:
            break
    return Choice(None, tuple(passed_over))


def _why_none(
    store: PublishingStore, choice: Choice, entries: list[Entry], bounds: Bounds, *, fallback: bool
) -> NotFoundError | None:
    """The error that there was nothing to choose, though something is published."""
    if choice.entry is not None or not entries:
        return None
    if choice.passed_over and not fallback:
        [(entry, reason)] = choice.passed_over
        message = f"{os.fsdecode(store.location(entry.path))!r}: the save {reason}"
        return NotFoundError(message, kind="save-unfit", hint=FALL_BACK)
    if choice.passed_over:
        message = f"none of {len(choice.passed_over)} publications{bounds} can be resumed from"
        return NotFoundError(message, kind="none-chosen", hint="`publish log` lists them all.")
    message = f"none of {len(entries)} publications is{bounds}"
    return NotFoundError(message, kind="none-chosen", hint="`publish log` lists them.")
