"""Pruning: entries first, then folders that no entry names, and never half in sight."""

import os
import time
from pathlib import Path

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint import Entry, Log, PruneResult, SkippedFolder
from dispatch.checkpoint.claims import claim_name, resume_name
from dispatch.checkpoint.fates import take_over
from dispatch.errors import DispatchError, MalformedError, RefusedError, UnavailableError
from dispatch.model.removal import Aside, Left
from tests.unit.stores import (
    EXECUTION,
    Changes,
    CrashError,
    InlinePatience,
    ScriptedStore,
    TroubledFilesystem,
    make_save,
    names_in,
    next_token,
    plain_log,
    raising,
)

STAYS = "a publication that stays names it, a part of it, or what it is part of"
OWN = "it is one of the root's own folders"
ASIDE = ".pruned-0123456789abcdef"


def publish_steps(root: Path, log: Log, steps: range) -> list[Entry]:
    """Make and publish one save for each step."""
    return [log.publish(1_000_000, step, make_save(root, step)) for step in steps]


def test_what_retention_does_not_keep_goes_with_its_folders(root: Path, log: Log) -> None:
    """The result names each."""
    entries = publish_steps(root, log, range(1, 6))
    assert log.prune(2) == PruneResult(
        entries=entries[:3], folders=[log.location(entry) for entry in entries[:3]]
    )
    assert log.entries() == entries[3:]
    assert names_in(root / os.fsdecode(EXECUTION)) == ["checkpoint-4", "checkpoint-5"]


def test_a_second_prune_finds_nothing_to_do(root: Path, store: ScriptedStore, log: Log) -> None:
    """Idempotent: it lists, looks for leftovers and ends."""
    publish_steps(root, log, range(1, 6))
    log.prune(2)
    store.calls.clear()
    assert log.prune(2) == PruneResult()
    assert not {"remove", "set_aside", "delete"} & set(store.calls)


