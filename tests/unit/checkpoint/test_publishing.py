"""Publishing: created once, withdrawn only by its creator, never of a save that isn't there."""

import os
import shutil
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.publishing import publish_entry, refuse_unpublishable
from dispatch.errors import InvalidInputError, NotFoundError, RefusedError, UnavailableError
from tests.unit.stores import ScriptedStore, make_save, names_in, raising


@pytest.fixture
def entry(root: Path) -> Entry:
    """A whole save that nobody has published."""
    return Entry(1_000_000, 500, make_save(root, 500))


class Saves:
    """Takes a save away and puts it back, as a prune does.

    Args:
        root: The checkpoint root.
        entry: Whose save it is.
    """

    def __init__(self, root: Path, entry: Entry) -> None:
        self.folder = root / entry.save
        self.aside = self.folder.with_name(".aside")

    def take(self) -> None:
        """Take it out of sight."""
        self.folder.rename(self.aside)

    def put_back(self) -> None:
        """Let it be there again."""
        self.aside.rename(self.folder)


def test_an_entry_is_created_once(root: Path, store: ScriptedStore, entry: Entry) -> None:
    """The second time it was there, which is no error here; it is an empty file."""
    assert publish_entry(store, entry, sync=False) is True
    before = (root / "pub" / entry.name()).stat()
    assert publish_entry(store, entry, sync=False) is False
    after = (root / "pub" / entry.name()).stat()
    assert names_in(root / "pub") == [entry.name()]
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino,
        0,
        after.st_mtime_ns,
    )


def test_a_save_is_looked_at_before_and_after(store: ScriptedStore, entry: Entry) -> None:
    """In that order, around the creation; and the root is still the one that was opened."""
    publish_entry(store, entry, sync=False)
    assert store.calls == ["has_save", "create", "has_save", "check"]


