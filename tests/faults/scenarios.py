"""What processes do while the power could fail, each as a function of a machine and a point.

A scenario in which one process is cut off, or interrupted by another, is a family: the *point* is
the call of that process before which it happens, from 1 on. A scenario returns whether its point
was reached, so that there may be further ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeAlias

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint.claims import NOTHING, claim_name, resume_name
from dispatch.checkpoint.completion import Framework
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.execution import Execution, Start
from dispatch.checkpoint.listing import PUB
from dispatch.checkpoint.lost import Saves
from dispatch.errors import AlreadyPublishedError, DispatchError, NotFoundError
from dispatch.testing.calls import Call, Rule
from tests.faults.machines import ROOT, Killed, Machine, Seen

Scenario: TypeAlias = Callable[[Machine, int], bool]
Choose: TypeAlias = Callable[[list[Entry]], Entry | None]

DCP = Saves(Framework.dcp, settle=0.0)

OLD, NEXT, LATEST = (Entry(1, step, f"exec/a/step-{step}") for step in (1, 2, 3))
DEEP = Entry(1, 0, "exec/a/own/step-0")
ONE_FILE = Entry(1, 1, "exec/b/step-1.pt")
COPY = Entry(1, 3, "copied/step-3")
PART = Entry(1, 1, LATEST.path + b"/model")
"""Names a part of a save that stays."""
RUNS, CLAIM = "runs", "1"
ALL = (OLD, NEXT, LATEST)
BACK = Entry(2, OLD.step, OLD.path)
"""What an execution with epoch 2 publishes when it rolls back to the oldest."""
AGAIN = Entry(2, 9, OLD.path)
"""A save that retention dooms, published anew as the latest of all."""


class Moment:
    """A rule that does something right before one call, once.

    Attributes:
        is_past: Whether that call came.
    """

    def __init__(self, number: int, action: Callable[[], object]) -> None:
        self.is_past = False
        self._number = number
        self._action = action

    def __call__(self, call: Call) -> None:
        if call.number >= self._number and not self.is_past:
            self.is_past = True
            self._action()


def die() -> None:
    """End a process right here."""
    raise Killed


def violations(
    scenario: Scenario,
    make_rules: Callable[[], list[Rule]] = list,
    store_type: type[PosixStore] = PosixStore,
) -> tuple[list[str], int]:
    """Run a scenario at each of its points until something is wrong.

    Returns:
        What was wrong, and how many different states were checked.
    """
    seen: Seen = set()
    point, is_more, problems = 0, True, list[str]()
    while is_more and not problems:
        point += 1
        machine = Machine(*make_rules(), store_type=store_type, seen=seen)
        is_more = scenario(machine, point)
        machine.look()
        problems = [f"point {point}: {problem}" for problem in machine.problems]
    return problems, len(seen)


def publish(machine: Machine, entry: Entry, *rules: Rule, sync: bool = False) -> None:
    """Publish, and note what the publisher is told."""
    try:
        machine.log(*rules).publish(entry.epoch, entry.step, entry.path, sync=sync)
    except AlreadyPublishedError:
        pass
    except NotFoundError:
        machine.refused.add(entry)
        return
    machine.must.add(entry)


def publish_beside_a_prune(machine: Machine, entry: Entry, *rules: Rule) -> None:
    """Publish what a prune may be removing: until it has returned it may name nothing."""
    machine.pending.add(entry)
    publish(machine, entry, *rules)
    machine.pending.discard(entry)


def prune(machine: Machine, *rules: Rule) -> None:
    """Prune; until that has returned a save that was published meanwhile may be aside."""
    machine.prunes_under_way += 1
    machine.log(*rules).prune(machine.keep)
    machine.prunes_under_way -= 1


def have(machine: Machine, *entries: Entry, must: set[Entry]) -> None:
    """Begin with durable publications of durable saves, and watch from then on."""
    for entry in entries:
        machine.have(entry)
    machine.must = must
    machine.disk.sync()
    machine.watch()


# -- publish


def publish_into_a_fresh_root(machine: Machine, _: int) -> bool:
    """There is no pub/ yet."""
    machine.save(OLD)
    have(machine, must=set())
    publish(machine, OLD)
    return False


def publish_beside_others(machine: Machine, _: int) -> bool:
    """There is a pub/ with an entry."""
    machine.keep = 2
    machine.save(LATEST)
    have(machine, OLD, must={OLD})
    publish(machine, LATEST)
    return False


def publish_after_a_dead_writer(machine: Machine, point: int) -> bool:
    """Another writer of the same publication died at any of its calls: its syncs are missing."""
    machine.save(OLD)
    have(machine, must=set())
    death = Moment(point, die)
    try:
        publish(machine, OLD, death)
    except Killed:
        publish(machine, OLD)
    return death.is_past


def publish_with_sync(machine: Machine, _: int) -> bool:
    """Nothing of the save is durable, not even the names that lead to it."""
    machine.are_saves_durable = False
    machine.have(COPY)
    machine.must = {COPY}
    machine.disk.sync()
    machine.save(DEEP)
    machine.watch()
    publish(machine, DEEP, sync=True)
    return False


def publish_one_file_with_sync(machine: Machine, _: int) -> bool:
    """The same with a save that is one file, into a fresh root."""
    machine.are_saves_durable = False
    machine.disk.sync()
    machine.save(ONE_FILE)
    machine.watch()
    publish(machine, ONE_FILE, sync=True)
    return False


def retract(machine: Machine, _: int) -> bool:
    """A publication that was taken back doesn't come back."""
    machine.keep = 2
    have(machine, OLD, LATEST, must={OLD})
    machine.log().retract(LATEST)
    machine.refused.add(LATEST)
    return False


