"""Executions that start, roll back, publish and prune at once, in every order with few switches.

`tests.faults.schedules` says what is enumerated: who goes on before each call on the store, and
who died there. The same on a root where saves are renamed before they are deleted, on one where
they can't be, and on one where a prune finds no space for fates (docs/design/0010).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from dispatch.checkpoint import execution as starting
from dispatch.checkpoint import prune as pruning
from dispatch.checkpoint.claims import (
    NOTHING,
    RUNS,
    Claims,
    claim_name,
    read_claims,
    resume_name,
)
from dispatch.checkpoint.completion import Framework
from dispatch.checkpoint.entry import Entry, parse_entry_name
from dispatch.checkpoint.execution import Execution, Start
from dispatch.checkpoint.fates import DOOMED, FATES, Fates, doom, take_over
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.look import Verdict
from dispatch.checkpoint.lost import Saves
from dispatch.checkpoint.prune import Pruner
from dispatch.checkpoint.publishing import publish_entry
from dispatch.errors import DispatchError, NotFoundError, OvertakenError
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import parent_of
from tests.faults.schedules import Process, Ran, Switch, every_schedule
from tests.faults.shared_root import (
    STORES,
    FullStore,
    InSightStore,
    ProcessStore,
    entries,
    is_whole,
    publish,
    save,
)
from tests.unit.stores import InlinePatience

DCP = Saves(Framework.dcp, settle=0.0)

OLD, NEW = 1, 5
GOOD = Entry(OLD, 1, "exec/old/step-1")
SPIKE = Entry(OLD, 9, "exec/old/step-9")
LOST = Entry(OLD, 11, "exec/old/step-11")
LATE = Entry(OLD, 12, "exec/old/step-12")

Body = Callable[[ProcessStore], object]
Choose = Callable[[list[Entry]], Entry | None]
Check = Callable[[MemoryStore, Ran], str]


def newest(found: list[Entry]) -> Entry | None:
    return found[-1] if found else None


def good(found: list[Entry]) -> Entry | None:
    """Roll back behind the loss spike; None where the save is gone already."""
    return max((entry for entry in found if entry.step <= GOOD.step), default=None)


def start(
    epoch: int, choose: Choose, attempt: str = "new", like: type[Execution] = Execution
) -> Body:
    """Claim, then start."""

    def run(store: MemoryStore) -> Start:
        execution = like(store, epoch, attempt.encode())
        execution.claim()
        return execution.start(DCP, choose)

    return run


def prune(epoch: int | None = None, keep: int = 1) -> Body:
    """Keep one, or more."""
    return lambda store: Pruner(store, keep, None, epoch, lambda _: None).run()


def publish_late(entry: Entry) -> Body:
    """An old execution's watcher."""
    return lambda store: publish_entry(store, entry, sync=False)


@dataclass
class Explorer:
    """Runs every schedule of some processes on fresh roots.

    Attributes:
        store: What each process has of the root.
        prepare: Fills a root.
        bodies: The processes.
        refusals: What any of them may be told; nothing else.
    """

    store: type[ProcessStore]
    prepare: Callable[[MemoryStore], object]
    bodies: list[Body]
    refusals: tuple[type[DispatchError], ...] = (OvertakenError,)

    def outcomes(self, check: Check, switches_max: int, *, deaths: bool) -> Iterator[str]:
        """What ``check`` finds wrong in each schedule; empty where all is right."""
        root = MemoryStore()

        def process(here: MemoryStore, body: Body) -> Process:
            return lambda gate: body(self.store(here, gate))

        def processes() -> list[Process]:
            nonlocal root
            root = MemoryStore()
            self.prepare(root)
            return [process(root, body) for body in self.bodies]

        for switches, ran in every_schedule(processes, switches_max, deaths=deaths):
            wrong = [o for o in ran.outcomes if isinstance(o, Exception)]
            wrong = [o for o in wrong if not isinstance(o, self.refusals)]
            problem = repr(wrong[0]) if wrong else check(root, ran)
            yield f"{problem}: {shown(switches)}" if problem else ""

    def require(
        self, check: Check, switches_max: int, at_least: int, *, deaths: bool = True
    ) -> None:
        """Fail unless all is right in each of at least this many schedules."""
        found = list(self.outcomes(check, switches_max, deaths=deaths))
        assert [problem for problem in found if problem] == []
        assert len(found) >= at_least, f"only {len(found)} schedules"

    def expect(self, complaint: str, check: Check, switches_max: int) -> None:
        """Fail unless some schedule goes wrong in this way."""
        found = self.outcomes(check, switches_max, deaths=False)
        assert any(re.search(complaint, problem) for problem in found)


