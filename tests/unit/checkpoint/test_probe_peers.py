"""A probe of two nodes: who plays which part, what each measures, and how either may end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch.adapters.system.clock import SystemClock
from dispatch.adapters.system.racing import race
from dispatch.checkpoint.probe import Check, Probe, State, Surroundings, Topic
from dispatch.errors import InvalidInputError, UnavailableError
from tests.unit.checkpoint.probing import OWN, Probing, Switch, TroubledStore, not_made
from tests.unit.stores import InlinePatience, names_in, plain_store

WORD = "4103"
FOLDER = f".probe-{WORD}"


class Other:
    """The other node, which does its part in the pauses of the one under test.

    Args:
        probing: The one under test.
        acts: How many steps it lives; None: to its end.
    """

    def __init__(self, probing: Probing, acts: int | None = None) -> None:
        self.store = probing.store
        self.acts = acts
        self.answered = 0
        self.last = ""
        probing.clock.meanwhile = self.act

    def act(self) -> None:
        """Make one step, if there is one to make."""
        if self.acts != 0 and self.step() and self.acts is not None:
            self.acts -= 1

    def step(self) -> bool:
        """Whether there was one."""
        raise NotImplementedError

    def has(self, name: str) -> bool:
        return name.encode() in getattr(self.store.folder.inner.get(FOLDER.encode()), "inner", {})

    def add(self, name: str) -> bool:
        from dispatch.testing.memory import MemoryStore

        self.last = name
        return MemoryStore.create(self.store, FOLDER, name)

    def remove_all(self) -> None:
        del self.store.folder.inner[FOLDER.encode()]


class Second(Other):
    """The one that comes second."""

    def step(self) -> bool:
        if not self.has("second") and not self.last:
            return self.add("second")
        if self.has(f"ping-{self.answered}"):
            self.answered += 1
            return self.add(f"pong-{self.answered - 1}")
        return self.has("end") and not self.has("bye") and self.add("bye")


class First(Other):
    """The one that came first; it plays three rounds."""

    rounds = 3

    def step(self) -> bool:
        if self.last == "end":
            if self.has("bye"):
                self.last = "gone"
                self.remove_all()
            return self.last == "gone"
        if self.answered and not self.has(f"pong-{self.answered - 1}"):
            return False
        self.answered += 1
        return self.add("end" if self.answered > self.rounds else f"ping-{self.answered - 1}")


@pytest.fixture
def probing() -> Probing:
    """A probe that is to meet another."""
    return Probing(TroubledStore(), peer=WORD)


def nothing_is_left(probing: Probing) -> bool:
    return probing.store.probes() == []


# ----------------------------------------------------------------------------- both parts


def test_who_comes_first_sends_ten_names_and_removes_all(probing: Probing) -> None:
    other = Second(probing)
    checks = probing.run()
    assert checks[Topic.PEER].found == "this node is the first of two"
    assert "in 10 rounds" in checks[Topic.VISIBILITY].found
    assert {check.state for check in checks.values()} == {State.OK}
    assert other.answered == 10
    assert nothing_is_left(probing)


def test_who_comes_second_answers_and_waits_for_the_end(probing: Probing) -> None:
    probing.store.create(FOLDER, "first")
    First(probing)
    checks = probing.run()
    assert checks[Topic.PEER].found == "this node is the second of two"
    assert "in 3 rounds" in checks[Topic.VISIBILITY].found
    assert {check.state for check in checks.values()} == {State.OK}
    assert nothing_is_left(probing)


def test_its_own_folder_is_gone_before_they_meet(probing: Probing) -> None:
    """So that what either sees of others at its end was really left behind."""
    Second(probing)
    seen = []
    probing.store.before = lambda number, name, arguments: (
        seen.append(OWN.encode() in probing.store.probes())
        if name == "create" and arguments[0] == FOLDER
        else None
    )
    probing.run()
    assert seen
    assert not any(seen)


def test_where_names_take_long_fewer_rounds_are_enough(probing: Probing) -> None:
    """And it is warned of, by the longest."""
    other = Second(probing)
    pauses = [0]

    def slowly() -> None:
        pauses[0] += 1
        if pauses[0] % 100 == 0:
            other.act()

    probing.clock.meanwhile = slowly
    checks = probing.run()
    assert "in 2 rounds" in checks[Topic.VISIBILITY].found
    assert checks[Topic.VISIBILITY].state is State.WARN
    assert nothing_is_left(probing)


def test_a_pair_that_begins_anew_with_the_word_is_left_alone(probing: Probing) -> None:
    """The second of the old pair touches nothing once the first has ended it."""
    probing.store.create(FOLDER, "first")
    first = First(probing)

    def act() -> None:
        first.act()
        if first.last == "gone":
            first.add("first")

    probing.clock.meanwhile = act
    checks = probing.run()
    assert checks[Topic.CLEAN].state is State.OK
    assert probing.store.names(FOLDER)[0] == ["first"]


# ---------------------------------------------------------------------------- early ends


def test_a_node_that_nobody_joins_says_so_in_time(probing: Probing) -> None:
    checks = probing.run()
    assert checks[Topic.PEER].state is State.FAIL
    assert checks[Topic.PEER].found == ("no answer of another node with the word '4103' for 120 s")
    assert "srun -N2" in checks[Topic.PEER].advice
    assert not_made(checks) == {Topic.VISIBILITY}
    assert 120 < probing.clock.now < 130
    assert nothing_is_left(probing)


def test_a_third_node_is_refused_and_takes_nothing_away(probing: Probing) -> None:
    for name in ("first", "second", "ping-0"):
        probing.store.create(FOLDER, name)
    checks = probing.run()
    assert checks[Topic.PEER].state is State.FAIL
    assert "word '4103'" in checks[Topic.PEER].found
    assert FOLDER in checks[Topic.PEER].advice
    assert sorted(probing.store.names(FOLDER)[0]) == ["first", "ping-0", "second"]
    assert probing.store.probes() == [FOLDER.encode()]


@pytest.mark.parametrize("acts", range(12))
def test_when_the_second_is_killed_the_first_ends_and_leaves_nothing(
    probing: Probing, acts: int
) -> None:
    """At each of its steps."""
    Second(probing, acts)
    checks = probing.run()
    failed = checks[Topic.PEER if acts == 0 else Topic.VISIBILITY]
    assert (failed.state, "no answer of another node" in failed.found) == (State.FAIL, True)
    assert nothing_is_left(probing)


@pytest.mark.parametrize("acts", range(5))
def test_when_the_first_is_killed_the_second_ends_and_leaves_nothing(
    probing: Probing, acts: int
) -> None:
    """When that was after its end, all was measured."""
    probing.store.create(FOLDER, "first")
    First(probing, acts)
    checks = probing.run()
    expected = State.OK if acts == 4 else State.FAIL
    assert checks[Topic.VISIBILITY].state is expected
    assert checks[Topic.CLEAN].state is State.OK
    assert nothing_is_left(probing)


@pytest.mark.parametrize("acts", range(1, 11))
def test_when_the_second_ends_early_the_first_sees_it_at_once(probing: Probing, acts: int) -> None:
    """It has taken the folder along."""
    other = Second(probing, acts)

    def act() -> None:
        other.act()
        if other.acts == 0:
            other.remove_all()
            other.acts = -1
            probing.clock.meanwhile = lambda: None

    probing.clock.meanwhile = act
    checks = probing.run()
    met = Topic.VISIBILITY if acts > 1 else Topic.PEER
    assert checks[met].found == "the other node ended before this one"
    assert probing.clock.now < 10
    assert nothing_is_left(probing)


def test_a_stop_while_it_waits_ends_it_and_takes_the_folder_along(probing: Probing) -> None:
    probing.clock.meanwhile = lambda: setattr(probing.stop, "asked", True)
    checks = probing.run()
    assert Topic.PEER not in checks
    assert nothing_is_left(probing)


def test_an_error_of_the_store_ends_it(probing: Probing) -> None:
    Second(probing)

    def before(number: int, name: str, arguments: tuple[str, ...]) -> None:
        if name == "create" and arguments[1] == "ping-2":
            raise UnavailableError("the store is down")

    probing.store.before = before
    checks = probing.run()
    assert checks[Topic.VISIBILITY].found == "the store is down"
    assert nothing_is_left(probing)


def test_without_exclusive_creation_they_do_not_meet(probing: Probing) -> None:
    """Both would be first."""
    probing.store.after = lambda number, name, *_: True if name == "create" else None
    assert not_made(probing.run()) == {Topic.RACE, Topic.PEER, Topic.VISIBILITY}


# --------------------------------------------------------------------------------- words


@pytest.mark.parametrize("word", ["a", "4103", "A-b_9", "x" * 64])
def test_a_word_that_can_name_a_folder(word: str) -> None:
    Probing(TroubledStore(), peer=word)


@pytest.mark.parametrize("word", ["", "x" * 65, "a/b", "..", "a b", "é", "a.b", "a\n", "٣"])
def test_a_word_that_can_not_name_a_folder_everywhere(word: str) -> None:
    with pytest.raises(InvalidInputError, match="letters, digits, '-' and '_'"):
        Probing(TroubledStore(), peer=word)


# --------------------------------------------------------------------- two real ones at once


def start(root: Path, told: list[Check], stop: Switch, peer: str) -> threading.Thread:
    """Start a probe on a thread, with the real clock."""
    around = Surroundings(
        clock=SystemClock(), now=time.time, race=race, stop=stop, patience=InlinePatience()
    )
    probe = Probe(plain_store(root), around, os.urandom(8), 20.0, peer, told=told.append)
    thread = threading.Thread(target=probe.run)
    thread.start()
    return thread


def run_both(
    root: Path, during: Callable[[list[Switch]], object] = lambda _: None
) -> list[dict[Topic, Check]]:
    """Run two probes of one word to their ends."""
    told: list[list[Check]] = [[], []]
    stops = [Switch(), Switch()]
    threads = [start(root, mine, stop, WORD) for mine, stop in zip(told, stops, strict=True)]
    during(stops)
    for thread in threads:
        thread.join()
    return [{check.topic: check for check in mine} for mine in told]


def test_two_probes_at_once_measure_each_other_and_leave_nothing(root: Path) -> None:
    both = run_both(root)
    assert {checks[Topic.PEER].found.split()[4] for checks in both} == {"first", "second"}
    for checks in both:
        assert {t for t, check in checks.items() if check.state is State.FAIL} == set()
        assert "in 10 rounds" in checks[Topic.VISIBILITY].found
        assert checks[Topic.OTHERS].state is State.OK
    assert names_in(root) == []


def test_when_one_of_two_is_stopped_the_other_ends_and_nothing_is_left(root: Path) -> None:
    """At whichever moment: here, once both have come."""

    def stop_one(stops: list[Switch]) -> None:
        folder = root / FOLDER
        while not (folder / "ping-0").exists():
            pass
        stops[1].asked = True

    stayed, _ = run_both(root, stop_one)
    assert stayed[Topic.CLEAN].state is State.OK
    assert names_in(root) == []