# -- claims


def claim(machine: Machine, value: str, *rules: Rule) -> None:
    """Claim, and note what the claimer is told: all are told the same."""
    machine.offered.add(value)
    held = machine.log(*rules).store.claim(RUNS, CLAIM, value)
    if machine.claims.setdefault(CLAIM, held) != held:
        machine.problems.append(f"one was told {machine.claims[CLAIM]}, another {held}")


def claim_in_a_fresh_root(machine: Machine, _: int) -> bool:
    """There is no runs/ yet."""
    machine.disk.sync()
    machine.watch()
    claim(machine, "a")
    return False


def claim_beside_others(machine: Machine, _: int) -> bool:
    """There is a runs/ with a claim of another epoch."""
    machine.hold("0", "other")
    machine.disk.sync()
    machine.watch()
    claim(machine, "a")
    return False


def claim_after_a_dead_claimer(machine: Machine, point: int) -> bool:
    """Another claimer died at any of its calls: its syncs are missing, its claim may be there."""
    machine.disk.sync()
    machine.watch()
    death = Moment(point, die)
    try:
        claim(machine, "a", death)
    except Killed:
        claim(machine, "b")
    return death.is_past


def claim_beside_a_claim(machine: Machine, point: int) -> bool:
    """Another claims wholly at any call of the first."""
    machine.disk.sync()
    machine.watch()
    other = Moment(point, lambda: claim(machine, "b"))
    claim(machine, "a", other)
    return other.is_past


def remove_a_claim(machine: Machine, _: int) -> bool:
    """A claim that was taken back doesn't come back."""
    machine.hold("0", "other")
    machine.hold(CLAIM, "a")
    machine.disk.sync()
    del machine.claims[CLAIM]  # while it is being removed it may be there or not
    machine.watch()
    assert machine.log().store.remove(RUNS, [CLAIM]) == ([CLAIM], {})
    machine.claims[CLAIM] = None
    return False


# -- executions


def complete(machine: Machine, entry: Entry) -> None:
    """Write a save that PyTorch DCP has completed, and that nobody published."""
    machine.save(entry)
    machine.disk.write(ROOT + b"/" + entry.path + b"/.metadata", b"x")
    machine.save(entry)


def newest(entries: list[Entry]) -> Entry | None:
    """Resume from the latest."""
    return entries[-1] if entries else None


def oldest(entries: list[Entry]) -> Entry | None:
    """Roll back as far as can be."""
    return entries[0] if entries else None


def start(machine: Machine, choose: Choose, *rules: Rule, epoch: int = 2) -> Start | None:
    """Claim and start, and note what the execution is told; None where a prune was faster."""
    attempt = f"attempt {epoch}"
    execution = Execution(machine.log(*rules).store, epoch, attempt.encode())
    machine.offered |= {attempt, NOTHING}
    machine.offered |= {Entry(epoch, e.step, e.path).name() for e in ALL}
    execution.claim()
    machine.claims[claim_name(epoch)] = attempt
    try:
        started = execution.start(DCP, choose)
    except NotFoundError:
        return None
    resume = started.resume
    machine.claims[resume_name(epoch)] = NOTHING if resume is None else resume.name()
    machine.must |= set(started.adopted) | ({resume} if resume else set())
    return started


def starts_again(before: Machine, after: Machine) -> str:
    """Start the same execution once more, and the next one; say what is wrong, if anything."""
    promised = before.claims.get(resume_name(2))
    for epoch in (2, 3):
        try:
            started = start(after, newest, epoch=epoch)
        except DispatchError as error:
            return f"no start of epoch {epoch} succeeds: {error!r}"
        if started is None:
            return f"epoch {epoch} was told that there is no save"
        resume = started.resume
        if resume and after.disk.tree().at(ROOT + b"/" + resume.path) != before.saves[resume.path]:
            return f"epoch {epoch} loads {resume}, which isn't whole"
        if epoch == 2 and promised not in {None, resume.name() if resume else NOTHING}:
            return f"it loads {resume}, and another rank {promised}"
    return ""


