"""Each request of each operation on S3 goes wrong: before its effect, after it, or in its answer.

The requests of each operation are written down, so that one more (or one less) is noticed here and
the enumeration is known to be whole. A batch of deletions is no single step on a real store: here
each of its keys is a batch of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from dispatch.adapters.s3 import removal
from dispatch.checkpoint import Entry, Framework, Watcher
from dispatch.errors import NotFoundError, UnavailableError
from dispatch.testing.s3fake import (
    CONFLICT,
    SLOW_DOWN,
    KeepKeys,
    LoseReply,
    Refuse,
    Reset,
)
from tests.faults.bucket import Keyed, Request, Rule
from tests.faults.bucket_machine import Benches, BucketMachine, benches, entries_in, is_whole
from tests.faults.machines import Killed
from tests.faults.scenarios import LATEST, NEXT, OLD, ONE_FILE, Moment, die
from tests.faults.test_interleavings import NEWEST
from tests.unit.adapters.s3.roots import PREFIX

Told = object
Operation = Callable[..., Told]

WHOLE = Entry(1, 0, "exec/d")
"""An execution's whole folder, published by hand; there are saves in it."""
FIRST, SECOND = (Entry(7, step, f"exec/e/checkpoint-{step}") for step in (1, 2))

HEAD, GET, PUT = "HeadObject", "GetObject", "PutObject"
LIST, DELETE, BATCH = "ListObjectsV2", "DeleteObject", "DeleteObjects"

FAULTS: dict[str, Refuse | Reset | LoseReply] = {
    "lost answer": LoseReply(),
    "reset": Reset(),
    "409": CONFLICT,
    "503": SLOW_DOWN,
}


@pytest.fixture(scope="module")
def both() -> Iterator[Benches]:
    with benches() as made:
        yield made


@pytest.fixture(scope="module")
def paged() -> Iterator[Benches]:
    """The same on a server whose pages hold two keys."""
    with benches(page_size=2) as made:
        yield made


@pytest.fixture(autouse=True)
def one_key_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real store is free to do a part of a batch."""
    monkeypatch.setattr(removal, "BATCH_KEYS_MAX", 1)


# -- the operations


def publish(machine: BucketMachine, *rules: Rule) -> Told:
    return machine.publish(LATEST, *rules)


def retract(machine: BucketMachine, *rules: Rule) -> Told:
    machine.must.discard(LATEST)
    try:
        machine.log(*rules).retract(LATEST)
    except NotFoundError as error:
        return error.kind
    return "retracted"


def prune(machine: BucketMachine, *rules: Rule) -> Told:
    return machine.prune(*rules).folders


def scan(machine: BucketMachine, *rules: Rule) -> Told:
    machine.pending |= {FIRST, SECOND}
    log = machine.log(*rules)
    watcher = Watcher(log, Framework.hf, b"exec/e", epoch=7)
    watcher.scan()
    machine.must |= {FIRST, SECOND}
    machine.pending -= {FIRST, SECOND}
    return "scanned"


def resolve(machine: BucketMachine, *rules: Rule) -> Told:
    return machine.log(*rules).resolve()


# -- where they begin


def save_of_latest(benches: Benches) -> BucketMachine:
    machine = BucketMachine(benches, OLD)
    machine.keep = 2
    machine.save(LATEST)
    return machine


def two_published(benches: Benches) -> BucketMachine:
    machine = BucketMachine(benches, OLD, LATEST)
    machine.keep = 2
    machine.must = {OLD, LATEST}
    return machine


def three_to_prune(benches: Benches) -> BucketMachine:
    """A file, a folder, and a folder of saves."""
    machine = BucketMachine(benches, ONE_FILE, OLD, LATEST)
    machine.bucket.put(f"pub/{WHOLE.name()}")
    for step in (1, 2):
        machine.save(Entry(1, step, f"{WHOLE.save}/checkpoint-{step}"))
    return machine


def two_complete(benches: Benches) -> BucketMachine:
    machine = BucketMachine(benches, LATEST)
    machine.keep = 3
    machine.save(FIRST)
    machine.save(SECOND)
    return machine


LOOK = [LIST]
LOOK_AT_FILE = [LIST, HEAD]  # keys below it, and whether it is a key itself
PUBLISH = [*LOOK, PUT, *LOOK]
SCAN_ONE = [GET, LIST, *PUBLISH]
KEYS = [LIST, HEAD]
DELETE_MARKERS_THEN = {1: [DELETE, *[BATCH] * 3], 2: [DELETE, DELETE, *[BATCH] * 5], 0: [BATCH] * 2}
"""By how many markers there are: each, each other key, and the folder's own."""

