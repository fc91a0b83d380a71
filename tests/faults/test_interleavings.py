"""Two processes on one root, in every order of their system calls with few switches.

Nothing here is left to chance: one process stops before its n-th call, for every n, and the other
runs, wholly or up to each of its own calls.
"""

from collections.abc import Callable

import pytest

from dispatch.checkpoint.completion import Framework
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import PUB, latest_of, read_names
from dispatch.checkpoint.watch import Watcher
from dispatch.errors import AlreadyPublishedError, NotFoundError, UnavailableError
from dispatch.testing.calls import Rule
from dispatch.testing.memory import MemoryStore
from dispatch.testing.tree import Folder
from tests.faults.machines import ROOT, Machine
from tests.faults.scenarios import (
    AGAIN,
    DEEP,
    LATEST,
    NEXT,
    OLD,
    ONE_FILE,
    Moment,
    prune,
    publish,
    publish_beside_a_prune,
)
from tests.faults.turns import take_turns

FIRST_FILE, LAST_FILE = (Entry(1, step, f"step-{step}.pt") for step in (1, 2))
"""Saves that take few calls to prune."""
NEWEST = Entry(2, 1, "exec/c/step-1")


def machine_with(*entries: Entry, keep: int = 1) -> Machine:
    """Make a machine that has these publications, of which the last ``keep`` are kept."""
    machine = Machine()
    for entry in entries:
        machine.have(entry)
    machine.must = set(entries[-keep:])
    machine.keep = keep
    return machine


def end_of(machine: Machine) -> str:
    """Say what is wrong once both processes have ended, if anything."""
    assert machine.prunes_under_way == 0
    tree = machine.disk.tree()
    rest = [path for path in tree.paths() if b".pruned-" in path]
    if rest:
        return f"left: {rest}"
    key = tree, machine.promises()
    if key not in CHECKED:
        CHECKED[key] = machine.problem_of(tree)
    return CHECKED[key]


CHECKED: dict[tuple[Folder, object], str] = {}
"""What was found wrong with a disk: most orders end with the same."""


def at_every_call(run: Callable[[int], tuple[Machine, bool]]) -> int:
    """Run at call 1, 2, … until there is no such call; the number of calls."""
    number, is_more = 0, True
    while is_more:
        number += 1
        machine, is_more = run(number)
        assert end_of(machine) == "", f"stopped before call {number}"
    return number - 1


def saves_left(machine: Machine) -> set[bytes]:
    """The saves that are still there."""
    root = machine.disk.tree().at(ROOT)
    assert isinstance(root, Folder)
    return {path for path in machine.saves if root.at(path) is not None}


def test_a_prune_at_any_call_of_another_leaves_what_one_would() -> None:
    """Losing every race to the other is no error, and nothing is left over."""

    def run(number: int) -> tuple[Machine, bool]:
        machine = machine_with(DEEP, ONE_FILE, OLD, LATEST)
        other = Moment(number, lambda: prune(machine))
        prune(machine, other)
        assert saves_left(machine) == {LATEST.path}
        return machine, other.is_past

    assert at_every_call(run) > 50


def test_two_prunes_that_take_turns_leave_what_one_would() -> None:
    """Each is stopped once in the middle of the other."""

    def turns(first: int, second: int) -> bool:
        machine = machine_with(FIRST_FILE, LAST_FILE)
        is_more = take_turns(
            lambda rule: prune(machine, rule), lambda rule: prune(machine, rule), first, second
        )
        assert end_of(machine) == "", f"switched at {first} and {second}"
        assert saves_left(machine) == {LAST_FILE.path}
        return is_more

    at_every_pair_of_calls(turns)


def at_every_pair_of_calls(turns: Callable[[int, int], bool]) -> None:
    """Take turns at each call of the first and each of the second, as far as they go."""
    first = 0
    while True:
        first, second = first + 1, 1
        while turns(first, second):
            second += 1
        if second == 1:
            return