def executions(machine: Machine, *published: Entry, must: set[Entry]) -> None:
    """Begin with an execution that claimed its epoch and published, and keep two."""
    machine.keep = 2
    machine.hold(claim_name(1), "a")
    machine.offered |= {entry.name() for entry in ALL}
    machine.again = lambda after: starts_again(machine, after)
    have(machine, *published, must=must)


def start_in_a_fresh_root(machine: Machine, _: int) -> bool:
    """There is nothing at all yet."""
    machine.again = lambda after: starts_again(machine, after)
    machine.disk.sync()
    machine.watch()
    start(machine, newest)
    return False


def start_and_adopt(machine: Machine, _: int) -> bool:
    """The old execution's watcher died before it published its last two saves."""
    complete(machine, NEXT)
    complete(machine, LATEST)
    executions(machine, OLD, must={OLD})
    machine.keep = 3
    started = start(machine, newest)
    assert started
    assert (started.resume, started.adopted) == (LATEST, [NEXT, LATEST])
    return False


def adopt_what_is_not_durable(machine: Machine, _: int) -> bool:
    """An adopted save is made durable first."""
    machine.are_saves_durable = False
    machine.hold(claim_name(1), "a")
    machine.offered |= {entry.name() for entry in ALL}
    machine.disk.sync()
    complete(machine, NEXT)
    machine.watch()
    started = start(machine, newest)
    assert started
    assert started.adopted == [NEXT]
    return False


def start_and_roll_back(machine: Machine, _: int) -> bool:
    """To the oldest save, which is published anew."""
    executions(machine, OLD, NEXT, LATEST, must={LATEST})
    started = start(machine, oldest)
    assert started
    assert started.resume == BACK
    return False


def start_after_a_dead_rank(machine: Machine, point: int) -> bool:
    """Another rank of the same execution died at any of its calls, rolling back."""
    executions(machine, OLD, NEXT, LATEST, must={LATEST})
    death = Moment(point, die)
    try:
        start(machine, oldest, death)
    except Killed:
        start(machine, newest)
    return death.is_past


def start_beside_a_rank(machine: Machine, point: int) -> bool:
    """Another rank starts wholly at any call of the first, and sees more publications."""
    machine.save(LATEST)
    executions(machine, OLD, NEXT, must={OLD, NEXT})
    machine.keep = 3

    def start_later() -> None:
        publish(machine, LATEST)
        start(machine, newest)

    other = Moment(point, start_later)
    start(machine, newest, other)
    return other.is_past


class DiesUnsynced:
    """A rule that ends a process after it has fixed its resume point, before that is synced."""

    def __init__(self) -> None:
        self._is_fixed = False

    def __call__(self, call: Call) -> None:
        if self._is_fixed and call.method == "fsync":
            die()
        self._is_fixed |= call.method == "symlink" and call.path.endswith(b".resume")


def start_beside_a_dying_rank(machine: Machine, point: int) -> bool:
    """Another rank fixes the resume point at any call of the first, and dies before it syncs."""
    executions(machine, OLD, NEXT, LATEST, must={LATEST})

    def fix_and_die() -> None:
        with contextlib.suppress(Killed):
            start(machine, oldest, DiesUnsynced())

    other = Moment(point, fix_and_die)
    start(machine, newest, other)
    return other.is_past


def roll_back_during_a_prune(machine: Machine, point: int) -> bool:
    """An execution starts wholly at any call of a prune, with the save that this removes."""
    executions(machine, OLD, NEXT, LATEST, must={LATEST})
    other = Moment(point, lambda: start(machine, oldest))
    prune(machine, other)
    return other.is_past


def prune_during_a_roll_back(machine: Machine, point: int) -> bool:
    """A prune runs wholly at any call of a start, before its claim or after it."""
    executions(machine, OLD, NEXT, LATEST, must={LATEST})
    other = Moment(point, lambda: prune(machine))
    start(machine, oldest, other)
    return other.is_past


def start_after_a_dead_prune(machine: Machine, point: int) -> bool:
    """It had decided what goes, and died at any of its calls; an execution rolls back then."""
    executions(machine, OLD, NEXT, LATEST, must={LATEST})
    death = Moment(point, die)
    try:
        prune(machine, death)
    except Killed:
        start(machine, oldest)
    return death.is_past