def test_a_root_that_was_replaced_meanwhile_is_no_success(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """What was published there is nowhere that a later execution looks."""

    def replace() -> None:
        root.rename(root.with_name("moved"))
        root.mkdir()

    store.after("create", replace)
    with pytest.raises(UnavailableError) as caught:
        publish_entry(store, entry, sync=False)
    assert caught.value.kind == "root-replaced"


def test_the_save_s_files_are_synced_first_when_asked(
    root: Path, store: ScriptedStore, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, before the entry exists."""
    synced = []

    def sync_save(_self: ScriptedStore, save: bytes) -> object:
        for file in ("model.safetensors", "trainer_state.json"):
            assert names_in(root / "pub") == []
            synced.append(save + b"/" + file.encode())
            yield synced[-1]

    monkeypatch.setattr(ScriptedStore, "sync_save", sync_save)
    assert publish_entry(store, entry, sync=True)
    assert len(synced) == 2
    assert publish_entry(store, entry, sync=False) is False
    assert len(synced) == 2


def test_a_save_that_is_not_there_is_not_published(root: Path, store: ScriptedStore) -> None:
    """A typing error must not become the latest publication; not even pub/ is made."""
    with pytest.raises(NotFoundError) as caught:
        publish_entry(store, Entry(1, 1, "exec/1.1.0/chekpoint-500"), sync=False)
    assert caught.value.kind == "save-missing"
    assert str(caught.value) == f"there is no save at '{root}/exec/1.1.0/chekpoint-500'"
    assert list(root.iterdir()) == []


def test_a_root_that_is_gone_is_not_taken_for_a_missing_save(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """The error names what is really missing."""
    shutil.rmtree(root)
    with pytest.raises(NotFoundError) as caught:
        publish_entry(store, entry, sync=False)
    assert caught.value.kind == "root-missing"


def test_an_entry_is_withdrawn_when_its_save_went_meanwhile(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """A prune took it between the creation and the second look."""
    store.after("create", Saves(root, entry).take)
    with pytest.raises(NotFoundError) as caught:
        publish_entry(store, entry, sync=False)
    assert caught.value.kind == "save-missing"
    assert names_in(root / "pub") == []
    assert store.calls == ["has_save", "create", "has_save", "remove", "has_save", "check"]


def test_an_entry_that_was_there_before_is_not_withdrawn(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """It isn't ours to take back, though its save is gone (rotated by the framework, say)."""
    publish_entry(store, entry, sync=False)
    store.after("create", Saves(root, entry).take)
    with pytest.raises(NotFoundError):
        publish_entry(store, entry, sync=False)
    assert names_in(root / "pub") == [entry.name()]
    assert "remove" not in store.calls


def test_a_save_that_is_put_back_is_published_after_all(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """The prune saw the entry and put the save back, after the publisher had withdrawn it."""
    saves = Saves(root, entry)
    store.after("create", saves.take)
    store.after("remove", saves.put_back)
    assert publish_entry(store, entry, sync=False) is True
    assert names_in(root / "pub") == [entry.name()]
    assert store.calls.count("create") == 2


def test_nobody_is_told_already_published_by_an_entry_that_is_withdrawn_for_good(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """Another publisher found the entry and was content; its creator publishes it again."""
    saves, other = Saves(root, entry), ScriptedStore(root)
    told: list[bool] = []

    def put_back_and_publish() -> None:
        saves.put_back()
        told.append(publish_entry(other, entry, sync=False))

    store.after("create", saves.take)
    store.after("has_save", None, put_back_and_publish)
    assert publish_entry(store, entry, sync=False) is True
    assert told == [False]
    assert names_in(root / "pub") == [entry.name()]


def test_a_save_that_comes_and_goes_for_ever_is_given_up(
    root: Path, store: ScriptedStore, entry: Entry
) -> None:
    """Five times, then an error, and no entry is left."""
    saves = Saves(root, entry)
    store.after("create", *[saves.take] * 5)
    store.after("remove", *[saves.put_back] * 5)
    with pytest.raises(NotFoundError) as caught:
        publish_entry(store, entry, sync=False)
    assert caught.value.kind == "save-missing"
    assert store.calls.count("create") == 5
    assert names_in(root / "pub") == []


@pytest.mark.parametrize("path", [b"runs", b"runs/1", b"runs/00000000000000000001"])
def test_claims_are_not_published(root: Path, store: ScriptedStore, path: bytes) -> None:
    """Such a path parses, since the format allows it, and is refused before any look."""
    with pytest.raises(InvalidInputError, match="is in runs/, which holds claims"):
        publish_entry(store, Entry(1, 1, path), sync=False)
    assert store.calls == []


def test_the_folder_of_all_executions_is_not_published(store: ScriptedStore) -> None:
    """It would overlap every save, so that no prune could remove any."""
    with pytest.raises(InvalidInputError, match="is the folder of all executions"):
        publish_entry(store, Entry(1, 1, "exec"), sync=False)
    assert store.calls == []


@pytest.mark.parametrize("path", [b"exec/a\nb", b"\n", b"exec/a/checkpoint-1\n"])
def test_a_path_with_a_newline_is_not_published(store: ScriptedStore, path: bytes) -> None:
    """`$(publish resolve …)` could not take it back."""
    with pytest.raises(InvalidInputError, match="holds a newline"):
        publish_entry(store, Entry(1, 1, path), sync=False)
    assert store.calls == []


@pytest.mark.parametrize("path", [b".pruned-1", b"exec/a/.pruned-1.checkpoint-5", b"a/.pruned-1/b"])
def test_what_a_prune_is_removing_is_not_published(store: ScriptedStore, path: bytes) -> None:
    """It may be half-deleted already."""
    with pytest.raises(InvalidInputError, match="is being removed by a prune"):
        publish_entry(store, Entry(1, 1, path), sync=False)
    assert store.calls == []


@pytest.mark.parametrize(
    "path", [b"runs.old/x", b"run", b"exec/runs/1", b"exec/a b\tc", b"\xff", b"a.pruned-1"]
)
def test_any_other_path_may_be_published(path: bytes) -> None:
    """Spaces, tabs and odd bytes come back through a shell."""
    refuse_unpublishable(path)


def test_a_link_to_a_folder_and_a_plain_file_are_saves(root: Path, store: ScriptedStore) -> None:
    """What counts is what a framework would find there."""
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    (root / "model.pt").touch()
    for name in ("link", "model.pt"):
        assert publish_entry(store, Entry(1, 1, name), sync=False)


@pytest.mark.parametrize("name", ["fifo", "dangling", "loop", "device"])
def test_other_things_are_no_saves(root: Path, store: ScriptedStore, name: str) -> None:
    """Nor does looking at them block."""
    os.mkfifo(root / "fifo")
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    (root / "device").symlink_to("/dev/zero")
    with pytest.raises(NotFoundError, match="there is no save at"):
        publish_entry(store, Entry(1, 1, name), sync=False)


@pytest.mark.parametrize("look", [1, 2])
def test_a_failure_to_look_is_passed_on_and_withdraws_nothing(
    store: ScriptedStore, entry: Entry, look: int
) -> None:
    """Whether the save is there is unknown, so the entry stays."""
    fault = UnavailableError("looking: EIO (input/output error)")
    store.before("has_save", *[None] * (look - 1), raising(fault))
    with pytest.raises(UnavailableError):
        publish_entry(store, entry, sync=False)
    assert "remove" not in store.calls


def test_an_entry_that_cannot_be_withdrawn_is_an_error(
    root: Path, store: ScriptedStore, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody must look: it names a save that has gone."""
    save = make_save(root, 1)
    store.after("create", lambda: shutil.rmtree(root / os.fsdecode(save)))
    failure = RefusedError("removing it: EPERM")
    monkeypatch.setattr(ScriptedStore, "remove", lambda *_: ([], {"name": failure}))
    with pytest.raises(RefusedError):
        log.publish(1, 1, save)


def test_an_entry_that_cannot_be_removed_is_not_retracted(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = RefusedError("removing it: EPERM")
    monkeypatch.setattr(ScriptedStore, "remove", lambda *_: ([], {"name": failure}))
    with pytest.raises(RefusedError):
        log.retract(Entry(1, 1, "exec/a"))