def shown(switches: tuple[Switch, ...]) -> str:
    return ", ".join(f"{'kill and ' if s.kills else ''}go to {s.to} at {s.at}" for s in switches)


def nothing_is_lost(root: MemoryStore, ran: Ran) -> str:
    """What is published is whole, all ranks load one save, and whoever starts again can."""
    found = entries(root)
    if not found:
        return "nothing is published"
    if torn := [entry for entry in found if not is_whole(root, entry)]:
        return f"{torn[-1]} is not whole"
    starts = [outcome for outcome in ran.outcomes if isinstance(outcome, Start)]
    for started in starts:
        if started.resume is not None and not is_whole(root, started.resume):
            return f"{started.resume} was chosen, and is not whole"
        is_overtaken = started.resume is not None and started.resume.epoch < found[-1].epoch
        if started.resume is not None and started.resume not in found and not is_overtaken:
            return f"{started.resume} was chosen, and is not published"
    return no_start_fails(root)


def no_start_fails(root: MemoryStore) -> str:
    """Whoever starts again loads what was fixed, which is there."""
    claims = read_claims(root)
    epoch = claims.greatest
    fixed = None if epoch is None else root.claimed(RUNS, resume_name(epoch))
    attempt = None if epoch is None else root.claimed(RUNS, claim_name(epoch))
    if epoch is None or fixed in {None, NOTHING} or attempt is None:
        return ""
    assert fixed is not None
    execution = Execution(root, epoch, os.fsencode(attempt))
    try:
        again = execution.start(DCP, newest)
    except DispatchError as error:
        return f"{fixed} was fixed, and no start succeeds: {error!r}"
    is_same = again.resume == parse_entry_name(fixed)
    return "" if is_same and is_whole(root, parse_entry_name(fixed)) else f"{fixed} is not loaded"


def one_choice(root: MemoryStore, ran: Ran) -> str:
    """The same of all ranks of one execution."""
    chosen = {o.resume for o in ran.outcomes if isinstance(o, Start)}
    return "two choices" if len(chosen) > 1 else nothing_is_lost(root, ran)


def two_saves(root: MemoryStore) -> None:
    for entry in (GOOD, SPIKE):
        publish(root, entry)


def with_a_late_save(root: MemoryStore) -> None:
    two_saves(root)
    save(root, LATE.save)


def with_a_lost_save(root: MemoryStore) -> None:
    two_saves(root)
    save(root, LOST.save)
    root.claim(RUNS, claim_name(OLD), "old")


stores = pytest.mark.parametrize("store", STORES.values(), ids=STORES)
usual = pytest.mark.parametrize("store", [STORES["posix"], STORES["s3"]], ids=["posix", "s3"])
ROLLING_BACK = (OvertakenError, NotFoundError)
"""Its save may go before it has it."""


# ------------------------------------------------------------------------- rolling back


@stores
def test_a_roll_back_beside_a_prune_loses_nothing(store: type[ProcessStore]) -> None:
    """Either the prune has the save, or the execution has."""
    explorer = Explorer(store, two_saves, [prune(), start(NEW, good)], ROLLING_BACK)
    explorer.require(nothing_is_lost, 2, 60)
    explorer.require(nothing_is_lost, 3, 500, deaths=False)


@stores
def test_a_roll_back_beside_two_prunes_loses_nothing(store: type[ProcessStore]) -> None:
    """The second one may take the roll-back's entry for the latest."""
    bodies = [prune(), start(NEW, good), prune()]
    Explorer(store, two_saves, bodies, ROLLING_BACK).require(nothing_is_lost, 2, 60, deaths=False)


@stores
def test_two_ranks_roll_back_to_one_save(store: type[ProcessStore]) -> None:
    """While a prune runs."""
    bodies = [start(NEW, good), start(NEW, good), prune()]
    Explorer(store, two_saves, bodies, ROLLING_BACK).require(one_choice, 2, 60, deaths=False)


@usual
def test_two_executions_roll_back_to_one_save(store: type[ProcessStore]) -> None:
    """While a prune runs; the lower may have been first to take it over."""
    bodies = [start(NEW, good), start(NEW + 1, good, "newer"), prune()]
    Explorer(store, two_saves, bodies, ROLLING_BACK).require(nothing_is_lost, 2, 60, deaths=False)


