"""`fates/`: what becomes of a publication's save, decided once between a prune and a roll-back.

A prune that has chosen a save may be slow, and nobody can tell whether it is dead. So neither it
nor an execution that rolls back to that save acts before it has made the one name that both want
(docs/design/0010 has the interleavings, format §11 the rule).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatch.checkpoint.entry import parse_entry_held, parse_entry_name
from dispatch.checkpoint.listing import PUB, parse_all, read_names
from dispatch.checkpoint.retention import Named
from dispatch.errors import DispatchError, MalformedError, NotFoundError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dispatch.checkpoint.entry import Entry
    from dispatch.ports.store import ClaimsStore, PublishingStore, Store

FATES = "fates"
DOOMED = "-"
"""The fate of a publication that a prune removes, or that a person took back."""


@dataclass(frozen=True, slots=True)
class Fates:
    """What a prune may remove.

    Attributes:
        going: The entries that may go.
        taken: Those that may not: an execution has taken their saves over, and hasn't yet
            published that it has.
        unmade: Why those that go don't all have their fate; None where they have. An execution
            may then take one of their saves over until the entries are removed: ask
            `read_fates` again after that. For it looks for the entry after it has made its
            fate, so that one of the two sees the other.
    """

    going: list[Entry] = field(default_factory=list)
    taken: list[Entry] = field(default_factory=list)
    unmade: str | None = None


def doom(store: PublishingStore, doomed: Sequence[Entry], stay: Collection[Entry]) -> Fates:
    """Decide that the saves of ``doomed`` go, before any of these entries is removed.

    Args:
        store: The root.
        doomed: What the prune wants to remove.
        stay: All other publications.

    Raises:
        MalformedError: A fate is neither a later entry's name nor `DOOMED`.
        DispatchError: What the store raises, but that it has no space, or refuses.
    """
    if not doomed:
        return Fates()
    try:
        made = store.claim_all(FATES, {entry.name(): DOOMED for entry in doomed})
    except DispatchError as error:
        # A prune goes on without: it is what makes space.
        if error.kind != "no-space" and not isinstance(error, RefusedError):
            raise
        fates = read_fates(store, doomed, stay)
        return Fates(fates.going, fates.taken, unmade=str(error))
    return _sorted_by_fate(store, {e: made[e.name()] for e in doomed}, stay)


def read_fates(store: PublishingStore, doomed: Sequence[Entry], stay: Collection[Entry]) -> Fates:
    """What `doom` would answer, with nothing decided."""
    made = set(read_names(store, FATES))
    fates = dict.fromkeys(doomed, DOOMED)
    for entry in doomed:
        if entry.name() in made:
            fates[entry] = store.claimed(FATES, entry.name()) or DOOMED
    return _sorted_by_fate(store, fates, stay)


def _sorted_by_fate(store: ClaimsStore, fates: dict[Entry, str], stay: Collection[Entry]) -> Fates:
    found = Fates()
    for entry in fates:
        (found.going if _may_go(store, entry, fates, stay) else found.taken).append(entry)
    return found


def _may_go(
    store: ClaimsStore, entry: Entry, fates: dict[Entry, str], stay: Collection[Entry]
) -> bool:
    """Whether the last that took the save of ``entry`` over goes as well, or is published."""
    while True:
        fate = fates.get(entry) or store.claimed(FATES, entry.name())
        if fate is None:
            return False
        if fate == DOOMED:
            return True
        entry = _next(entry, fate)
        if entry in stay:
            return True


def take_over(store: PublishingStore, old: Entry, new: Entry) -> None:
    """Decide that the save of ``old`` will be ``new``'s, before ``new`` is published.

    Calling again with the same two is safe, and so are several callers.

    Raises:
        NotFoundError: A prune has decided to remove it, or an execution of a greater epoch has
            taken it over (kind ``save-missing``).
    """
    entry, chain = old, [new.name()]
    while entry != new:
        chain.append(entry.name())
        fate = store.claim(FATES, entry.name(), new.name())
        if fate == DOOMED:
            error = _given_up(old)
            raise error
        entry = _next(entry, fate)
        if entry > new:
            error = _given_up(old, f"was taken over by epoch {entry.epoch}, which is greater")
            raise error
    # A prune that could make no fate removes the entry, and then looks for ours; one that has
    # ended has removed its fate.
    if not store.written(PUB, chain):
        error = _given_up(old)
        raise error


def _given_up(
    old: Entry, why: str = "is being removed by a prune, or was retracted"
) -> NotFoundError:
    hint = "Choose another: `publish log` lists them."
    return NotFoundError(f"save {old.save!r} {why}", kind="save-missing", hint=hint)


def _next(entry: Entry, fate: str) -> Entry:
    """The entry that took the save of ``entry`` over: a greater one, so that no chain is endless.

    Raises:
        MalformedError: It is none.
    """
    found = parse_entry_held(fate, f"{FATES}/{entry.name()}")
    if not found > entry:
        message = f"{FATES}/{entry.name()} leads back to {fate!r}"
        raise MalformedError(message, hint="It isn't ours: look at it, and move it away.")
    return found


def is_given_up(store: ClaimsStore, entry: Entry) -> bool:
    """Whether ``entry`` was published once, and a prune or a person decided that it goes."""
    return store.claimed(FATES, entry.name()) is not None


def give_up(store: ClaimsStore, entry: Entry) -> None:
    """Note that a person takes ``entry`` back, so that nobody publishes it as a lost save.

    It isn't noted where the store refuses it. Where there are no links nobody claims an epoch
    either, and nobody looks for lost saves.
    """
    try:
        store.claim(FATES, entry.name(), DOOMED)
    except RefusedError:
        pass


def give_up_roll_backs(store: PublishingStore, epoch: int) -> None:
    """Let prunes have what a dead execution took over and never published."""
    published = set(read_names(store, PUB))
    for name in read_names(store, FATES):
        fate = store.claimed(FATES, name) or DOOMED
        if fate == DOOMED or fate in published:
            continue
        taker = parse_entry_held(fate, f"{FATES}/{name}")
        if taker.epoch == epoch:
            give_up(store, taker)


def forget(store: Store, deleted: Collection[bytes] = ()) -> None:
    """Remove the fates of publications that are gone, and whose saves are.

    ``deleted`` are saves that are, which needn't be looked at.

    An execution that had listed one of them looks for it again after it has made its fate. The
    listing comes last: a save that is published while this looks keeps its fate.

    Raises:
        DispatchError: The store's; some may be left.
    """
    gone = []
    for name in read_names(store, FATES):
        try:
            entry = parse_entry_name(name)
        except MalformedError:
            continue  # nobody asks for it
        if entry.path in deleted or not store.has_save(entry.path):
            gone.append(entry)
    if not gone:
        return
    entries = parse_all(read_names(store, PUB))
    published, named = set(entries), Named(entries)
    names = [e.name() for e in gone if e not in published and not named.overlaps(e.path)]
    if names:
        _, failures = store.remove(FATES, names)
        for failure in failures.values():
            raise failure
