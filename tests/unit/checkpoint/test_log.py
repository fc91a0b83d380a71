"""The log of one root: publish, list, resolve, retract, and where things are."""

import os
import shutil
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry, Log, PruneResult
from dispatch.checkpoint.claims import claim_name, resume_name
from dispatch.errors import (
    AlreadyPublishedError,
    InvalidInputError,
    MalformedError,
    NotFoundError,
    RefusedError,
)
from tests.unit.stores import ScriptedStore, make_save


def test_a_publication_is_listed_and_resolved(root: Path, log: Log) -> None:
    """What publish returns is what everybody sees."""
    entry = log.publish(1_000_000, 500, make_save(root, 500))
    assert entry == Entry(1_000_000, 500, "exec/1.1.0/checkpoint-500")
    assert log.entries() == [entry]
    assert log.resolve() == entry
    assert log.location(entry) == f"{root}/exec/1.1.0/checkpoint-500"


def test_nothing_is_published_in_an_empty_root(root: Path, log: Log) -> None:
    """No pub/ means no publications, and looking makes none."""
    assert log.entries() == []
    assert log.resolve() is None
    assert log.prune(1) == PruneResult()
    assert list(root.iterdir()) == []


def test_publishing_again_says_which_entry_was_there(root: Path, log: Log) -> None:
    """It is an error only in name: the publication exists."""
    entry = log.publish(1, 500, make_save(root, 500))
    with pytest.raises(AlreadyPublishedError) as caught:
        log.publish(1, 500, entry.save)
    assert caught.value.entry == entry
    assert caught.value.kind == "already-published"
    assert str(caught.value) == "'exec/1.1.0/checkpoint-500' at step 500 was already published"
    assert log.entries() == [entry]


def test_one_save_can_have_several_publications(root: Path, log: Log) -> None:
    """Under another epoch or step it is another entry."""
    save = make_save(root, 500)
    entries = [log.publish(epoch, step, save) for epoch, step in ((1, 1), (1, 500), (2, 500))]
    assert log.entries() == entries
    assert log.resolve() == entries[-1]


def test_an_old_execution_s_late_publication_does_not_win(root: Path, log: Log) -> None:
    """Whatever its step: the epoch comes first."""
    new = log.publish(2_000_000, 100, make_save(root, 100, b"exec/new"))
    log.publish(1_000_000, 6000, make_save(root, 6000, b"exec/old"))
    assert log.resolve() == new


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_a_save_is_given_by_path_or_by_location(root: Path, log: Log, end: str) -> None:
    """A trailing slash is never encoded."""
    make_save(root, 500)
    by_path = log.publish(1, 500, "exec/1.1.0/checkpoint-500" + end)
    by_location = log.publish(2, 500, f"{root}/exec/1.1.0/checkpoint-500" + end)
    by_pathlike = log.publish(3, 500, root / "exec/1.1.0/checkpoint-500")
    assert by_path.path == by_location.path == by_pathlike.path == b"exec/1.1.0/checkpoint-500"


def test_a_location_through_a_link_to_the_root_is_below_the_root(
    root: Path, log: Log, tmp_path: Path
) -> None:
    """The first ancestor that is the root's own folder counts."""
    (tmp_path / "link").symlink_to(root)
    make_save(root, 500)
    entry = log.publish(1, 500, tmp_path / "link/exec/1.1.0/checkpoint-500")
    assert entry.path == b"exec/1.1.0/checkpoint-500"


@pytest.mark.parametrize("save", ["/etc", "/", "s3://bucket/x"])
def test_a_location_elsewhere_is_refused(log: Log, save: str) -> None:
    """Nothing is written."""
    with pytest.raises(InvalidInputError, match="is not below the checkpoint root"):
        log.publish(1, 1, save)


@pytest.mark.parametrize("save", ["", "/.", "..", "a/../b", "pub/x", "./a"])
def test_a_path_that_no_entry_can_name_is_refused(root: Path, log: Log, save: str) -> None:
    """Before anything is looked at."""
    given = str(root) + save if save == "/." else save
    with pytest.raises(InvalidInputError):
        log.publish(1, 1, given)
    assert list(root.iterdir()) == []


