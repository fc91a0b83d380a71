"""Removal: markers first, batches read key by key, entries that can't be deleted keep folders."""

from __future__ import annotations

import re

import pytest

from dispatch.checkpoint import Entry, SkippedFolder
from dispatch.errors import RefusedError
from dispatch.model.removal import Aside, Left
from dispatch.testing.s3fake import (
    ACCESS_DENIED,
    INTERNAL_ERROR,
    KeepKeys,
    LoseReply,
    Say,
    on,
)
from tests.unit.adapters.s3.roots import BUCKET, PREFIX, ROOT, Bench

SAVE = b"exec/a/step-1"
FOLDER = f"{PREFIX}/exec/a/step-1/"


@pytest.fixture
def saved(s3: Bench) -> Bench:
    """A save of both frameworks' markers, some parts and a folder marker."""
    for name in ("", "a", "b/c", ".metadata", "trainer_state.json", "z\n&<"):
        s3.put(f"exec/a/step-1/{name}")
    s3.put("exec/a/step-10/.metadata")
    return s3


def deletions(s3: Bench) -> list[str]:
    """List the keys in the order of their deletion, from what was asked."""
    keys: list[str] = []
    for request in s3.fake.requests:
        if request.operation == "DeleteObject":
            keys.append(request.key)
        elif request.operation == "DeleteObjects":
            assert b"<Quiet>true" not in request.body
            keys += re.findall(r"<Key>(.*?)</Key>", request.body.decode(), re.DOTALL)
    return [key.removeprefix(FOLDER) for key in keys]


def test_markers_go_first_one_by_one(saved: Bench) -> None:
    assert saved.store.delete(Aside(SAVE, SAVE)) is None
    asked = [name for name in saved.asked() if name.startswith("Delete")]
    assert asked == ["DeleteObject", "DeleteObject", "DeleteObjects"]
    assert deletions(saved)[:2] == [".metadata", "trainer_state.json"]
    assert saved.names() == ["exec/a/step-10/.metadata"]


@pytest.mark.parametrize("marker", [".metadata", "trainer_state.json"])
def test_where_a_marker_stays_all_the_rest_does(saved: Bench, marker: str) -> None:
    """So that no half of a save looks complete."""
    saved.fake.script(ACCESS_DENIED, on("DeleteObject", key=FOLDER + marker))
    outcome = saved.store.delete(Aside(SAVE, SAVE))
    assert isinstance(outcome, Left)
    assert outcome.failed
    assert f"s3://{BUCKET}/{FOLDER}{marker}" in outcome.reason
    assert {"exec/a/step-1/a", "exec/a/step-1/b/c"} <= set(saved.names())


def test_keys_that_a_batch_leaves_are_named(saved: Bench) -> None:
    """It answers 200 all the same."""
    left = {FOLDER + "a": "AccessDenied", FOLDER + "b/c": "InternalError"}
    saved.fake.script(KeepKeys(left), on("DeleteObjects"))
    outcome = saved.store.delete(Aside(SAVE, SAVE))
    assert isinstance(outcome, Left)
    assert outcome.failed
    for key, code in left.items():
        assert f"s3://{BUCKET}/{key}: {code}" in outcome.reason
    assert saved.names() == ["exec/a/step-1/a", "exec/a/step-1/b/c", "exec/a/step-10/.metadata"]


def test_of_many_keys_three_are_named_and_the_others_counted(s3: Bench) -> None:
    keys = [f"{FOLDER}part-{number}" for number in range(9)]
    for key in keys:
        s3.fake.put(BUCKET, key)
    s3.fake.script(KeepKeys(dict.fromkeys(keys, "AccessDenied")), on("DeleteObjects"))
    outcome = s3.store.delete(Aside(SAVE, SAVE))
    assert isinstance(outcome, Left)
    assert outcome.reason.endswith(", and 6 more")


@pytest.mark.parametrize(
    "fault",
    [
        INTERNAL_ERROR,
        LoseReply(),
        LoseReply(20),
        LoseReply(200),
        Say(200, b"<html>"),
        Say(200, b"<DeleteResult></DeleteResult>", "application/xml"),
    ],
)
def test_a_batch_that_does_not_tell_of_every_key_is_sent_again(
    saved: Bench, fault: LoseReply | Say
) -> None:
    saved.fake.script(fault, on("DeleteObjects"))
    assert saved.store.delete(Aside(SAVE, SAVE)) is None
    assert saved.asked().count("DeleteObjects") == 2
    assert saved.names() == ["exec/a/step-10/.metadata"]


def test_a_batch_that_fails_stops_no_other(s3: Bench) -> None:
    for number in range(2100):
        s3.put(f"exec/a/step-1/part-{number:04}")
    s3.fake.script(ACCESS_DENIED, on("DeleteObjects"))
    outcome = s3.store.delete(Aside(SAVE, SAVE))
    assert isinstance(outcome, Left)
    assert "part-0000 and 999 more" in outcome.reason
    assert len(s3.names()) == 1000


def test_an_entry_that_cannot_be_deleted_keeps_its_folder_and_the_rest_goes_on(s3: Bench) -> None:
    """It is reported as failed, by its own location."""
    entries = []
    for step in (1, 2, 3):
        s3.put(f"exec/a/step-{step}/.metadata")
        entries.append(s3.log.publish(1, step, f"exec/a/step-{step}"))
    stuck = f"pub/{entries[0].name()}"
    s3.fake.script(ACCESS_DENIED, on("DeleteObject", key=f"{PREFIX}/{stuck}"))
    result = s3.log.prune(1)
    assert result.entries == [entries[1]]
    assert result.folders == [f"{ROOT}/exec/a/step-2"]
    [failed] = [skipped for skipped in result.skipped if skipped.failed]
    assert failed.location == f"{ROOT}/{stuck}"
    assert "access denied" in failed.reason
    [kept] = [skipped for skipped in result.skipped if not skipped.failed]
    assert kept == SkippedFolder(f"{ROOT}/exec/a/step-1", kept.reason, failed=False)
    assert s3.names() == [
        "exec/a/step-1/.metadata",
        "exec/a/step-3/.metadata",
        f"fates/{entries[0].name()}",
        stuck,
        f"pub/{entries[2].name()}",
    ]


def test_an_entry_that_cannot_be_deleted_is_not_retracted(s3: Bench) -> None:
    entry = Entry(1, 1, "exec/a")
    s3.put(f"pub/{entry.name()}")
    s3.fake.script(ACCESS_DENIED, on("DeleteObject"))
    with pytest.raises(RefusedError):
        s3.log.retract(entry)
    s3.log.retract(entry)
    assert s3.names() == [f"fates/{entry.name()}"]


@pytest.mark.parametrize("done", range(1, 6))
def test_a_removal_that_is_cut_off_never_looks_complete(saved: Bench, done: int) -> None:
    """Whichever request is the last that the store grants."""
    saved.fake.script(ACCESS_DENIED, on(), times=None, skip=done)
    outcome = saved.store.delete(Aside(SAVE, SAVE))
    left = {key.removeprefix("exec/a/step-1/") for key in saved.names()}
    markers = {".metadata", "trainer_state.json"} & left
    assert not markers or {"a", "b/c"} <= left
    if done < 5:  # a listing, a look for the save's own key, two markers, one batch
        assert isinstance(outcome, Left)
    else:
        assert outcome is None
        with pytest.raises(RefusedError):
            saved.store.names("pub")  # so that the script was used
