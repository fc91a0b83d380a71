"""Designs that are known to be wrong, each caught by the suite that is meant to catch it.

Where a suite would miss one of these, a test of it could pass whatever the code does.
"""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis.stateful import run_state_machine_as_test

from dispatch.adapters.posix.removal import PosixRemoval
from dispatch.checkpoint import Entry, Log, PruneResult, latest, parse_entry_name
from dispatch.checkpoint.entry import why_invalid
from dispatch.checkpoint.listing import PUB, parse_all
from dispatch.checkpoint.prune import Pruner
from dispatch.checkpoint.retention import Named
from dispatch.errors import DispatchError, MalformedError, NotFoundError
from dispatch.model.removal import Aside, Gone, Left
from dispatch.ports.store import NamesStore, PublishingStore
from tests.property.checking import settings_for
from tests.property.machine import LogMachine
from tests.property.names import b32
from tests.property.test_listing import check_reading
from tests.property.test_names import check_latest, check_parsing
from tests.unit.checkpoint import test_prune, test_publishing
from tests.unit.stores import InlinePatience, ScriptedStore, make_save, plain_log

LATEST = "dispatch.checkpoint.log.latest_of"
PUBLISH = ("dispatch.checkpoint.log.publish_entry", "dispatch.checkpoint.watch.publish_entry")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty checkpoint root."""
    root = tmp_path / "root"
    root.mkdir()
    return root


# -- names


def parse_with_int(name: str) -> Entry:
    """Let int() read the numbers, which takes signs, spaces, underscores and all scripts."""
    epoch, step, path = name[:20], name[21:41], parse_entry_name(f"{0:020}-{0:020}-{name[42:]}")
    try:
        return Entry(int(epoch), int(step), path.path)
    except (ValueError, DispatchError) as error:
        raise MalformedError(name) from error


def parse_any_case(name: str) -> Entry:
    """Accept lower case and padding, as decoders do."""
    return parse_entry_name(name.upper().rstrip("="))


def parse_any_trailing_bits(name: str) -> Entry:
    """Accept what decodes, though nothing encodes to it."""
    try:
        body = b32(base64.b32decode(name[42:] + "=" * (-len(name[42:]) % 8)))
    except ValueError:
        body = name[42:]
    return parse_entry_name(name[:42] + body)


def parse_numbers_of_any_size(name: str) -> Entry:
    """Count digits instead of bits: the greatest numbers come out as 2^64-1."""
    if not re.fullmatch(r"[0-9]{20}-[0-9]{20}-.+", name, re.DOTALL):
        raise MalformedError(name)
    epoch, step = (min(int(text), 2**64 - 1) for text in (name[:20], name[21:41]))
    return parse_entry_name(f"{epoch:020}-{step:020}-{name[42:]}")


@pytest.mark.parametrize(
    "parse_name",
    [parse_with_int, parse_any_case, parse_any_trailing_bits, parse_numbers_of_any_size],
)
def test_a_lenient_parser_is_caught(parse_name: Callable[[str], Entry]) -> None:
    """It takes names for other entries' than their own."""
    with pytest.raises(AssertionError, match="parses as another's name"):
        check_parsing(parse_name, is_wrong=True)


def latest_by_step(names: list[str]) -> Entry | None:
    """Resume from the highest-numbered save, as Trainer does."""
    return max(parse_all(names), key=lambda entry: entry.step, default=None)


def latest_by_string(names: list[str]) -> Entry | None:
    """Compare names as strings, which is right but for ties of epoch and step."""
    return max(parse_all(names), key=Entry.name, default=None)


def latest_of_the_valid(names: list[str]) -> Entry | None:
    """Skip what does not parse."""
    entries = []
    for name in names:
        try:
            entries.append(parse_entry_name(name))
        except MalformedError:
            continue
    return latest(entries)


def latest_validated_alone(names: list[str]) -> Entry | None:
    """Parse the greatest string only."""
    return parse_entry_name(max(names)) if names else None


def latest_without_paths(names: list[str]) -> Entry | None:
    """Check every name's form, and the path of the latest only."""
    for name in names:
        parse_entry_name(name[:42] + "ME")
        if not re.fullmatch("[A-Z2-7]+", name[42:]):
            raise MalformedError(name)
    return latest_of_the_valid(names)


WRONG_LATESTS = [
    latest_by_step,
    latest_by_string,
    latest_of_the_valid,
    latest_validated_alone,
    latest_without_paths,
]


@pytest.mark.parametrize("latest_of", WRONG_LATESTS)
def test_a_wrong_order_and_a_skipped_name_are_caught(
    latest_of: Callable[[list[str]], Entry | None],
) -> None:
    """By step alone, as strings, or of those that happen to parse."""
    with pytest.raises(AssertionError):
        check_latest(latest_of, is_wrong=True)


# -- listings


def read_once(store: NamesStore) -> list[str]:
    """Believe a single listing."""
    return store.names(PUB)[0]


def read_until_something(store: NamesStore) -> list[str]:
    """Believe any listing that is not empty."""
    return next((names for names in (store.names(PUB)[0] for _ in range(10)) if names), [])