@pytest.mark.parametrize("entry", [NEWEST, AGAIN], ids=["a new save", "a save being pruned"])
def test_a_publication_at_any_call_of_a_prune_stays_with_its_save(entry: Entry) -> None:
    """Whoever is told "published" has an entry and a whole save; or is told that it is gone."""

    def run(number: int) -> tuple[Machine, bool]:
        machine = machine_with(OLD, NEXT, LATEST, keep=2)
        machine.must = {LATEST}
        machine.save(entry)
        other = Moment(number, lambda: publish_beside_a_prune(machine, entry))
        prune(machine, other)
        assert entry in machine.must | machine.refused or not other.is_past
        return machine, other.is_past

    assert at_every_call(run) > 50


@pytest.mark.parametrize("entry", [NEWEST, AGAIN], ids=["a new save", "a save being pruned"])
def test_a_prune_at_any_call_of_a_publication_harms_nothing(entry: Entry) -> None:
    """The publisher finds out when its save was taken, and leaves no entry then."""

    def run(number: int) -> tuple[Machine, bool]:
        machine = machine_with(OLD, NEXT, LATEST, keep=2)
        machine.must = {LATEST}
        machine.save(entry)
        other = Moment(number, lambda: prune(machine))
        publish_beside_a_prune(machine, entry, other)
        return machine, other.is_past

    assert at_every_call(run) >= 8


@pytest.mark.parametrize("is_prune_first", [True, False])
def test_a_publisher_and_a_prune_that_take_turns_agree(*, is_prune_first: bool) -> None:
    """Each is stopped once in the middle of the other, at every pair of their calls."""

    def turns(first: int, second: int) -> bool:
        machine = machine_with(OLD, NEXT, LATEST, keep=2)
        machine.must = {LATEST}

        def pruner(rule: Rule) -> None:
            prune(machine, rule)

        def publisher(rule: Rule) -> None:
            publish_beside_a_prune(machine, AGAIN, rule)

        order = (pruner, publisher) if is_prune_first else (publisher, pruner)
        is_more = take_turns(*order, first, second)
        assert end_of(machine) == "", f"switched at {first} and {second}"
        return is_more

    at_every_pair_of_calls(turns)


def test_the_same_publication_during_its_own_prune_is_pruned_or_whole() -> None:
    """Told "created", it stays; told "already published", it goes as retention says."""

    def run(number: int) -> tuple[Machine, bool]:
        machine = machine_with(OLD, LATEST)

        def once_more() -> None:
            try:
                machine.must.add(machine.log().publish(OLD.epoch, OLD.step, OLD.path))
                machine.keep = 2
            except (AlreadyPublishedError, NotFoundError):
                pass

        other = Moment(number, once_more)
        machine.prunes_under_way += 1
        machine.log(other).prune(1)
        machine.prunes_under_way -= 1
        return machine, other.is_past

    assert at_every_call(run) > 50


def test_of_two_publishers_of_one_save_exactly_one_creates_the_entry() -> None:
    """Whichever is stopped, and wherever."""

    def run(number: int) -> tuple[Machine, bool]:
        machine = Machine()
        machine.save(OLD)
        told: list[str] = []

        def tell(*rules: Rule) -> None:
            try:
                machine.must.add(machine.log(*rules).publish(OLD.epoch, OLD.step, OLD.path))
                told.append("created")
            except AlreadyPublishedError as error:
                told.append(f"already {error.entry.step}")

        other = Moment(number, tell)
        tell(other)
        expected = ["already 1", "created"] if other.is_past else ["created"]
        assert sorted(told) == expected
        return machine, other.is_past

    assert at_every_call(run) >= 8


def test_of_two_watchers_exactly_one_publishes_each_save() -> None:
    """Several watchers over one folder are harmless."""

    def run(number: int) -> tuple[Machine, bool]:
        machine = machine_with(LATEST)
        saves = [Entry(5, step, f"exec/a/checkpoint-{step}") for step in (8, 9)]
        for save in saves:
            state = b'{"global_step": %d}' % save.step
            machine.disk.write(ROOT + b"/" + save.path + b"/model.safetensors", b"weights")
            machine.disk.write(ROOT + b"/" + save.path + b"/trainer_state.json", state)
            machine.save(save)
        published: list[Entry] = []

        def scan(*rules: Rule) -> None:
            watcher = Watcher(machine.log(*rules), Framework.hf, b"exec/a", epoch=5)
            published.extend(watcher.scan())

        other = Moment(number, scan)
        scan(other)
        assert sorted(published) == saves
        machine.must.update(saves)
        machine.keep = 3
        return machine, other.is_past

    assert at_every_call(run) > 20


