"""The state machine on S3, with a trouble at each call in turn; and designs known to be wrong.

Hypothesis would find these, too, after hundreds of examples. Here the machine is driven by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from unittest import mock

import pytest

from dispatch.adapters.s3 import S3Store, answers, listing, removal
from dispatch.adapters.s3.answers import Answer
from dispatch.checkpoint import Entry
from tests.faults.bucket import SharedBucket, shared_bucket
from tests.faults.test_s3_wrong_designs import delete_in_key_order, first_page
from tests.property.machine import LogMachine, Save, Trouble
from tests.property.worlds import Bucket


@pytest.fixture
def bucket() -> Iterator[SharedBucket]:
    with shared_bucket(page_size=2) as made:
        yield made


@pytest.fixture(autouse=True)
def one_key_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real store is free to do a part of a batch."""
    monkeypatch.setattr(removal, "BATCH_KEYS_MAX", 1)


class Unforgiving(Bucket):
    """Whatever others publish during a prune must stay whole."""

    def has_looked_since(self) -> bool:
        return True


def complaint_of(world: Bucket, trouble: Trouble) -> str:
    """Publish three saves and prune, with a trouble in each; return what the machine says."""
    machine = LogMachine(world)
    saves = [Save(machine.new_execution(1), step) for step in (1, 2, 3)]
    try:
        for save in saves:
            machine.known.append(save)
            machine.write(save)
            entry = Entry(save.execution.epoch, save.step, save.path)
            of_a_publisher = trouble if trouble.kind == "fault" else Trouble("none", 0, 1)
            machine.publish_entry(entry, of_a_publisher, save)
            machine.what_was_reported_is_listed_and_nothing_else_is()
        machine.the_latest_is_the_greatest()
        machine.prune(1, None, trouble, saves[0])
        machine.what_is_published_is_whole()
        machine.a_save_is_whole_or_out_of_sight()
    except AssertionError as error:
        return str(error)
    return ""


def complaints_of(make: Callable[[], Bucket], kind: str) -> list[str]:
    """Let a trouble come at each call of all that."""
    calls = range(make().calls_of_prune(3, 2))
    return [complaint_of(make(), Trouble(kind, call, keep=2)) for call in calls]


@pytest.mark.parametrize("kind", ["crash", "fault", "publish"])
def test_the_machine_has_nothing_to_say_of_the_right_design(
    bucket: SharedBucket, kind: str
) -> None:
    """Whatever happens, at each call."""
    assert set(complaints_of(lambda: Bucket(bucket), kind)) == {""}


def test_the_machine_forgives_nothing_but_the_one_moment_that_is_known(
    bucket: SharedBucket,
) -> None:
    """At every look of a prune: what the right machine forgives, this one finds."""
    complaints = complaints_of(lambda: Unforgiving(bucket), "publish")
    assert any("names nothing" in complaint for complaint in complaints)
    assert not all(complaints)


CODES = {**answers.BY_CODE, "ConditionalRequestConflict": Answer.EXISTS}
WRONG = [
    (partial(mock.patch.object, answers, "BY_CODE", CODES), "fault", "a publication was lost"),
    (partial(mock.patch.object, S3Store, "delete", delete_in_key_order), "crash", "looks whole"),
    (
        partial(mock.patch.object, listing, "pages", first_page(listing.pages)),
        "none",
        "an entry is not shown",
    ),
]


@pytest.mark.parametrize(
    ("patch", "kind", "complaint"),
    WRONG,
    ids=["409 taken for exists", "deleting in the order of keys", "reading one page"],
)
def test_a_wrong_design_is_caught(
    bucket: SharedBucket, patch: partial[AbstractContextManager[object]], kind: str, complaint: str
) -> None:
    """By the same machine, at one of the calls at least."""
    with patch():
        complaints = complaints_of(lambda: Bucket(bucket), kind)
    assert any(complaint in said for said in complaints)
