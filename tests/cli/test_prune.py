"""`prune`: what it prints, what it leaves and why, and its status."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import EPOCH, Program
from tests.cli.roots import Root


def everything_below(root: Root) -> list[tuple[str, int, int]]:
    """List everything below a root, with what a change would change."""
    found = []
    for path in sorted(root.path.rglob("*")):
        status = path.lstat()
        found.append((str(path), status.st_ino, status.st_mtime_ns))
    return found


def three_saves(root: Root) -> list[Path]:
    """Publish steps 1, 2 and 3."""
    saves = [root.hf(step) for step in (1, 2, 3)]
    for step, save in enumerate(saves, start=1):
        root.publish(save, step)
    return saves


def test_it_prints_nothing_unless_asked(root: Root) -> None:
    """A job script's log stays short."""
    three_saves(root)
    ended = root.prune(1).well().answers("")
    assert ended.err == b""


@pytest.mark.parametrize("flag", ["-v", "-dry-run"])
def test_it_prints_each_entry_and_folder_when_asked(root: Root, flag: str) -> None:
    """Entries ascending, then folders."""
    saves = three_saves(root)
    names = root.names()
    ended = root.prune(1, flag).well()
    wanted = [f"entry {name}" for name in names[:2]] + [f"folder {save}" for save in saves[:2]]
    assert ended.out.decode().splitlines() == wanted


def test_a_dry_run_changes_nothing_and_says_what_the_real_one_then_does(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """Entries that share a folder, a link, a kept path inside, a save that is gone."""
    three_saves(root)
    root.publish(root.hf(1), 9)  # keeps checkpoint-1
    (root.path / "linked").symlink_to(tmp_path)
    (tmp_path / "save").mkdir()
    root.publish(root.path / "linked/save", 4, epoch=3)
    outer = root.hf(5, attempt="nested")
    (outer / "inner").mkdir()
    root.publish(outer, 5, epoch=4)
    root.publish(outer / "inner", 10)
    gone = root.hf(6, attempt="gone")
    root.publish(gone, 6, epoch=5)
    (gone / "trainer_state.json").unlink()
    (gone / "model.safetensors").unlink()
    gone.rmdir()
    before = everything_below(root)
    dry = root.prune(2, "-dry-run").well()
    assert everything_below(root) == before
    wet = root.prune(2, "-v").well()
    assert wet.out == dry.out
    assert wet.out.count(b"folder ") == 2
    assert wet.err == dry.err.replace(b"would leave", b"left")
    assert root.published_steps() == [9, 10]


def test_a_dry_run_also_tells_of_what_an_interrupted_prune_left(root: Root) -> None:
    """Both of the names that a removal goes through."""
    save = three_saves(root)[0]
    for name in (".pruned-0123456789abcdef", ".pruned-0123456789abcdef.checkpoint-7"):
        (save.parent / name).mkdir()
        (save.parent / name / "model.safetensors").touch()
    before = everything_below(root)
    dry = root.prune(3, "-dry-run").well()
    assert everything_below(root) == before
    wet = root.prune(3, "-v").well()
    assert wet.out.count(b"folder ") == 2
    assert wet.out == dry.out
    assert sorted(path.name for path in save.parent.iterdir()) == [
        "checkpoint-1",
        "checkpoint-2",
        "checkpoint-3",
    ]


def test_keep_every_keeps_the_best_save_of_each_such_step(root: Root) -> None:
    """By epoch, whatever else is kept."""
    for step in (10, 15, 20, 25, 30):
        root.publish(root.hf(step, attempt="a"), step, EPOCH)
    for step in (20, 22, 31):
        root.publish(root.hf(step, attempt="b"), step, 2 * EPOCH)
    root.prune(1, "-keep-every", "10").well()
    left = sorted(path.relative_to(root.path / "exec") for path in (root.path / "exec").glob("*/*"))
    assert list(map(str, left)) == [
        "a/checkpoint-10",
        "a/checkpoint-30",
        "b/checkpoint-20",
        "b/checkpoint-31",
    ]


def test_pruning_again_changes_nothing(root: Root) -> None:
    """Idempotent."""
    three_saves(root)
    root.prune(2).well()
    before = everything_below(root)
    root.prune(2, "-v").well().answers("")
    assert everything_below(root) == before


def test_an_empty_root_is_pruned_well(root: Root) -> None:
    """A first run that never saved."""
    root.prune(1, "-v").well().answers("")
    assert list(root.path.iterdir()) == []


@pytest.mark.parametrize("path", ["exec", "runs", "exec/a"])
def test_folders_that_hold_more_than_a_save_stay(root: Root, publish: Program, path: str) -> None:
    """Whatever an entry names, with the reason on stderr and status 0."""
    kept = root.hf(9, attempt="a")
    (root.path / "runs").mkdir()
    root.write_entry(path, 1, epoch=1)
    root.publish(kept, 9)
    ended = root.prune(1, "-v").well()
    ended.says(f"publish: left {root}/{path}: ")
    assert b"folder" not in ended.out
    assert kept.exists()
    assert (root.path / path).exists()


@pytest.fixture
def immutable(root: Root) -> Iterator[Path]:
    """A published old save with a file that not even root can remove."""
    save = root.hf(1)
    root.publish(save, 1)
    stuck = save / "model.safetensors"
    flagged = subprocess.run(["chattr", "+i", stuck], capture_output=True, check=False)
    if flagged.returncode:
        pytest.skip("this file system has no immutable files, or we are not root")
    yield save
    # It was renamed out of sight meanwhile.
    for path in root.path.rglob("model.safetensors"):
        subprocess.run(["chattr", "-i", path], capture_output=True, check=True)


@pytest.mark.root
@pytest.mark.real
def test_a_folder_that_cannot_be_removed_is_status_1_and_the_rest_goes_on(
    root: Root, immutable: Path
) -> None:
    """With its errno; the next prune tries again."""
    second = root.hf(2)
    root.publish(second, 2)
    root.publish(root.hf(3), 3)
    ended = root.prune(1, "-v").ended_with(1)
    ended.says("publish: error: left", "checkpoint-1", "EPERM")
    assert ended.out.splitlines()[-1] == b"folder %s" % os.fsencode(second)
    assert not immutable.exists()  # out of sight: a half-deleted save must never look complete
    assert not second.exists()
    assert root.published_steps() == [3]
    root.prune(1).ended_with(1).says("EPERM")
    [stuck] = root.own().glob(".pruned-*/model.safetensors")
    subprocess.run(["chattr", "-i", stuck], check=True)
    root.prune(1).well()
    assert [path.name for path in root.own().iterdir()] == ["checkpoint-3"]