def test_a_stray_name_fails_every_reading_and_every_prune(root: Path, log: Log) -> None:
    """It could be the latest, so nothing is answered and nothing removed."""
    entries = [log.publish(1, step, make_save(root, step)) for step in (1, 2, 3)]
    stray = root / "pub" / ".DS_Store"
    stray.touch()
    for read in (log.entries, log.resolve, lambda: log.prune(1)):
        with pytest.raises(MalformedError, match="DS_Store"):
            read()
    stray.unlink()
    assert log.entries() == entries
    assert all((root / entry.save).is_dir() for entry in entries)


def test_retract_takes_back_one_entry_and_leaves_its_folder(root: Path, log: Log) -> None:
    """What it outranked is the latest again."""
    first = log.publish(1, 500, make_save(root, 500))
    mistake = log.publish(1, 5000, make_save(root, 5000))
    log.retract(mistake)
    assert log.resolve() == first
    assert (root / mistake.save).is_dir()


def test_retracting_what_is_not_published_is_an_error(root: Path, log: Log) -> None:
    """The message shows the name, and the hint where names are listed."""
    entry = Entry(1, 500, "exec/a")
    with pytest.raises(NotFoundError) as caught:
        log.retract(entry)
    assert caught.value.kind == "entry-missing"
    assert str(caught.value) == f"{entry.name()!r} is not published"
    shutil.rmtree(root)
    with pytest.raises(NotFoundError) as caught:
        log.retract(entry)
    assert caught.value.kind == "root-missing"


def test_an_execution_s_folder_need_not_exist(root: Path, log: Log) -> None:
    """It is where it would be, odd bytes included; the token is checked."""
    assert log.exec_dir("1.4101.0") == f"{root}/exec/1.4101.0"
    assert os.fsencode(log.exec_dir("\udcff")) == os.fsencode(root) + b"/exec/\xff"
    assert list(root.iterdir()) == []
    with pytest.raises(InvalidInputError):
        log.exec_dir("..")


def test_a_dry_run_changes_nothing(root: Path, store: ScriptedStore, log: Log) -> None:
    """It says what a prune would do, and asks only."""
    entries = [log.publish(1, step, make_save(root, step)) for step in (1, 2, 3)]
    store.calls.clear()
    lines: list[str] = []
    planned = log.prune(1, dry_run=True, progress=lines.append)
    assert planned.entries == entries[:2]
    assert set(store.calls) == {"names", "check", "may_set_aside", "children"}
    assert log.entries() == entries
    done = log.prune(1, progress=lines.append)
    assert done.entries == planned.entries
    assert sorted(done.folders) == sorted(planned.folders)
    assert "removing 2 entries" in lines


def test_a_log_prunes_in_silence_unless_told_otherwise(root: Path, log: Log) -> None:
    """Progress is for those who look on."""
    entries = [log.publish(1, step, make_save(root, step)) for step in (100, 150, 200)]
    assert log.prune(1, keep_every=100).entries == [entries[1]]
    assert log.entries() == [entries[0], entries[2]]


# ------------------------------------------------------------------------- claims


def test_a_claim_says_whose_it_is_and_what_it_resumes_from(log: Log) -> None:
    """The latter once that is decided."""
    with pytest.raises(NotFoundError) as caught:
        log.claim_of(7)
    assert caught.value.kind == "claim-missing"
    log.store.claim("runs", claim_name(7), "new")
    assert log.claim_of(7) == ("new", None)
    log.store.claim("runs", resume_name(7), "-")
    assert log.claim_of(7) == ("new", "-")


def test_a_claim_is_taken_back_with_all_that_its_execution_was_about_to_do(log: Log) -> None:
    """So a prune may have what it took over, and another may have its epoch."""
    old, new = Entry(1, 1, "exec/a"), Entry(7, 1, "exec/a")
    log.store.claim("runs", claim_name(7), "new")
    log.store.claim("runs", resume_name(7), new.name())
    log.store.claim("fates", old.name(), new.name())
    log.retract_claim(7)
    assert log.store.names("runs")[0] == []
    assert log.store.claimed("fates", new.name()) == "-"
    with pytest.raises(NotFoundError, match="epoch 7 is not claimed"):
        log.retract_claim(7)


def test_a_claim_that_can_not_be_removed_is_told(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is still there."""
    failure = RefusedError("removing it: EACCES")
    log.store.claim("runs", claim_name(7), "new")
    monkeypatch.setattr(ScriptedStore, "remove", lambda *_: ([], {"7": failure}))
    with pytest.raises(RefusedError, match="EACCES"):
        log.retract_claim(7)
    assert log.claim_of(7)[0] == "new"