def prune_old_claims(machine: Machine, _: int) -> bool:
    """Those that nobody needs don't come back; the greatest stays."""
    machine.hold(claim_name(0), "before")
    machine.hold(resume_name(0), NOTHING)
    machine.hold(claim_name(1), "a")
    have(machine, OLD, LATEST, must={LATEST})
    del machine.claims[claim_name(0)], machine.claims[resume_name(0)]
    prune(machine)
    machine.claims |= {claim_name(0): None, resume_name(0): None}
    return False


def retract_beside_executions(machine: Machine, _: int) -> bool:
    """What was taken back isn't taken for lost by who starts after that."""
    complete(machine, LATEST)
    executions(machine, OLD, LATEST, must={OLD})
    machine.log().retract(LATEST)
    machine.refused.add(LATEST)

    def starts_without(after: Machine) -> str:
        started = start(after, newest)
        return "" if started and LATEST not in started.adopted else "it was adopted"

    machine.again = starts_without
    machine.look()
    return False


# -- prune


def prune_several(machine: Machine, _: int) -> bool:
    """Folders, a deeper one, a file, and one that overlaps what stays."""
    have(machine, DEEP, ONE_FILE, OLD, LATEST, PART, must={LATEST})
    prune(machine)
    return False


def prune_after_a_dead_prune(machine: Machine, point: int) -> bool:
    """Another prune died at any of its calls."""
    have(machine, OLD, LATEST, must={LATEST})
    death = Moment(point, die)
    try:
        prune(machine, death)
    except Killed:
        machine.prunes_under_way = 0
        prune(machine)
    return death.is_past


def prune_beside_a_prune(machine: Machine, point: int) -> bool:
    """Another prune runs wholly at any call of the first."""
    have(machine, OLD, LATEST, must={LATEST})
    other = Moment(point, lambda: prune(machine))
    prune(machine, other)
    return other.is_past


def publish_anew_during_a_prune(machine: Machine, point: int) -> bool:
    """A save that is being pruned is published under a new name, wholly, at any call."""
    machine.keep = 2
    have(machine, OLD, NEXT, LATEST, must={LATEST})
    other = Moment(point, lambda: publish_beside_a_prune(machine, AGAIN))
    prune(machine, other)
    return other.is_past


def publish_the_same_during_a_prune(machine: Machine, point: int) -> bool:
    """The very publication that is being pruned is made once more, wholly, at any call.

    Told "already published" its publisher may see it pruned; told "created", never.
    """
    have(machine, OLD, LATEST, must={LATEST})

    def publish_once_more() -> None:
        machine.pending.add(OLD)
        try:
            machine.log().publish(OLD.epoch, OLD.step, OLD.path)
            machine.must.add(OLD)
            machine.keep = 2  # for the prunes to come
        except (AlreadyPublishedError, NotFoundError):
            pass
        machine.pending.discard(OLD)

    other = Moment(point, publish_once_more)
    prune(machine, other)
    return other.is_past


def die_publishing_anew_during_a_prune(machine: Machine, point: int) -> bool:
    """A publisher that had seen the save makes its entry at any call, and dies then.

    Its entry may name nothing, since nobody was told of it; but a save that is put back for it
    must be whole.
    """
    machine.keep = 2
    have(machine, OLD, NEXT, LATEST, must={LATEST})
    machine.pending.add(AGAIN)
    other = Moment(point, lambda: machine.log().store.create(PUB, AGAIN.name()))
    prune(machine, other)
    return other.is_past


def prune_while_publishing_anew(machine: Machine, point: int) -> bool:
    """A prune runs wholly at any call of a publisher, which then finds its save gone."""
    machine.keep = 2
    have(machine, OLD, NEXT, LATEST, must={LATEST})
    other = Moment(point, lambda: prune(machine))
    publish_beside_a_prune(machine, AGAIN, other)
    return other.is_past


SCENARIOS: tuple[Scenario, ...] = (
    publish_into_a_fresh_root,
    publish_beside_others,
    publish_after_a_dead_writer,
    publish_with_sync,
    publish_one_file_with_sync,
    retract,
    claim_in_a_fresh_root,
    claim_beside_others,
    claim_after_a_dead_claimer,
    claim_beside_a_claim,
    remove_a_claim,
    start_in_a_fresh_root,
    start_and_adopt,
    adopt_what_is_not_durable,
    start_and_roll_back,
    start_after_a_dead_rank,
    start_beside_a_rank,
    start_beside_a_dying_rank,
    roll_back_during_a_prune,
    prune_during_a_roll_back,
    start_after_a_dead_prune,
    prune_old_claims,
    retract_beside_executions,
    prune_several,
    prune_after_a_dead_prune,
    prune_beside_a_prune,
    publish_anew_during_a_prune,
    publish_the_same_during_a_prune,
    die_publishing_anew_during_a_prune,
    prune_while_publishing_anew,
)