@stores
def test_an_execution_rolls_back_after_one_that_died_doing_it(store: type[ProcessStore]) -> None:
    """Before it published what it had taken over."""

    def prepare(root: MemoryStore) -> None:
        two_saves(root)
        take_over(root, GOOD, Entry(NEW - 1, GOOD.step, GOOD.path))

    bodies = [start(NEW, good), prune()]
    Explorer(store, prepare, bodies, ROLLING_BACK).require(nothing_is_lost, 2, 60)


def test_a_save_whose_roll_back_died_is_listed_until_that_is_decided() -> None:
    """So that it isn't left behind for ever, and can be chosen again."""

    def check(root: MemoryStore, ran: Ran) -> str:
        is_taken = root.claimed(FATES, GOOD.name()) not in {None, DOOMED}
        if is_taken and GOOD.path not in {entry.path for entry in entries(root)}:
            return "the save was taken over, and nobody knows where it is"
        return nothing_is_lost(root, ran)

    bodies = [start(NEW, good), prune()]
    Explorer(STORES["posix"], two_saves, bodies, ROLLING_BACK).require(check, 2, 60)


# ------------------------------------------------------------------------- starting


@usual
def test_what_an_execution_loads_stays(store: type[ProcessStore]) -> None:
    """A prune that began before its claim keeps it; one that begins later removes nothing."""
    bodies = [prune(), start(NEW, newest), publish_late(LATE)]
    Explorer(store, with_a_late_save, bodies).require(nothing_is_lost, 2, 60, deaths=False)
    Explorer(store, two_saves, bodies[:2]).require(nothing_is_lost, 2, 60)


@usual
def test_all_ranks_load_one_save_whatever_an_old_execution_publishes(
    store: type[ProcessStore],
) -> None:
    bodies = [start(NEW, newest), start(NEW, newest), publish_late(LATE)]
    Explorer(store, with_a_late_save, bodies).require(one_choice, 2, 60)


@usual
def test_of_two_attempts_with_one_epoch_one_starts(store: type[ProcessStore]) -> None:
    """The other is refused; when the one dies first, nobody has started."""

    def check(root: MemoryStore, ran: Ran) -> str:
        starts = [o for o in ran.outcomes if isinstance(o, Start)]
        refused = [o for o in ran.outcomes if isinstance(o, OvertakenError)]
        if len(starts) > 1 or (len(starts) == 0 and len(refused) > 1):
            return f"{len(starts)} started, {len(refused)} were refused"
        return nothing_is_lost(root, ran)

    bodies = [start(NEW, newest, "one"), start(NEW, newest, "other")]
    Explorer(store, two_saves, bodies).require(check, 2, 60)


def the_lower_learns_it(root: MemoryStore, ran: Ran) -> str:
    """Of two epochs the greater starts, and the lower doesn't when it claimed later."""
    lower, greater = ran.outcomes[:2]
    if isinstance(greater, Exception):
        return f"the greater was refused: {greater}"
    made = [*root.folder.inner[b"runs"].inner]  # type: ignore[union-attr]  # a folder
    both = [claim_name(epoch).encode() for epoch in (NEW + 1, NEW)]
    if isinstance(lower, Start) and [name for name in made if name in both] == both:
        return "the lower claimed after the greater, and started"
    return nothing_is_lost(root, ran)


TWO_EPOCHS = [start(NEW, newest), start(NEW + 1, newest, "newer"), prune()]


@usual
def test_of_two_epochs_at_once_the_greater_starts_with_a_whole_save(
    store: type[ProcessStore],
) -> None:
    """The lower is refused, or starts and learns later; a prune takes neither's save."""
    explorer = Explorer(store, two_saves, TWO_EPOCHS)
    explorer.require(the_lower_learns_it, 2, 60, deaths=False)


@usual
def test_a_lost_save_is_found_while_its_own_watcher_still_publishes(
    store: type[ProcessStore],
) -> None:
    """By both, once; and a prune of the old execution takes nothing that is loaded."""

    def check(root: MemoryStore, ran: Ran) -> str:
        if isinstance(ran.outcomes[0], Start) and LOST not in entries(root):
            return "the lost save was not found"
        return nothing_is_lost(root, ran)

    bodies = [start(NEW, newest), publish_late(LOST), prune(OLD)]
    Explorer(store, with_a_lost_save, bodies).require(check, 2, 60, deaths=False)