PRUNE = [
    LIST,  # publications
    LIST,  # claims
    *[PUT, PUT, PUT],  # fates
    *[LIST, DELETE, DELETE, DELETE],  # which of them are there, and away
    LIST,  # publications again
    *[*LOOK, *LOOK, *LOOK_AT_FILE],  # each save
    *[LIST, LIST, LIST, LIST],  # leftovers: exec/ and each folder in it
    LIST,  # publications, for the last time
    *[*KEYS, *DELETE_MARKERS_THEN[2]],
    *[*KEYS, *DELETE_MARKERS_THEN[1]],
    *[*KEYS, *DELETE_MARKERS_THEN[0]],
    *[LIST, LIST],  # fates, and publications once more
    *[LIST, DELETE, DELETE, DELETE],  # which fates are there, and away
]


@dataclass(frozen=True, slots=True)
class Case:
    """An operation, where it begins, and every request that it makes."""

    operation: Operation
    begin: Callable[[Benches], BucketMachine]
    requests: list[str]

    def __str__(self) -> str:
        return f"{self.operation.__name__} with {self.begin.__name__}"


CASES = [
    Case(publish, save_of_latest, PUBLISH),
    Case(publish, two_published, PUBLISH),
    Case(retract, two_published, [HEAD, PUT, HEAD, DELETE]),
    Case(scan, two_complete, [LIST, *SCAN_ONE, *SCAN_ONE]),
    Case(resolve, two_published, [LIST]),
    Case(prune, three_to_prune, PRUNE),
]

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def undisturbed(case: Case, both: Benches) -> tuple[Told, Keyed]:
    """Say what an operation answers and leaves when nothing goes wrong."""
    machine = case.begin(both)
    told = case.operation(machine)
    machine.look()
    assert machine.problem == ""
    return told, machine.bucket.content()


def die_after(number: int) -> Rule:
    """Let a process die when a request of its has had its effect, and before it knows."""

    def rule(request: Request) -> None:
        if request.is_done and request.number == number:
            die()

    return rule


@every_case
def test_the_requests_are_those_that_are_written_down(case: Case, both: Benches) -> None:
    """Else the tests below leave some out."""
    undisturbed(case, both)
    assert [request.method for _, request in both.shared.history] == case.requests


@every_case
@pytest.mark.parametrize("is_done", [False, True], ids=["before its effect", "after it"])
def test_a_process_that_dies_at_any_request_breaks_no_promise(
    case: Case, both: Benches, *, is_done: bool
) -> None:
    """And the same operation, done once more by another process, ends as it would have."""
    _, expected = undisturbed(case, both)
    for number in range(1, len(case.requests) + 1):
        machine = case.begin(both)
        begun = machine.bucket.content()
        death = die_after(number) if is_done else Moment(number, die)
        with pytest.raises(Killed):
            case.operation(machine, death)
        case.operation(machine)
        machine.look()
        where = f"death at {number}, {case.requests[number - 1]}"
        assert machine.problem == "", where
        content = machine.bucket.content()
        assert entries_in(content) == entries_in(expected), where
        assert machine.log().resolve() == max(entries_in(expected)), where
        left = {key for key in content.keys() - expected.keys() if not key.startswith("fates/")}
        assert expected.items() <= content.items(), where
        assert left <= begun.keys(), where
        assert not left or case.operation is prune, where


