"""What processes do while the power could fail, each as a function of a machine and a point.

A scenario in which one process is cut off, or interrupted by another, is a family: the *point* is
the call of that process before which it happens, from 1 on. A scenario returns whether its point
was reached, so that there may be further ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import PUB
from dispatch.errors import AlreadyPublishedError, NotFoundError
from dispatch.testing.calls import Call, Rule
from tests.faults.machines import Killed, Machine, Seen

Scenario: TypeAlias = Callable[[Machine, int], bool]

OLD, NEXT, LATEST = (Entry(1, step, f"exec/a/step-{step}") for step in (1, 2, 3))
DEEP = Entry(1, 0, "exec/a/own/step-0")
ONE_FILE = Entry(1, 1, "exec/b/step-1.pt")
COPY = Entry(1, 3, "copied/step-3")
PART = Entry(1, 1, LATEST.path + b"/model")
"""Names a part of a save that stays."""
RUNS, CLAIM = "runs", "1"
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
    prune_several,
    prune_after_a_dead_prune,
    prune_beside_a_prune,
    publish_anew_during_a_prune,
    publish_the_same_during_a_prune,
    die_publishing_anew_during_a_prune,
    prune_while_publishing_anew,
)
