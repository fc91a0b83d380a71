"""A folder that can't be synced: an error that says so, never a silent success."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.injection import injecting
from tests.cli.program import Argument, Program
from tests.cli.roots import Root

pytestmark = pytest.mark.real

REFUSALS = ["EINVAL", "EOPNOTSUPP", "EPERM"]  # what file systems answer that can't do it
FAULTS = ["EIO", "ENOSPC", "EDQUOT", "ESTALE"]
BY_HAND = ["publish", "{save}", "1"]
BY_WATCH = ["watch", "-framework", "hf", "-once"]


def arguments_of(root: Root, words: Sequence[str]) -> list[Argument]:
    """Fill a command line in."""
    save = root.own() / "checkpoint-1"
    return [*(word.format(save=save) for word in words), "-checkpoint", root.path]


@pytest.mark.parametrize("error", REFUSALS + FAULTS)
@pytest.mark.parametrize("words", [BY_HAND, BY_WATCH], ids=["by hand", "by watch"])
def test_a_publication_that_may_not_be_durable_is_no_success(
    root: Root, publish: Program, words: Sequence[str], error: str
) -> None:
    """Neither pub/ nor the root may fail to sync; a later try mends it."""
    root.hf(1)
    root.pub.mkdir()
    arguments = arguments_of(root, words)
    for folder in (root.pub, root.path):
        prefix = injecting("fsync", f"error={error}", folder)
        ended = publish.run(*arguments, prefix=prefix).ended_with(1).answers("")
        ended.says("may not be durable", f"syncing {folder}: ")
        assert b"published step" not in ended.err
        assert (b"can't make names durable" in ended.err) == (error in REFUSALS)
    publish.run(*arguments).well()
    assert root.published_steps() == [1]


@pytest.mark.parametrize("error", ["EIO", "EINVAL"])
def test_already_published_means_durable_too(root: Root, publish: Program, error: str) -> None:
    """Whoever created the entry may have died before its sync."""
    save = root.hf(1)
    root.publish(save, 1)
    for folder in (root.pub, root.path):
        ended = publish.run(
            *arguments_of(root, BY_HAND), prefix=injecting("fsync", f"error={error}", folder)
        )
        ended.ended_with(1).says("may not be durable", folder)
        assert b"already published" not in ended.err


@pytest.mark.parametrize("error", ["EIO", "EINVAL"])
def test_prune_touches_no_folder_before_its_entries_are_gone_for_good(
    root: Root, publish: Program, error: str
) -> None:
    """An entry could come back and name a folder that is gone."""
    saves = [root.hf(step) for step in (1, 2)]
    for step, save in enumerate(saves, start=1):
        root.publish(save, step)
    ended = publish.run(
        "prune", "-checkpoint", root.path, "-keep", "1", "-v",
        prefix=injecting("fsync", f"error={error}", root.pub),
    )  # fmt: skip
    ended.ended_with(1).answers("").says(root.pub)
    assert all(save.exists() for save in saves)


@pytest.mark.parametrize("error", ["EIO", "EINVAL"])
def test_prune_deletes_nothing_before_it_is_out_of_sight_for_good(
    root: Root, publish: Program, error: str
) -> None:
    """A power loss could bring the save's name back, with half of its files."""
    saves = [root.hf(step) for step in (1, 2)]
    for step, save in enumerate(saves, start=1):
        root.publish(save, step)
    ended = publish.run(
        "prune", "-checkpoint", root.path, "-keep", "1",
        prefix=injecting("fsync", f"error={error}", root.own()),
    )  # fmt: skip
    ended.ended_with(1)
    assert len(list(root.own().rglob("trainer_state.json"))) == 2
    root.prune(1).well()
    assert list(root.own().iterdir()) == [saves[1]]


def test_retract_says_when_the_entry_may_come_back(root: Root, publish: Program) -> None:
    """As a publication may go."""
    root.publish(root.hf(1), 1)
    ended = publish.run(
        "retract", "-checkpoint", root.path, "-yes", root.names()[0],
        prefix=injecting("fsync", "error=EIO", root.pub),
    )  # fmt: skip
    ended.ended_with(1).says("may", root.pub, "EIO")


@pytest.mark.parametrize("error", ["EIO", "EINVAL"])
@pytest.mark.parametrize("words", [BY_HAND, BY_WATCH], ids=["by hand", "by watch"])
def test_with_sync_a_save_that_is_not_durable_is_not_published(
    root: Root, publish: Program, words: Sequence[str], error: str
) -> None:
    """Any file of it, or folder of it or above it."""
    save = root.hf(1)
    (save / "inner").mkdir()
    (save / "inner/rng.pth").touch()
    parts: list[Path] = [
        save / "model.safetensors", save / "inner/rng.pth", save / "inner", save, save.parent,
        root.path / "exec", root.path,
    ]  # fmt: skip
    for part in parts:
        prefix = injecting("fsync", f"error={error}", part)
        ended = publish.run(*arguments_of(root, words), "-sync", prefix=prefix).ended_with(1)
        ended.says(error)
        assert root.names() == [], part
    publish.run(*arguments_of(root, words), "-sync").well()
    assert root.published_steps() == [1]


def test_without_sync_a_saves_own_files_are_not_synced(root: Root, publish: Program) -> None:
    """Trainer syncs nothing, and a publication is no data sync."""
    save = root.hf(1)
    prefix = injecting("fsync", "error=EIO", save / "model.safetensors")
    publish.run(*arguments_of(root, BY_HAND), prefix=prefix).well()


LOOKS = [
    ("getdents64", "{root}/pub", ["resolve"]),
    ("openat", "{root}", ["resolve"]),
    ("getdents64", "{root}/exec/1.4101.0", BY_WATCH),
    ("newfstatat", "exec/1.4101.0/checkpoint-1", BY_WATCH),
    ("newfstatat", "exec/1.4101.0/checkpoint-1/trainer_state.json", BY_WATCH),
    ("openat", "exec/1.4101.0/checkpoint-1/trainer_state.json", BY_WATCH),
    ("read", "{root}/exec/1.4101.0/checkpoint-1/trainer_state.json", BY_WATCH),
    ("getdents64", "{root}/exec/1.4101.0/checkpoint-1", BY_WATCH),
]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("error", ["EIO", "ESTALE", "EACCES", "ENOMEM", "EMFILE"])
def test_a_look_that_fails_is_an_error_never_nothing(
    root: Root, publish: Program, look: tuple[str, str, Sequence[str]], error: str
) -> None:
    """The answer stays empty, the status does not."""
    call, where, words = look
    save = root.hf(1)
    if words == ["resolve"]:
        root.publish(save, 1)
    place = where.format(root=root)
    prefix = injecting(call, f"error={error}", place)
    ended = publish.run(*arguments_of(root, words), prefix=prefix)
    ended.ended_with(1).answers("").says(error, place)
    assert root.names() == ([root.entry(save, 1).name] if words == ["resolve"] else [])