@pytest.mark.parametrize("read", [read_once, read_until_something])
def test_a_torn_listing_is_caught(read: Callable[[NamesStore], list[str]]) -> None:
    """Neither the old latest nor the new one was seen."""
    with pytest.raises(AssertionError, match="was never the latest"):
        check_reading(read, is_wrong=True)


# -- the log


def publish_and_withdraw_always(store: PublishingStore, entry: Entry, *, sync: bool) -> bool:
    """Withdraw an entry whose save is gone, also when it was there before."""
    if not store.has_save(entry.path):
        raise NotFoundError("no save", kind="save-missing")
    created = store.create(PUB, entry.name())
    if not store.has_save(entry.path):
        store.remove(PUB, [entry.name()])
        raise NotFoundError("no save", kind="save-missing")
    return created


def publish_with_one_look(store: PublishingStore, entry: Entry, *, sync: bool) -> bool:
    """Don't look at the save again: a prune may have taken it meanwhile."""
    if why_invalid(entry.path) or not store.has_save(entry.path):
        raise NotFoundError("no save", kind="save-missing")
    return store.create(PUB, entry.name())


def publish_without_a_look(store: PublishingStore, entry: Entry, *, sync: bool) -> bool:
    """Publish whatever is asked for."""
    return store.create(PUB, entry.name())


@pytest.mark.parametrize(
    ("publish", "complaint"),
    [
        (publish_and_withdraw_always, "a publication was lost"),
        (publish_without_a_look, "a save that was not there is published|names nothing"),
    ],
)
def test_a_wrong_way_to_publish_is_caught(publish: Callable[..., bool], complaint: str) -> None:
    """By the state machine."""
    with mock.patch(PUBLISH[0], publish), mock.patch(PUBLISH[1], publish):
        expect_failure(complaint)


@pytest.mark.parametrize("publish", [publish_with_one_look, publish_and_withdraw_always])
def test_a_wrong_way_to_look_is_caught_by_a_scripted_prune(
    root: Path, publish: Callable[..., bool]
) -> None:
    """The save goes between the creation of its entry and the second look."""
    script = (
        test_publishing.test_an_entry_is_withdrawn_when_its_save_went_meanwhile
        if publish is publish_with_one_look
        else test_publishing.test_an_entry_that_was_there_before_is_not_withdrawn
    )
    entry = Entry(1, 500, make_save(root, 500))
    with (
        mock.patch.object(test_publishing, "publish_entry", publish),
        pytest.raises((AssertionError, pytest.fail.Exception)),
    ):
        script(root, ScriptedStore(root), entry)


def overlap_nothing(self: Named, save: bytes) -> bool:
    """Delete a folder whatever still names it or a part of it."""
    return False


def overlap_the_same_only(self: Named, save: bytes) -> bool:
    """Forget what is inside and above."""
    return save in self._paths


@pytest.mark.parametrize("overlaps", [overlap_nothing, overlap_the_same_only])
def test_deleting_folders_that_still_overlap_is_caught(
    overlaps: Callable[[Named, bytes], bool],
) -> None:
    """By the state machine."""
    with mock.patch.object(Named, "overlaps", overlaps):
        expect_failure("names nothing|what is published was deleted")


def set_aside_in_place(self: PosixRemoval, save: bytes) -> Aside | Left | Gone:
    """Delete a save under its own name: half-deleted, it still looks complete."""
    return Aside(b"", save)


def test_deleting_without_renaming_first_is_caught(tmp_path: Path) -> None:
    """By a prune that dies at one of its calls."""
    complaints = []
    with mock.patch.object(PosixRemoval, "set_aside", set_aside_in_place):
        for calls in range(10):
            root = tmp_path / str(calls)
            root.mkdir()
            log = plain_log(root)
            try:
                test_prune.test_a_prune_that_dies_leaves_nothing_half_deleted_in_sight(
                    root, log, calls
                )
            except AssertionError as error:
                complaints.append(str(error))
    assert any(complaint.startswith("a half-deleted save") for complaint in complaints)


def settle_unseen(self: Pruner, asides: list[Aside], result: PruneResult) -> set[bytes]:
    """Delete what is aside without another look at what is published."""
    return {aside.save for aside in asides if self.store.delete(aside) is None}


def test_deleting_without_listing_once_more_is_caught(root: Path) -> None:
    """By a publication scripted into the moment before the save goes aside."""
    store = ScriptedStore(root)
    with (
        mock.patch.object(Pruner, "_settle", settle_unseen),
        pytest.raises(AssertionError),
    ):
        test_prune.test_a_save_published_before_it_went_aside_is_put_back(
            root, store, Log(store, InlinePatience())
        )


def test_an_order_by_step_alone_is_caught_by_the_machine_too() -> None:
    """An old execution publishes late, at a higher step."""
    with mock.patch(LATEST, latest_by_step):
        expect_failure("that is not the latest")


def expect_failure(complaint: str) -> None:
    """Run the machine until it complains."""
    with pytest.raises(AssertionError, match=complaint):
        run_state_machine_as_test(LogMachine, settings=settings_for(is_wrong=True))