def retract(entry: Entry) -> Body:
    """A person takes a publication back."""
    return lambda store: Log(store, InlinePatience()).retract(entry)


def stays_retracted(root: MemoryStore, ran: Ran) -> str:
    """Nobody takes for lost what a person took back."""
    return "it came back" if SPIKE in entries(root) else nothing_is_lost_but(SPIKE, root, ran)


def nothing_is_lost_but(gone: Entry, root: MemoryStore, ran: Ran) -> str:
    """The same, where what was chosen may be taken back after that."""
    is_loaded = any(isinstance(o, Start) and o.resume == gone for o in ran.outcomes)
    return "" if is_loaded and is_whole(root, gone) else nothing_is_lost(root, ran)


def with_an_old_claim(root: MemoryStore) -> None:
    two_saves(root)
    root.claim(RUNS, claim_name(OLD), "old")


@usual
def test_what_a_person_retracts_is_not_adopted(store: type[ProcessStore]) -> None:
    bodies = [start(NEW, newest), retract(SPIKE)]
    Explorer(store, with_an_old_claim, bodies).require(stays_retracted, 2, 40, deaths=False)


# ------------------------------------------------------------------------- known-wrong designs


@usual
def test_a_roll_back_without_fates_loses_saves(
    store: type[ProcessStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The specification's own procedure: what design note 0010 found."""
    monkeypatch.setattr(pruning, "doom", lambda _, doomed, __: Fates(list(doomed)))
    monkeypatch.setattr(starting, "take_over", lambda *_: None)
    bodies = [prune(), start(NEW, good), prune()]
    explorer = Explorer(store, two_saves, bodies, ROLLING_BACK)
    explorer.expect("nothing is published|is not whole|no start succeeds", nothing_is_lost, 2)


def test_a_roll_back_that_does_not_look_for_its_entry_again_loses_saves() -> None:
    """A prune that could make no fate has removed it, and looked, before the roll-back made one."""

    class Trusting(FullStore, InSightStore):
        def written(self, folder: str, names: list[str]) -> dict[str, float]:
            return dict.fromkeys(names, 0.0)

    explorer = Explorer(Trusting, two_saves, [prune(), start(NEW, good)], ROLLING_BACK)
    explorer.expect("is not whole", nothing_is_lost, 3)


def test_a_prune_without_fates_that_does_not_look_again_loses_saves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An execution took one over between its look and its removal."""
    monkeypatch.setattr(pruning, "read_fates", lambda *_: Fates())
    explorer = Explorer(FullStore, two_saves, [prune(), start(NEW, good)], ROLLING_BACK)
    explorer.expect("no start succeeds", nothing_is_lost, 2)


@usual
def test_fates_that_are_forgotten_while_the_saves_are_there_lose_them(
    store: type[ProcessStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another prune; the one that made them is slow."""

    def doom_in_vain(store: ProcessStore, doomed: list[Entry], stay: set[Entry]) -> Fates:
        fates = doom(store, doomed, stay)
        store.remove(FATES, store.names(FATES)[0])
        return fates

    monkeypatch.setattr(pruning, "doom", doom_in_vain)
    explorer = Explorer(store, two_saves, [prune(), start(NEW, good)], ROLLING_BACK)
    explorer.expect("no start succeeds", nothing_is_lost, 2)


class TakesOverLast(Execution):
    """Publishes what it rolls back to, and takes its save over only then."""

    def _chosen(self, choose: Choose, entries: list[Entry]) -> Entry | None:
        chosen = choose(entries)
        if chosen is None or chosen == entries[-1]:
            return chosen
        new = Entry(self.epoch, chosen.step, chosen.path)
        publish_entry(self.store, new, sync=False)
        take_over(self.store, chosen, new)
        return new


def test_taking_a_save_over_after_publishing_it_is_caught() -> None:
    """It tells its publication, and a prune has the save."""
    store = STORES["s3"]
    bodies = [prune(), start(NEW, good, like=TakesOverLast)]
    explorer = Explorer(store, two_saves, bodies, ROLLING_BACK)
    explorer.expect("is not whole", nothing_is_lost, 3)


@usual
def test_a_prune_that_ignores_claims_takes_what_is_loaded(
    store: type[ProcessStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "read_claims", lambda _: Claims((), (), ()))
    bodies = [start(NEW, newest), publish_late(LATE), prune()]
    explorer = Explorer(store, with_a_late_save, bodies)
    explorer.expect("is not whole|no start succeeds", nothing_is_lost, 2)


@usual
def test_a_prune_that_reads_the_claims_first_takes_what_is_loaded(
    store: type[ProcessStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims, then entries: it misses an execution that comes between the two."""

    def early_prune(store: MemoryStore) -> object:
        early = read_claims(store)
        with monkeypatch.context() as patched:
            patched.setattr(pruning, "read_claims", lambda _: early)
            return Pruner(store, 1, None, None, lambda _: None).run()

    bodies = [start(NEW, newest), publish_late(LATE), early_prune]
    explorer = Explorer(store, with_a_late_save, bodies)
    explorer.expect("is not whole|no start succeeds", nothing_is_lost, 2)


@usual
def test_ranks_that_each_resolve_load_two_saves(store: type[ProcessStore]) -> None:
    """Without a resume point."""

    def resolve(store: MemoryStore) -> Start:
        return Start(newest(entries(store)))

    bodies: list[Body] = [resolve, resolve, publish_late(LATE)]
    Explorer(store, with_a_late_save, bodies).expect("two choices", one_choice, 2)


class Overwriting(ProcessStore):
    """Known wrong: a resume point is written over."""

    def claim(self, folder: str, name: str, value: str) -> str:
        if name.endswith(".resume"):
            super().remove(folder, [name])
        return super().claim(folder, name, value)


def test_a_resume_point_that_is_overwritten_is_caught() -> None:
    bodies = [start(NEW, newest), start(NEW, newest), publish_late(LATE)]
    Explorer(Overwriting, with_a_late_save, bodies).expect("two choices", one_choice, 2)


class LooksOnce(Execution):
    """Known wrong: it claims, and doesn't look again who else has."""

    def claim(self) -> None:
        self._refuse_if_overtaken()
        self.store.claim(RUNS, claim_name(self.epoch), os.fsdecode(self.attempt))


def test_claiming_without_a_second_look_is_caught() -> None:
    bodies = [start(NEW, newest, like=LooksOnce), *TWO_EPOCHS[1:]]
    explorer = Explorer(STORES["posix"], two_saves, bodies)
    explorer.expect("the lower claimed after the greater", the_lower_learns_it, 2)


def with_claims_below_the_latest(root: MemoryStore) -> None:
    """Executions that claim, and one of an old program that doesn't and is above them."""
    for epoch in (OLD, NEW):
        root.claim(RUNS, claim_name(epoch), str(epoch))
    publish(root, Entry(NEW + 4, 1, "exec/unclaimed/step-1"))


def no_old_one_starts(root: MemoryStore, ran: Ran) -> str:
    """An execution below the greatest claim that was ever made."""
    return "an old execution started" if isinstance(ran.outcomes[1], Start) else ""


@pytest.mark.parametrize("is_wrong", [False, True])
def test_the_greatest_claim_is_what_keeps_old_executions_from_starting(
    monkeypatch: pytest.MonkeyPatch, *, is_wrong: bool
) -> None:
    """So a prune removes it never."""
    bodies = [prune(), start(OLD + 1, newest, "zombie")]
    explorer = Explorer(STORES["posix"], with_claims_below_the_latest, bodies)
    if not is_wrong:
        explorer.require(no_old_one_starts, 1, 5, deaths=False)
        return
    monkeypatch.setattr(Claims, "below", lambda self, _: list(self.names))
    explorer.expect("an old execution started", no_old_one_starts, 0)


def test_adopting_what_was_given_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person took it back, or a prune is still deleting it."""
    monkeypatch.setattr(starting, "is_given_up", lambda *_: False)
    bodies = [start(NEW, newest), retract(SPIKE)]
    explorer = Explorer(STORES["posix"], with_an_old_claim, bodies)
    explorer.expect("it came back", stays_retracted, 1)


def test_adopting_incomplete_saves_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old execution died while it wrote one."""

    def prepare(root: MemoryStore) -> None:
        with_an_old_claim(root)
        folder, name = parent_of(root.folder, LOST.path + b"/__0_0.distcp")
        folder.inner[name] = b"x"

    explorer = Explorer(STORES["posix"], prepare, [start(NEW, newest)])
    explorer.require(nothing_is_lost, 0, 1)
    monkeypatch.setattr(Framework, "judge", lambda *_: Verdict())
    explorer.expect("is not whole", nothing_is_lost, 0)
