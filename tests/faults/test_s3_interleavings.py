"""Two processes on one root on S3, in every order of their requests with few switches.

One of them stops before its n-th request, for every n, and the other runs, wholly or up to each
of its own requests. On POSIX a save is out of sight before a prune looks for the last time whether
it is published. On S3 nothing can be renamed, so there is one moment in which a save that is being
pruned can be published with success, and goes all the same: the tests say exactly which it is, and
that there is no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile

import pytest

from dispatch.checkpoint import Entry, Framework, Watcher
from dispatch.testing.s3fake import LoseReply
from tests.faults.bucket import Request, Rule
from tests.faults.bucket_machine import Benches, BucketMachine, benches, entries_in, is_whole
from tests.faults.scenarios import AGAIN, DEEP, LATEST, NEXT, OLD, ONE_FILE, Moment
from tests.faults.test_interleavings import NEWEST, at_every_pair_of_calls
from tests.faults.turns import Process, take_turns

WRITTEN = [Entry(7, step, f"exec/w/checkpoint-{step}") for step in (1, 2, 3)]


@pytest.fixture(scope="module")
def both() -> Iterator[Benches]:
    with benches() as made:
        yield made


@pytest.fixture(scope="module")
def paged() -> Iterator[Benches]:
    """The same on a server whose pages hold two keys."""
    with benches(page_size=2) as made:
        yield made


def at_every_request(run: Callable[[int], tuple[BucketMachine, bool]]) -> int:
    """Run at request 1, 2, … until there is no such request; the number of requests."""
    number, is_more = 0, True
    while is_more:
        number += 1
        machine, is_more = run(number)
        machine.look()
        assert machine.problem == "", f"stopped before request {number}"
    return number - 1


# -- two prunes


def test_a_prune_at_any_request_of_another_leaves_what_one_would(both: Benches) -> None:
    """Losing every race to the other is no error, and nothing is left over."""

    def run(number: int) -> tuple[BucketMachine, bool]:
        machine = BucketMachine(both, DEEP, ONE_FILE, OLD, LATEST)
        other = Moment(number, machine.prune)
        machine.prune(other)
        assert_only(machine, LATEST)
        return machine, other.is_past

    assert at_every_request(run) > 20


def test_two_prunes_that_take_turns_leave_what_one_would(both: Benches) -> None:
    """Each is stopped once in the middle of the other."""
    pairs = []

    def turns(first: int, second: int) -> bool:
        machine = BucketMachine(both, OLD, LATEST)
        is_more = take_turns(machine.prune, machine.prune, first, second)
        machine.look()
        assert machine.problem == "", f"switched at {first} and {second}"
        assert_only(machine, LATEST)
        pairs.append((first, second))
        return is_more

    at_every_pair_of_calls(turns)
    assert len(pairs) > 60


def in_turns(prune: Process, publish: Process, at: tuple[int, int], is_prune_first: bool) -> bool:
    """Let a prune and a publisher take turns, one of them first."""
    return take_turns(prune, publish, *at) if is_prune_first else take_turns(publish, prune, *at)


def assert_only(machine: BucketMachine, entry: Entry) -> None:
    """Compare what is left with one publication and its save."""
    content = machine.bucket.content()
    assert entries_in(content) == {entry}
    assert content.keys() == machine.saves[entry.path].keys() | {f"pub/{entry.name()}"}


# -- two publishers


def test_of_two_publishers_that_take_turns_exactly_one_creates_the_entry(both: Benches) -> None:
    """Whichever is stopped, and wherever."""

    def turns(first: int, second: int) -> bool:
        machine = BucketMachine(both)
        machine.save(OLD)
        told: list[str] = []

        def publisher(rule: Rule) -> None:
            told.append(machine.publish(OLD, rule))

        is_more = take_turns(publisher, publisher, first, second)
        machine.look()
        assert machine.problem == ""
        expected = ["already published", "created"] if len(told) > 1 else ["created"]
        assert sorted(told) == expected
        return is_more

    at_every_pair_of_calls(turns)


def test_of_two_watchers_exactly_one_publishes_each_save(both: Benches) -> None:
    """Several watchers over one folder are harmless."""

    def run(number: int) -> tuple[BucketMachine, bool]:
        machine = BucketMachine(both, LATEST)
        machine.keep = 4
        machine.pending = set(WRITTEN)
        for entry in WRITTEN:
            machine.save(entry)
        published: list[Entry] = []

        def scan(*rules: Rule) -> None:
            watcher = Watcher(machine.log(*rules), Framework.hf, b"exec/w", epoch=7)
            published.extend(watcher.scan())

        other = Moment(number, scan)
        scan(other)
        assert sorted(published) == WRITTEN
        machine.must.update(WRITTEN)
        machine.pending.clear()
        return machine, other.is_past

    assert at_every_request(run) == 1 + len(WRITTEN) * 5


# -- a publisher and a prune


@pytest.mark.parametrize("is_prune_first", [True, False])
def test_a_publication_of_another_save_never_loses_it(
    both: Benches, *, is_prune_first: bool
) -> None:
    """Whatever the prune does: at every pair of their requests."""

    def turns(first: int, second: int) -> bool:
        machine = BucketMachine(both, OLD, NEXT, LATEST, keep=2)
        machine.must = {LATEST}
        machine.save(NEWEST)

        def publisher(rule: Rule) -> None:
            assert machine.publish(NEWEST, rule) == "created"

        is_more = in_turns(machine.prune, publisher, (first, second), is_prune_first)
        machine.look()
        assert machine.problem == "", f"switched at {first} and {second}"
        assert is_whole(machine.bucket.content(), machine.saves[NEWEST.path])
        return is_more

    at_every_pair_of_calls(turns)


@pytest.mark.parametrize("is_prune_first", [True, False])
@pytest.mark.parametrize("entry", [AGAIN, OLD], ids=["under another name", "under its own"])
def test_a_save_that_is_being_pruned_can_be_published_in_vain_at_one_moment_only(
    both: Benches, entry: Entry, *, is_prune_first: bool
) -> None:
    """Known to be weak: the entry is made after the prune's last look, and the save is still there.

    At every other moment the publisher is told the truth: its save stays whole, or it fails.
    """
    lost, kept = set(), 0

    def turns(first: int, second: int) -> bool:
        nonlocal kept
        machine = BucketMachine(both, OLD, NEXT, LATEST, keep=2)
        machine.must = {LATEST}
        told = []

        def publisher(rule: Rule) -> None:
            machine.pending.add(entry)
            told.append(machine.publish(entry, rule))
            machine.must.discard(entry)  # it may go as retention says
            machine.pending.add(entry)  # and name nothing: see below

        is_more = in_turns(machine.prune, publisher, (first, second), is_prune_first)
        machine.look()
        where = f"switched at {first} and {second}"
        assert machine.problem == "", where
        content = machine.bucket.content()
        is_lost = entry in entries_in(content) and not is_whole(content, machine.saves[OLD.path])
        assert is_lost == (told == ["created"] and in_vain(machine)), where
        if is_lost:
            lost.add((first, second))
            assert machine.log().resolve() == max(entry, LATEST)
        elif told == ["created"] and entry == AGAIN:
            kept += 1
            assert entry in entries_in(content)
        return is_more

    at_every_pair_of_calls(turns)
    assert lost
    assert kept or entry == OLD


def test_a_save_published_before_the_last_look_of_a_prune_stays(both: Benches) -> None:
    """The last look comes right before the keys are listed to be deleted."""
    machine = BucketMachine(both, OLD, NEXT, LATEST, keep=2)
    machine.prune()
    first_key = next(
        request.number for _, request in machine.bucket.history if request.deletes_a_save
    )
    last_look = first_key - 3  # the save's keys are listed, and looked for as a key, in between
    for number in range(1, last_look + 1):
        machine = BucketMachine(both, OLD, NEXT, LATEST, keep=2)
        machine.must = {LATEST}
        other = Moment(number, partial(machine.publish, AGAIN))
        machine.prune(other)
        machine.look()
        assert (other.is_past, machine.problem) == (True, ""), f"published at {number}"
        assert AGAIN in machine.must


@pytest.mark.parametrize(("entry", "is_kept"), [(AGAIN, True), (OLD, False)], ids=["last", "first"])
def test_on_several_pages_the_moment_begins_when_the_entrys_own_place_is_passed(
    paged: Benches, entry: Entry, *, is_kept: bool
) -> None:
    """Between the pages of the last look: an entry of the second is seen, one of the first not."""

    def begin() -> BucketMachine:
        machine = BucketMachine(paged, OLD, NEXT, LATEST, NEWEST, keep=3)
        machine.must = {LATEST, NEWEST}
        return machine

    first = begin()
    first.prune()
    second_page = [
        request.number
        for request in before_it_deletes([request for _, request in first.bucket.history])
        if request.path == b"pub/" and request.is_further
    ][-1]
    machine = begin()

    def publish() -> None:
        assert machine.publish(entry) == "created"
        machine.must.discard(entry)
        machine.pending.add(entry)

    machine.prune(Moment(second_page, publish))
    content = machine.bucket.content()
    assert entry in entries_in(content)
    assert is_whole(content, machine.saves[OLD.path]) == is_kept


def in_vain(machine: BucketMachine) -> bool:
    """Whether the entry was made, and its save looked at, after the prune's last look at pub/.

    And before the last of the save's keys was deleted.
    """
    history = machine.bucket.history
    [publisher] = {process for process, request in history if is_publication(request)}
    ours = [place for place, (process, _) in enumerate(history) if process == publisher]
    others = {n: request for n, (process, request) in enumerate(history) if process != publisher}
    looks = before_it_deletes(list(others.values()))
    last_look = max(
        (n for n, r in others.items() if r in looks and is_listing_of_pub(r)), default=-1
    )
    last_key = max((n for n, request in others.items() if request.deletes_a_save), default=-1)
    put = next(n for n in ours if is_publication(history[n][1]))
    return -1 < last_look < put and ours[-1] < last_key


def before_it_deletes(requests: list[Request]) -> list[Request]:
    """The requests of a prune before it deletes the first save: its last look at pub/ is there."""
    return list(takewhile(lambda request: not request.deletes_a_save, requests))


def is_publication(request: Request) -> bool:
    return request.method == "PutObject" and request.path.startswith(b"pub/")


def is_listing_of_pub(request: Request) -> bool:
    return (request.method, request.path) == ("ListObjectsV2", b"pub/")


def test_a_watcher_that_starts_during_a_prune_never_costs_the_latest(both: Benches) -> None:
    """It may publish a save that is going: an old one, which no resolve answers with.

    The next prune removes the entry.
    """
    in_vain_at = set()

    def run(number: int) -> tuple[BucketMachine, bool]:
        machine = BucketMachine(both, *WRITTEN)
        machine.pending = set(WRITTEN[:-1])

        def scan() -> None:
            Watcher(machine.log(), Framework.hf, b"exec/w", epoch=7).scan()

        other = Moment(number, scan)
        machine.prune(other)
        content = machine.bucket.content()
        again = entries_in(content) - {WRITTEN[-1]}
        if any(not is_whole(content, machine.saves[entry.path]) for entry in again):
            in_vain_at.add(number)
        assert machine.log().resolve() == WRITTEN[-1]
        machine.prune()
        assert entries_in(machine.bucket.content()) == {WRITTEN[-1]}
        return machine, other.is_past

    requests = at_every_request(run)
    assert in_vain_at
    assert in_vain_at < set(range(1, requests + 1))


def test_a_lost_answer_can_leave_an_entry_that_its_publisher_was_refused(both: Benches) -> None:
    """Known to be weak: whose entry it is can't be told after a lost answer, so it stays.

    It takes the moment above and a lost answer at once; then the save goes before the second look.
    """
    last_look = listings_of_pub(both)[-1]
    machine = BucketMachine(both, OLD, NEXT, LATEST, keep=2)
    machine.must = {LATEST}
    machine.pending.add(AGAIN)
    told = []

    def publisher(rule: Rule) -> None:
        lose = Moment(2, lambda: machine.bucket.let_fail(LoseReply()))  # of its PUT
        told.append(machine.publish(AGAIN, lose, rule))

    assert take_turns(machine.prune, publisher, last_look + 1, 3)
    assert told == ["refused"]
    assert AGAIN in entries_in(machine.bucket.content())


def listings_of_pub(both: Benches) -> list[int]:
    """At which of its requests a prune of OLD lists the publications."""
    machine = BucketMachine(both, OLD, NEXT, LATEST, keep=2)
    machine.prune()
    looks = before_it_deletes([request for _, request in machine.bucket.history])
    return [request.number for request in looks if is_listing_of_pub(request)]


# -- readers


def test_a_resolve_answers_what_was_the_latest_at_some_moment_of_it(paged: Benches) -> None:
    """A publication and a prune at any of its requests: on pages before and behind it."""

    def run(number: int) -> tuple[BucketMachine, bool]:
        machine = BucketMachine(paged, DEEP, ONE_FILE, OLD, NEXT, LATEST)
        machine.save(NEWEST)

        machine.must.clear()  # the prune may begin at once

        def publish_and_prune() -> None:
            machine.publish(NEWEST)
            machine.prune()

        other = Moment(number, publish_and_prune)
        answer = machine.log(other).resolve()
        assert answer in ({LATEST, NEWEST} if other.is_past else {LATEST})
        return machine, other.is_past

    assert at_every_request(run) == 3


def test_a_prune_of_many_pages_keeps_what_is_published_at_any_request(paged: Benches) -> None:
    """Its listings are no single moments either."""

    def run(number: int) -> tuple[BucketMachine, bool]:
        machine = BucketMachine(paged, DEEP, ONE_FILE, OLD, NEXT, LATEST)
        machine.must.clear()
        machine.save(NEWEST)
        other = Moment(number, lambda: machine.publish(NEWEST))
        machine.prune(other)
        return machine, other.is_past

    assert at_every_request(run) > 30


def test_a_retraction_at_any_request_of_a_resolve_gives_the_answer_before_or_after_it(
    paged: Benches,
) -> None:
    """Never an error, never anything else."""

    def run(number: int) -> tuple[BucketMachine, bool]:
        machine = BucketMachine(paged, OLD, NEXT, LATEST)
        machine.must.clear()
        machine.keep = 2
        other = Moment(number, lambda: machine.log().retract(LATEST))
        assert machine.log(other).resolve() in {NEXT, LATEST}
        return machine, other.is_past

    assert at_every_request(run) == 2