def test_entries_go_before_folders_and_folders_are_hidden_before_they_are_deleted(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """With a listing after each: what was published meanwhile must be seen."""
    publish_steps(root, log, range(1, 4))
    store.calls.clear()
    log.prune(1)
    calls = [call for call in store.calls if call != "children"]
    listing = ["names", "names"]  # the folder changed a moment ago: two passes
    assert calls == [
        *listing,
        *("names", "check"),  # the claims, after the entries: there are none
        "claim_all",  # the saves' fates, before their entries go
        "remove",
        *listing,
        "set_aside",
        "set_aside",
        *listing,
        "delete",
        "delete",
        *listing,  # the fates that nobody needs any more
        *listing,
        "remove",
    ]


def test_progress_is_told(root: Path, log: Log) -> None:
    """Often enough that a person sees it move."""
    publish_steps(root, log, range(1, 4))
    lines: list[str] = []
    log.prune(1, progress=lines.append)
    assert lines == [
        "removing 2 entries",
        "taking exec/1.1.0/checkpoint-1 out of sight",
        "taking exec/1.1.0/checkpoint-2 out of sight",
        "deleted 0 of 2 folders",
        "deleted 1 of 2 folders",
    ]


@pytest.mark.parametrize(
    "stays",
    ["exec/1.1.0/checkpoint-1", "exec/1.1.0/checkpoint-1/model.safetensors", "exec/1.1.0"],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_folder_that_overlaps_a_kept_publication_stays(
    root: Path, log: Log, stays: str, *, dry_run: bool
) -> None:
    """Its entry goes all the same."""
    [old] = publish_steps(root, log, range(1, 2))
    log.publish(2_000_000, 1, stays)
    result = log.prune(1, dry_run=dry_run)
    assert result == PruneResult(
        entries=[old], skipped=[SkippedFolder(log.location(old), STAYS, failed=False)]
    )
    assert (root / old.save / "model.safetensors").is_file()


def test_of_overlapping_folders_both_go_when_nothing_keeps_them(root: Path, log: Log) -> None:
    """The inner is gone by the time it is its turn, which is no error."""
    [old] = publish_steps(root, log, range(1, 2))
    log.publish(1_000_000, 1, old.save + "/model.safetensors")
    [new] = publish_steps(root, log, range(2, 3))
    assert log.prune(1).skipped == []
    assert log.entries() == [new]
    assert not (root / old.save).exists()


@pytest.mark.parametrize("own", ["exec", "runs", "runs/1"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_the_root_s_own_folders_are_never_removed(
    root: Path, log: Log, own: str, *, dry_run: bool
) -> None:
    """Not even when another program published one."""
    [latest] = publish_steps(root, log, range(9, 10))
    (root / "runs" / "1").mkdir(parents=True)
    hostile = Entry(1, 1, own)
    (root / "pub" / hostile.name()).touch()
    result = log.prune(1, dry_run=dry_run)
    assert result.entries == [hostile]
    assert result.folders == []
    assert result.skipped == [SkippedFolder(f"{root}/{own}", OWN, failed=False)]
    assert (root / own).is_dir()
    assert (root / latest.save).is_dir()


def test_a_folder_behind_a_link_is_left_with_the_reason(
    root: Path, log: Log, tmp_path: Path
) -> None:
    """Nothing that a link leads to is deleted; the publication goes."""
    precious = tmp_path / "precious" / "checkpoint-1"
    precious.mkdir(parents=True)
    (root / "exec").mkdir()
    (root / "exec" / "linked").symlink_to(tmp_path / "precious")
    old = log.publish(1, 1, "exec/linked/checkpoint-1")
    publish_steps(root, log, range(2, 3))
    for dry_run in (True, False):
        result = log.prune(1, dry_run=dry_run)
        assert result.entries == [old]
        assert result.skipped == [
            SkippedFolder(log.location(old), "'exec/linked' is a symbolic link", failed=False)
        ]
    assert precious.is_dir()


def test_a_save_that_is_gone_already_is_no_error(root: Path, log: Log) -> None:
    """Somebody else removed it; it is neither removed nor left by us."""
    entries = publish_steps(root, log, range(1, 3))
    (root / entries[0].save).rename(root / "elsewhere")
    assert log.prune(1) == PruneResult(entries=entries[:1])


def test_a_folder_that_can_not_be_removed_is_left_as_failed_and_the_rest_goes(
    root: Path, store: ScriptedStore, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its errno is in the reason."""
    entries = publish_steps(root, log, range(1, 4))
    set_aside = ScriptedStore.set_aside

    def refusing(self: ScriptedStore, save: bytes) -> object:
        if save == entries[0].path:
            return Left("renaming it: EBUSY (device or resource busy)", failed=True)
        return set_aside(self, save)

    monkeypatch.setattr(ScriptedStore, "set_aside", refusing)
    result = log.prune(1)
    assert result.entries == entries[:2]
    assert result.folders == [log.location(entries[1])]
    assert result.skipped == [
        SkippedFolder(
            log.location(entries[0]), "renaming it: EBUSY (device or resource busy)", failed=True
        )
    ]


def test_a_save_published_before_it_went_aside_is_put_back(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """Its new entry was not in the listing yet; it is in the next."""
    [old, latest] = publish_steps(root, log, range(1, 3))
    newer: list[Entry] = []

    def publish() -> None:
        newer.append(plain_log(root).publish(3_000_000, 1, old.save))

    store.before("set_aside", publish)
    result = log.prune(1)
    assert result.entries == [old]
    assert result.folders == []
    assert result.skipped == [
        SkippedFolder(log.location(old), "it was published meanwhile", failed=False)
    ]
    assert log.entries() == [latest, *newer]
    assert (root / old.save / "trainer_state.json").is_file()
    assert names_in(root / os.fsdecode(EXECUTION)) == ["checkpoint-1", "checkpoint-2"]


def test_a_save_published_again_before_the_second_listing_stays(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """It is not even taken out of sight."""
    [old, latest] = publish_steps(root, log, range(1, 3))
    store.after("remove", lambda: plain_log(root).publish(old.epoch, old.step, old.save))
    result = log.prune(1)
    assert result.skipped == [SkippedFolder(log.location(old), STAYS, failed=False)]
    assert "set_aside" not in store.calls
    assert log.entries() == [old, latest]


def test_a_save_that_was_written_anew_is_left_and_the_old_one_goes(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """The entry names the new folder, so the one that is aside is nobody's."""
    [old, _] = publish_steps(root, log, range(1, 3))

    def write_anew() -> None:
        make_save(root, 1)
        (root / old.save / "new").touch()
        plain_log(root).publish(3_000_000, 1, old.save)

    store.after("set_aside", write_anew)
    log.prune(1)
    assert (root / old.save / "new").is_file()
    assert names_in(root / os.fsdecode(EXECUTION)) == ["checkpoint-1", "checkpoint-2"]


def test_a_prune_that_loses_every_race_to_another_is_no_error(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """The other's whole prune happens after our listing: nothing is left to do."""
    entries = publish_steps(root, log, range(1, 6))
    others: list[PruneResult] = []
    store.before("remove", lambda: others.append(plain_log(root).prune(1)))
    assert log.prune(1) == PruneResult()
    assert others[0].entries == entries[:4]
    assert log.entries() == entries[4:]


def test_two_prunes_that_share_the_work_report_each_thing_once(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """We removed the entries, the other deleted one folder that we had taken aside."""
    entries = publish_steps(root, log, range(1, 4))
    others: list[PruneResult] = []
    store.after("set_aside", None, lambda: others.append(plain_log(root).prune(1)))
    ours = log.prune(1)
    assert ours.entries == entries[:2]
    assert sorted([*ours.folders, *others[0].folders]) == [log.location(e) for e in entries[:2]]
    assert names_in(root / os.fsdecode(EXECUTION)) == ["checkpoint-3"]


@pytest.mark.parametrize("place", ["exec/1.1.0", "exec/1.1.0/sub", "elsewhere/deep/down", "."])
@pytest.mark.parametrize("name", [ASIDE, ASIDE + ".checkpoint-7"])
def test_what_an_interrupted_prune_left_is_deleted(
    root: Path, log: Log, place: str, name: str
) -> None:
    """Beside the saves that are published, and in the executions' folders."""
    (root / place / name / "inner").mkdir(parents=True)
    (root / place / "checkpoint-1").mkdir()
    log.publish(1, 1, f"{place}/checkpoint-1".removeprefix("./"))
    result = log.prune(1)
    shown = place + ("/" + name if name == ASIDE else "/checkpoint-7")
    assert result == PruneResult(folders=[f"{root}/{shown.removeprefix('./')}"])
    assert not (root / place / name).exists()
    assert (root / place / "checkpoint-1").is_dir()


def test_what_a_prune_took_aside_it_deletes_though_it_finds_no_leftovers(
    root: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be renamed there are none."""
    entries = publish_steps(root, log, range(1, 4))
    monkeypatch.setattr(ScriptedStore, "leftovers", lambda _self, _folder: [])
    assert log.prune(1).folders == [log.location(entry) for entry in entries[:2]]
    assert names_in(root / os.fsdecode(EXECUTION)) == ["checkpoint-3"]


def test_a_leftover_is_found_where_nothing_is_published_any_more(root: Path, log: Log) -> None:
    """In an execution's folder and one level below; not inside published saves."""
    publish_steps(root, log, range(1, 2))
    for place in ("exec/0.9.0", "exec/0.9.0/sub"):
        (root / place / ASIDE).mkdir(parents=True)
    inside = root / "exec/1.1.0/checkpoint-1" / ASIDE
    inside.mkdir()
    log.prune(1)
    assert names_in(root / "exec/0.9.0") == ["sub"]
    assert names_in(root / "exec/0.9.0/sub") == []
    assert inside.is_dir()


def test_a_leftover_that_is_published_is_put_back(root: Path, log: Log) -> None:
    """The prune before us was interrupted after it took the save aside."""
    publish_steps(root, log, range(1, 3))
    place = root / "exec/1.1.0"
    (place / "checkpoint-1").rename(place / (ASIDE + ".checkpoint-1"))
    result = log.prune(2)
    assert result.skipped == [
        SkippedFolder(f"{place}/checkpoint-1", "it was published meanwhile", failed=False)
    ]
    assert names_in(place) == ["checkpoint-1", "checkpoint-2"]


@pytest.mark.parametrize("failing", ["children", "leftovers"])
def test_a_folder_that_is_closed_to_us_does_not_keep_the_rest(
    root: Path, log: Log, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """Another user's execution under the same root can't be searched for leftovers."""
    entries = publish_steps(root, log, range(1, 3))
    (root / "exec/closed").mkdir()
    look = getattr(ScriptedStore, failing)

    def refusing(self: ScriptedStore, folder: bytes, *rest: bytes) -> object:
        if folder == b"exec/closed":
            raise RefusedError("opening it: EACCES (permission denied)")
        return look(self, folder, *rest)

    monkeypatch.setattr(ScriptedStore, failing, refusing)
    result = log.prune(1)
    assert result.folders == [log.location(entries[0])]
    assert [(folder.location, folder.failed) for folder in result.skipped] == [
        (f"{root}/exec/closed", False)
    ]
    assert result.skipped[0].reason.endswith("left: opening it: EACCES (permission denied)")


@pytest.mark.parametrize("name", [ASIDE, ASIDE + ".checkpoint-7"])
def test_a_leftover_that_is_published_as_it_is_stays(root: Path, log: Log, name: str) -> None:
    """What a publication names is never deleted, whatever it is called and whoever made it."""
    publish_steps(root, log, range(1, 2))
    rescued = Entry(9_000_000, 7, f"exec/1.1.0/{name}")
    (root / rescued.save).mkdir()
    (root / "pub" / rescued.name()).touch()
    result = log.prune(2)
    assert result == PruneResult(
        skipped=[
            SkippedFolder(
                log.location(rescued),
                "a publication names what an interrupted prune left",
                failed=False,
            )
        ]
    )
    assert (root / rescued.save).is_dir()


def test_a_dry_run_says_what_becomes_of_leftovers_and_touches_none(root: Path, log: Log) -> None:
    """One would be put back, one deleted by its old name, one by its own, and one is published."""
    publish_steps(root, log, range(1, 3))
    place = root / "exec/1.1.0"
    token = ASIDE.removesuffix("f")
    (place / "checkpoint-1").rename(place / f"{token}0.checkpoint-1")
    for name in (f"{token}1.checkpoint-7", f"{token}2", f"{token}3"):
        (place / name).mkdir()
    rescued = Entry(9_000_000, 7, f"exec/1.1.0/{token}3")
    (root / "pub" / rescued.name()).touch()
    before = names_in(place)
    planned = log.prune(3, dry_run=True)
    assert names_in(place) == before
    assert planned.entries == []
    assert planned.folders == [f"{place}/checkpoint-7", f"{place}/{token}2"]
    assert [skipped.location for skipped in planned.skipped] == [
        f"{place}/checkpoint-1",
        f"{place}/{token}3",
    ]
    assert log.prune(3) == planned
    assert names_in(place) == [f"{token}3", "checkpoint-1", "checkpoint-2"]


def test_a_stray_name_that_appears_under_way_ends_the_prune_before_any_folder_goes(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """It could name any of them."""
    entries = publish_steps(root, log, range(1, 4))
    store.after("remove", (root / "pub" / "stray").touch)
    with pytest.raises(MalformedError):
        log.prune(1)
    assert all((root / entry.save).is_dir() for entry in entries)


def test_a_failure_to_remove_entries_leaves_every_folder(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """An entry that comes back must find its save."""
    entries = publish_steps(root, log, range(1, 4))
    store.before("remove", raising(UnavailableError("removing: EIO (input/output error)")))
    with pytest.raises(UnavailableError):
        log.prune(1)
    assert all((root / entry.save).is_dir() for entry in entries)


def test_nothing_is_deleted_that_could_not_be_listed_again(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """The saves are out of sight, and the next prune goes on from there."""
    publish_steps(root, log, range(1, 4))
    fault = raising(UnavailableError("listing: EIO (input/output error)"))
    store.before("names", None, None, None, None, None, fault)
    with pytest.raises(UnavailableError):
        log.prune(1)
    execution = root / os.fsdecode(EXECUTION)
    hidden = [name for name in names_in(execution) if name.startswith(".")]
    assert len(hidden) == 2
    assert all((execution / name / "model.safetensors").is_file() for name in hidden)
    assert sorted(log.prune(1).folders) == [
        f"{root}/exec/1.1.0/checkpoint-1",
        f"{root}/exec/1.1.0/checkpoint-2",
    ]
    assert names_in(execution) == ["checkpoint-3"]


@pytest.mark.parametrize("calls", range(40))
def test_a_prune_that_dies_leaves_nothing_half_deleted_in_sight(
    root: Path, log: Log, calls: int
) -> None:
    """At whichever call that changes something; the next prune goes on from there."""
    entries = publish_steps(root, log, range(1, 4))
    filesystem = TroubledFilesystem(Changes())
    dying = PosixStore(os.fsencode(root), filesystem, now_ns=time.time_ns, token=next_token)
    filesystem.dies_in = calls
    try:
        Log(dying, InlinePatience()).prune(1)
    except CrashError:
        pass
    for entry in log.entries():
        assert (root / entry.save).is_dir(), "an entry names nothing"
    for entry in entries:
        assert len(names_in(root / entry.save)) in {0, 2}, "a half-deleted save is in sight"
    log.prune(1)
    assert log.entries() == entries[2:]
    assert ".pruned" not in str(names_in(root / os.fsdecode(EXECUTION)))
    assert len(names_in(root / entries[2].save)) == 2


def test_an_aside_knows_what_it_was(root: Path, store: ScriptedStore, log: Log) -> None:
    """So that whoever finds it can put it back."""
    [entry] = publish_steps(root, log, range(1, 2))
    aside = store.set_aside(entry.path)
    assert isinstance(aside, Aside)
    assert store.leftovers(EXECUTION) == [aside]
    assert aside.save == entry.path
    assert store.put_back(aside)


def test_an_entry_that_cannot_be_removed_is_reported_and_keeps_its_folder(
    root: Path, store: ScriptedStore, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest goes."""
    old, other, _ = publish_steps(root, log, range(1, 4))
    failure = RefusedError(f"removing pub/{old.name()}: EPERM")
    remove = ScriptedStore.remove

    def remove_others(
        self: ScriptedStore, folder: str, names: list[str]
    ) -> tuple[list[str], dict[str, DispatchError]]:
        if folder != "pub":
            return remove(self, folder, names)
        removed, _ = remove(self, folder, names[1:])
        return removed, {old.name(): failure}

    monkeypatch.setattr(ScriptedStore, "remove", remove_others)
    result = log.prune(1)
    assert result.entries == [other]
    assert result.folders == [log.location(other)]
    assert result.skipped == [
        SkippedFolder(f"{root}/pub/{old.name()}", str(failure), failed=True),
        SkippedFolder(log.location(old), STAYS, failed=False),
    ]


def test_a_leftover_that_cannot_be_put_back_is_named_and_the_rest_goes_on(
    root: Path, store: ScriptedStore, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither deleted nor a reason to leave the others."""
    entry = log.publish(1, 7, make_save(root, 7))
    hidden = root / "exec/1.1.0" / f"{ASIDE}.checkpoint-7"
    (root / entry.save).rename(hidden)
    other = root / "exec/1.1.0" / f"{ASIDE}.checkpoint-1"
    other.mkdir()

    def refusing(_self: ScriptedStore, _aside: object) -> bool:
        raise RefusedError("putting it back: EACCES (permission denied)")

    monkeypatch.setattr(ScriptedStore, "put_back", refusing)
    result = log.prune(1)
    assert [(folder.failed, "EACCES" in folder.reason) for folder in result.skipped] == [
        (True, True)
    ]
    assert hidden.is_dir()
    assert not other.exists()


# ------------------------------------------------------------------------- claims and fates


@pytest.mark.parametrize("dry_run", [False, True])
def test_nothing_is_removed_while_an_execution_may_be_loading(
    root: Path, log: Log, *, dry_run: bool
) -> None:
    """It has claimed an epoch, and published nothing yet."""
    publish_steps(root, log, range(1, 4))
    log.store.claim("runs", claim_name(2_000_000), "new")
    result = log.prune(1, dry_run=dry_run)
    assert result == PruneResult(held=result.held)
    assert "epoch 2000000 may still be loading" in str(result.held)
    assert len(log.entries()) == 3
    assert log.prune(1, epoch=1_000_000).held
    log.publish(2_000_000, 1, make_save(root, 9))
    assert log.prune(1, epoch=1_000_000).held
    assert log.prune(1, epoch=2_000_000).held is None
    assert len(log.entries()) == 1


TAKEN = "an execution that is rolling back has taken it over"


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_was_taken_over_stays_until_that_is_published(
    root: Path, log: Log, *, dry_run: bool
) -> None:
    """Its entry too, so that it isn't forgotten when the execution has died."""
    old, other, latest = publish_steps(root, log, range(1, 4))
    new = Entry(2_000_000, 1, old.path)
    take_over(log.store, old, new)
    result = log.prune(1, dry_run=dry_run)
    skipped = [SkippedFolder(log.location(old), TAKEN)]
    assert result == PruneResult([other], [log.location(other)], skipped)
    assert (root / old.save / "model.safetensors").is_file()
    if dry_run:
        return
    assert log.entries() == [old, latest]
    log.publish(new.epoch, new.step, new.path)
    assert log.prune(1).entries == [old, latest]
    assert (root / old.save / "model.safetensors").is_file()


def test_what_was_taken_over_by_what_goes_goes_too(root: Path, log: Log) -> None:
    old, _ = publish_steps(root, log, range(1, 3))
    new = Entry(2_000_000, 1, old.path)
    take_over(log.store, old, new)
    log.publish(new.epoch, new.step, new.path)
    log.publish(2_000_000, 5, make_save(root, 5))
    assert len(log.prune(1).entries) == 3
    assert not (root / old.save).exists()
    assert log.store.names("fates")[0] == []


@pytest.mark.parametrize(
    "error",
    [
        UnavailableError("creating: ENOSPC", kind="no-space"),
        RefusedError("creating: ENOSPC", kind="no-links"),
        RefusedError("creating: ENOSPC"),
    ],
    ids=lambda error: error.kind,
)
def test_where_no_fate_can_be_made_a_prune_goes_on_and_says_so(
    root: Path, store: ScriptedStore, log: Log, error: DispatchError
) -> None:
    """It is what makes space."""
    entries = publish_steps(root, log, range(1, 4))
    store.before("claim_all", raising(error))
    result = log.prune(1)
    [skip] = result.skipped
    assert (skip.location, skip.failed) == (f"{root}/fates", False)
    assert "ENOSPC" in skip.reason
    assert result.entries == entries[:2]
    assert len(result.folders) == 2


@pytest.mark.parametrize("is_late", [False, True])
def test_without_fates_it_looks_for_those_that_executions_made(
    root: Path, store: ScriptedStore, log: Log, *, is_late: bool
) -> None:
    """Before it removes an entry, which then stays; and after that, when its save does."""
    old, other, latest = publish_steps(root, log, range(1, 4))
    new = Entry(2_000_000, 1, old.path)

    def take() -> None:
        take_over(store, old, new)

    if is_late:
        store.before("remove", take)
    else:
        take()
    full = raising(UnavailableError("creating: ENOSPC", kind="no-space"))
    store.before("claim_all", full)
    result = log.prune(1)
    assert (root / old.save / "model.safetensors").is_file()
    assert result.folders == [log.location(other)]
    assert SkippedFolder(log.location(old), TAKEN) in result.skipped
    assert log.entries() == ([latest] if is_late else [old, latest])


def test_another_fault_stops_it(root: Path, store: ScriptedStore, log: Log) -> None:
    """Nothing was removed."""
    publish_steps(root, log, range(1, 4))
    store.before("claim_all", raising(UnavailableError("creating: EIO")))
    with pytest.raises(UnavailableError, match="EIO"):
        log.prune(1)
    assert len(log.entries()) == 3


@pytest.mark.parametrize("folder", ["runs", "fates"])
def test_old_claims_and_fates_that_stay_are_told(
    root: Path, store: ScriptedStore, log: Log, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """And are no failure."""
    remove = ScriptedStore.remove

    def refuse(
        self: ScriptedStore, where: str, names: list[str]
    ) -> tuple[list[str], dict[str, DispatchError]]:
        if where != folder:
            return remove(self, where, names)
        return [], {names[0]: UnavailableError("removing: EIO")}

    publish_steps(root, log, range(1, 3))
    for epoch in (1, 2):
        store.claim("runs", claim_name(epoch), "a")
    monkeypatch.setattr(ScriptedStore, "remove", refuse)
    result = log.prune(1)
    [skip] = result.skipped
    assert not skip.failed
    assert "removing: EIO" in skip.reason
    assert len(result.folders) == 1


def test_claims_below_the_lowest_kept_epoch_and_old_fates_go(root: Path, log: Log) -> None:
    """Nobody needs them any more."""
    for epoch in (1, 2, 3):
        log.store.claim("runs", claim_name(epoch), f"a{epoch}")
        log.store.claim("runs", resume_name(epoch), "-")
        log.publish(epoch, epoch, make_save(root, epoch))
    log.prune(2)
    assert sorted(log.store.names("runs")[0]) == [
        name(epoch) for epoch in (2, 3) for name in (claim_name, resume_name)
    ]
    assert log.store.names("fates")[0] == []


def test_claims_that_can_not_be_removed_are_told_and_no_failure(
    root: Path, store: ScriptedStore, log: Log
) -> None:
    """All that matters was done."""
    publish_steps(root, log, range(1, 3))
    fault = raising(UnavailableError("listing: EIO (input/output error)"))
    store.before("names", *[None] * 7, fault)
    result = log.prune(1)
    assert [len(result.entries), len(result.folders)] == [1, 1]
    [skip] = result.skipped
    assert (skip.location, skip.failed) == (f"{root}/runs", False)
    assert "EIO" in skip.reason