def test_a_retraction_at_any_call_of_a_resolve_gives_the_answer_before_or_after_it() -> None:
    """And the other way round; never an error, never anything else."""

    def retract_meanwhile(number: int) -> tuple[Machine, bool]:
        machine = machine_with(OLD, LATEST)
        other = Moment(number, lambda: machine.log().retract(LATEST))
        assert machine.log(other).resolve() in {OLD, LATEST}
        machine.must = {LATEST, OLD} - ({LATEST} if other.is_past else set())
        machine.keep = 2
        return machine, other.is_past

    def resolve_meanwhile(number: int) -> tuple[Machine, bool]:
        machine = machine_with(OLD, LATEST)
        answers: list[Entry | None] = []
        other = Moment(number, lambda: answers.append(machine.log().resolve()))
        machine.log(other).retract(LATEST)
        assert set(answers) <= {OLD, LATEST}
        machine.must = {OLD}
        return machine, other.is_past

    assert at_every_call(retract_meanwhile) > 5
    assert at_every_call(resolve_meanwhile) > 3


class Churn:
    """Somebody who publishes and prunes while a folder is listed, so that one pass sees neither.

    Names are found greatest first. Right before the greatest is found, a greater one is made,
    behind the reader, and it is removed, ahead of the reader.

    Args:
        store: The store.
        times: How many passes are torn like that.
    """

    def __init__(self, store: MemoryStore, times: int) -> None:
        self.latest = 5
        self._store = store
        self._times = times
        self.put(self.latest)
        store.between = self._meanwhile

    def put(self, step: int) -> None:
        """Publish."""
        self._store.create(PUB, self.name(step))

    @staticmethod
    def name(step: int) -> str:
        """The name of a publication."""
        return Entry(1, step, "exec/a/step").name()

    def _meanwhile(self, name: str) -> None:
        if name == self.name(self.latest) and self._times:
            self._times -= 1
            self.latest += 1
            self.put(self.latest)
            self._store.remove(PUB, [name])


def step_of(entry: Entry | None) -> int | None:
    """What was answered."""
    return None if entry is None else entry.step


@pytest.mark.parametrize(("others", "wrong"), [([], None), ([1, 3], 3)], ids=["empty", "stale"])
def test_a_single_torn_pass_answers_what_never_was_the_latest(
    others: list[int], wrong: int | None
) -> None:
    """The known-wrong design: nothing at all, or a publication that was long overtaken."""
    store = MemoryStore()
    churn = Churn(store, times=1)
    for step in others:
        churn.put(step)
    names, whole = store.names(PUB)
    assert step_of(latest_of(names)) == wrong
    assert not whole


@pytest.mark.parametrize("others", [[], [1, 3]], ids=["alone", "beside others"])
@pytest.mark.parametrize("vouches", [True, False])
def test_a_torn_pass_is_never_answered_from(others: list[int], *, vouches: bool) -> None:
    """A second one contradicts it, also in a store that can't tell by itself."""
    store = MemoryStore()
    store.vouches = vouches
    churn = Churn(store, times=1)
    for step in others:
        churn.put(step)
    assert step_of(latest_of(read_names(store))) == churn.latest == 6


@pytest.mark.parametrize("times", range(1, 10))
def test_passes_that_are_torn_alike_do_not_vouch_for_each_other(times: int) -> None:
    """Each misses the latest of its time, so all find the same names: the least of them."""
    store = MemoryStore()
    churn = Churn(store, times)
    churn.put(1)
    assert step_of(latest_of(read_names(store))) == churn.latest == 5 + times


def test_ten_torn_passes_are_an_error_and_no_answer() -> None:
    """Above all not "nothing is published"."""
    store = MemoryStore()
    Churn(store, times=10)
    with pytest.raises(UnavailableError) as caught:
        read_names(store)
    assert caught.value.kind == "listing-torn"


def test_publishing_twice_is_told_apart_from_publishing_once() -> None:
    """The helper that all of this rests on notes what a publisher was told."""
    machine = machine_with(LATEST)
    machine.save(NEWEST)
    publish(machine, NEWEST)
    publish(machine, NEWEST)
    assert NEWEST in machine.must
    publish(machine, OLD)
    assert OLD in machine.refused
