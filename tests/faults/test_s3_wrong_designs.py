"""Designs on S3 that are known to be wrong, each caught by the test that is meant to catch it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import pytest

from dispatch.adapters.s3 import S3Store, answers, listing, names, removal
from dispatch.adapters.s3.answers import Answer
from dispatch.adapters.s3.requests import Exists, Requests
from dispatch.adapters.s3.saves import has_key
from dispatch.checkpoint.prune import Pruner
from dispatch.errors import DispatchError
from dispatch.model.removal import Aside, Gone, Left
from dispatch.testing.s3fake import CONFLICT, S3FakeError
from tests.faults import test_s3_interleavings as interleavings
from tests.faults import test_s3_requests as requests
from tests.faults.bucket_machine import Benches, benches
from tests.faults.scenarios import LATEST, Moment
from tests.faults.test_s3_requests import CASES, Case


@pytest.fixture
def both() -> Iterator[Benches]:
    """None of what was found about the right design."""
    with benches() as made:
        yield made


@pytest.fixture
def paged() -> Iterator[Benches]:
    with benches(page_size=2) as made:
        yield made


@pytest.fixture(autouse=True)
def one_key_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in test_s3_requests."""
    monkeypatch.setattr(removal, "BATCH_KEYS_MAX", 1)


def case_of(operation: Callable[..., object]) -> Case:
    """The first case of an operation."""
    return next(case for case in CASES if case.operation is operation)


def test_taking_409_for_exists_is_caught(both: Benches) -> None:
    """Another write is under way: it may yet fail, and the entry may never be there."""
    wrong = {**answers.BY_CODE, "ConditionalRequestConflict": Answer.EXISTS}
    assert told_after_a_conflict(both) == ("created", "")
    with mock.patch.object(answers, "BY_CODE", wrong):
        told, problem = told_after_a_conflict(both)
    assert told == "already published"
    assert "a returned publication is gone" in problem


def told_after_a_conflict(both: Benches) -> tuple[str, str]:
    """Publish with a conflict; return what was told, and what is wrong then."""
    machine = requests.save_of_latest(both)
    conflict = Moment(2, partial(machine.bucket.let_fail, CONFLICT))  # of the PUT
    told = machine.publish(LATEST, conflict)
    machine.look()
    return told, machine.problem


def test_a_quoted_condition_is_caught() -> None:
    """Real stores take it for a tag that no object has, and overwrite."""

    def create(self: S3Store, folder: str, name: str) -> bool:
        try:
            self._requests.call("put_object", f"{folder}/{name}".encode(), IfNoneMatch='"*"')
        except Exists:
            return False
        return True

    with (
        mock.patch.object(names.S3Names, "create", create),
        pytest.raises(S3FakeError, match="only a bare"),
        benches() as both,
        pytest.raises(DispatchError),
    ):
        requests.publish(requests.save_of_latest(both))


def first_page(inner: Callable[..., Iterator[dict[str, Any]]]) -> Callable[..., Any]:
    """Believe that a listing has one page."""

    def pages(*args: Any, **parameters: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - passed on
        yield next(inner(*args, **parameters))

    return pages


def pages_up_to_a_fault(inner: Callable[..., Iterator[dict[str, Any]]]) -> Callable[..., Any]:
    """Take what came before a page failed."""

    def pages(*args: Any, **parameters: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - passed on
        try:
            yield from inner(*args, **parameters)
        except DispatchError:
            return

    return pages


def test_reading_one_page_is_caught(paged: Benches) -> None:
    """The latest is on the last one."""
    with (
        mock.patch.object(listing, "pages", first_page(listing.pages)),
        pytest.raises(AssertionError),
    ):
        interleavings.test_a_resolve_answers_what_was_the_latest_at_some_moment_of_it(paged)


def test_answering_from_the_pages_before_a_fault_is_caught(paged: Benches) -> None:
    """What was read is right, and isn't all."""
    with (
        mock.patch.object(listing, "pages", pages_up_to_a_fault(listing.pages)),
        pytest.raises((AssertionError, pytest.fail.Exception)),
    ):
        requests.test_a_page_that_never_comes_is_an_error_and_no_answer(paged, 2)


def delete_in_key_order(self: S3Store, aside: Aside) -> Left | Gone | None:
    """Delete a save as it was listed: its marker may be the last to go."""
    requests: Requests = self._requests
    folder = requests.location.key(aside.place) + "/"
    own = [folder.removesuffix("/")] if has_key(requests, aside.place) else []
    list(self._delete_batches([*listing.keys_below(requests, folder), *own]))
    return None


def delete_own_markers_first(self: S3Store, aside: Aside) -> Left | Gone | None:
    """Forget the markers of saves inside what is published as one."""
    requests: Requests = self._requests
    folder = requests.location.key(aside.place) + "/"
    own = [folder.removesuffix("/")] if has_key(requests, aside.place) else []
    below = listing.keys_below(requests, folder)
    markers = [key for key in below if key.removeprefix(folder) == "trainer_state.json"]
    for key in markers:
        self._delete(key)
    list(self._delete_batches([*(key for key in below if key not in markers), *own]))
    return None


@pytest.mark.parametrize("delete", [delete_in_key_order, delete_own_markers_first])
def test_a_wrong_order_of_deletions_is_caught(both: Benches, delete: Callable[..., object]) -> None:
    """A half-deleted save would look complete."""
    machine = requests.three_to_prune(both)
    with mock.patch.object(S3Store, "delete", delete):
        machine.prune()
    assert "is half deleted and looks complete" in machine.problem


def test_ignoring_what_a_batch_says_of_its_keys_is_caught(both: Benches) -> None:
    """It answers 200 all the same."""
    inner = removal.S3Removal._delete_batch

    def delete_batch(self: S3Store, keys: list[str]) -> list[str]:
        inner(self, keys)
        return []

    with (
        mock.patch.object(removal.S3Removal, "_delete_batch", delete_batch),
        pytest.raises(AssertionError),
    ):
        requests.test_keys_that_a_batch_leaves_are_reported_and_named(both)


def test_deleting_without_listing_once_more_is_caught(both: Benches) -> None:
    """What was published since the list before would go: more than the one known moment."""

    def settle_unseen(self: Pruner, asides: list[Aside], result: object) -> set[bytes]:
        return {aside.save for aside in asides if self.store.delete(aside) is None}

    with (
        mock.patch.object(Pruner, "_settle", settle_unseen),
        pytest.raises(AssertionError),
    ):
        interleavings.test_a_save_published_before_the_last_look_of_a_prune_stays(both)


def test_a_request_that_nobody_wrote_down_is_caught(both: Benches) -> None:
    """The enumerations would miss it."""
    inner = S3Store.has_save

    def twice(self: S3Store, save: bytes) -> bool:
        return inner(self, save) and inner(self, save)

    with mock.patch.object(S3Store, "has_save", twice), pytest.raises(AssertionError):
        requests.test_the_requests_are_those_that_are_written_down(case_of(requests.publish), both)
