"""Public bug reports about deleting too much, each as a test; its docstring names them."""

from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root


@pytest.mark.parametrize("keep", ["0", "-1", "-5", "", "abc", "1.5", "1e3", "+1", "\u0661", "00"])
def test_a_keep_that_is_no_count_is_refused(root: Root, publish: Program, keep: str) -> None:
    """open-instruct#541, SimpleTuner#2989, huggingface/transformers#25136."""
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)
    ended = publish.run("prune", "-checkpoint", root.path, f"-keep={keep}")
    ended.ended_with(2).answers("").says("-keep", keep, "at least 1")
    assert root.published_steps() == [1, 2, 3]
    assert len(list(root.own().iterdir())) == 3


@pytest.mark.parametrize("keep", ["3", "10", "9" * 23, "0003", "9" * 5000])
def test_a_keep_of_all_there_is_removes_nothing(root: Root, keep: str) -> None:
    """open-instruct#541, SimpleTuner#2989, huggingface/transformers#25136."""
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)
    root.prune(keep, "-v").well().answers("")
    assert root.published_steps() == [1, 2, 3]
    assert len(list(root.own().iterdir())) == 3


def test_prunes_that_run_at_once_all_succeed(root: Root, publish: Program) -> None:
    """huggingface/transformers#20988, open-instruct#975."""
    for step in range(1, 31):
        save = root.hf(step)
        for number in range(20):
            (save / f"rng_state_{number}.pth").touch()
        for published in range(step * 100 - 99, step * 100 + 1):
            root.write_entry(root.relative(save), published)
    for keep in ("1000", "250"):
        flags = ("prune", "-checkpoint", root.path, "-keep", keep)
        prunes = [publish.start(*flags) for _ in range(8)]
        for prune in prunes:
            prune.wait().well()
    assert root.published_steps() == list(range(2751, 3001))
    left = sorted(save.name for save in root.own().iterdir())
    assert left == ["checkpoint-28", "checkpoint-29", "checkpoint-30"]
    assert {len(list((root.own() / name).iterdir())) for name in left} == {22}
    root.assert_resolves_to(root.own() / "checkpoint-30")


def test_nothing_behind_a_link_is_deleted(root: Root, tmp_path: Path) -> None:
    """rocprofiler-compute#296, backintime#1217, pyzmq#1572, unsloth#6796."""
    elsewhere, archive = tmp_path / "nvme", tmp_path / "archive"
    elsewhere.mkdir()
    (root.path / "exec").mkdir()
    root.own().symlink_to(elsewhere)  # a whole attempt's folder
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)
    old = root.hf(9, attempt="b")
    old.rename(archive)
    linked = root.own("b") / "checkpoint-0"  # one save
    linked.symlink_to(archive)
    root.publish(linked, 0)
    ordinary = root.hf(1, attempt="c")  # and a link inside a save that may go
    (archive / "precious").write_text("keep")
    (ordinary / "data").symlink_to(archive)
    root.publish(ordinary, 1, epoch=1)
    root.prune(1).well().says("checkpoint-1", "checkpoint-2", linked, "symbolic link")
    assert sorted(path.name for path in elsewhere.iterdir()) == [
        "checkpoint-1",
        "checkpoint-2",
        "checkpoint-3",
    ]
    assert (archive / "precious").exists()
    assert (archive / "model.safetensors").exists()
    assert not ordinary.exists()
    assert len(root.names()) == 1
    root.assert_resolves_to(root.own() / "checkpoint-3")


def test_a_root_that_is_a_link_works_and_is_pruned(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """rocprofiler-compute#296, xrootd#1098, unsloth#6796."""
    link = tmp_path / "scratch"
    link.symlink_to(root.path)
    linked = Root(link, publish)
    for step in (1, 2, 3, 4):
        linked.hf(step)
    watch = linked.watch()
    newest = linked.let_a_scan_pass(watch, 5)
    watch.end().well()
    assert root.published_steps() == [1, 2, 3, 4, 5]
    linked.assert_resolves_to(newest)
    root.assert_resolves_to(root.own() / "checkpoint-5")
    linked.prune(2).well()
    assert sorted(save.name for save in root.own().iterdir()) == ["checkpoint-4", "checkpoint-5"]
    assert link.is_symlink()