def test_what_a_dead_prune_leaves_is_whole_or_has_no_marker(both: Benches) -> None:
    """Nobody prunes it any more, since no entry names it. It costs space, and is no save."""
    [case] = [case for case in CASES if case.operation is prune]
    left: dict[str, set[int]] = {"whole": set(), "half": set(), "gone": set()}
    for number in range(1, len(case.requests) + 1):
        machine = case.begin(both)
        with pytest.raises(Killed):
            case.operation(machine, Moment(number, die))
        case.operation(machine)
        content = machine.bucket.content()
        old = machine.saves[OLD.path]
        there = {key for key in old if key in content}
        kind = "whole" if is_whole(content, old) else "half" if there else "gone"
        left[kind].add(number)
        if kind == "half":
            assert f"{OLD.save}/trainer_state.json" not in there
    assert all(left.values())


@every_case
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_request_changes_no_outcome(case: Case, both: Benches, fault: str) -> None:
    """The request is made once more. After a lost answer a publisher is told "already"."""
    told, expected = undisturbed(case, both)
    for number in range(1, len(case.requests) + 1):
        machine = case.begin(both)
        rule = Moment(number, partial(machine.bucket.let_fail, FAULTS[fault]))
        answer = case.operation(machine, rule)
        where = f"{fault} at {number}, {case.requests[number - 1]}"
        assert (rule.is_past, machine.problem) == (True, ""), where
        assert machine.bucket.content() == expected, where
        is_own = fault == "lost answer" and case.requests[number - 1] == PUT
        is_claim = is_own and case.operation in {prune, retract}  # then its value is read
        assert len(machine.bucket.history) == len(case.requests) + 1 + is_claim, where
        assert answer == ("already published" if is_own and told == "created" else told), where


@pytest.mark.parametrize("point", range(1, len(PUBLISH) + 1))
def test_an_entry_of_a_dead_publisher_is_published_for_the_next_one(
    both: Benches, point: int
) -> None:
    """Who finds it is told "already published", and that holds."""
    machine = save_of_latest(both)
    with pytest.raises(Killed):
        machine.publish(LATEST, Moment(point, die))
    machine.pending.discard(LATEST)
    assert machine.publish(LATEST) == (
        "created" if point <= PUBLISH.index(PUT) + 1 else "already published"
    )
    machine.look()
    assert machine.problem == ""


def test_keys_that_a_batch_leaves_are_reported_and_named(both: Benches) -> None:
    """A batch answers with success, whatever became of its keys."""
    batches = [n for n, method in enumerate(PRUNE, start=1) if method == BATCH]
    for number in batches:
        machine = three_to_prune(both)
        refused = {f"{PREFIX}/{key}": "AccessDenied" for key in machine.bucket.content()}
        keep = Moment(number, partial(machine.bucket.let_fail, KeepKeys(refused)))
        result = machine.log(keep).prune(1)
        left = machine.bucket.content().keys() - {f"pub/{LATEST.name()}"}
        left -= machine.saves[LATEST.path].keys()
        left = {key for key in left if not key.startswith("fates/")}
        failed = [skip for skip in result.skipped if skip.failed]
        assert keep.is_past
        assert len(failed) == len(left), number
        assert all(key in failed[0].reason for key in left)


@pytest.mark.parametrize("page", [1, 2, 3])
def test_a_page_that_never_comes_is_an_error_and_no_answer(paged: Benches, page: int) -> None:
    """Of five publications on three pages; a prune removes nothing then."""
    for operation in (resolve, prune):
        machine = BucketMachine(paged, ONE_FILE, OLD, NEXT, LATEST, NEWEST)
        begun = machine.bucket.content()

        def fail(request: Request, machine: BucketMachine = machine) -> None:
            if not request.is_done and request.number >= page:
                machine.bucket.let_fail(SLOW_DOWN)

        with pytest.raises(UnavailableError):
            operation(machine, fail)
        assert machine.bucket.content() == begun
