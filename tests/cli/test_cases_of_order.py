"""Public bug reports about which save is the latest, each as a test; its docstring names them."""

import random
import shutil

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root


def test_an_old_run_never_wins_by_its_higher_steps(root: Root) -> None:
    """unsloth-zoo#782, huggingface/transformers#37260, SimpleTuner#2989, metaseq#142."""
    old = root.hf(500, attempt="1.4101.0")
    new = root.hf(100, attempt="2.4102.0")
    late = root.hf(5000, attempt="1.4101.0")
    root.publish(old, 500, 1_000_000)
    root.publish(new, 100, 2_000_000)
    root.publish(late, 5000, 1_000_000)  # still saving after its job has ended
    root.assert_resolves_to(new)
    root.prune(1).well()
    assert [old.exists(), new.exists(), late.exists()] == [False, True, False]
    assert len(root.names()) == 1
    root.publish(root.hf(6000, attempt="1.4101.0"), 6000, 1_000_000)
    root.assert_resolves_to(new)
    superseding = root.hf(1, attempt="9.9.0")
    root.publish(superseding, 1, 1_000_001_000_000)
    root.assert_resolves_to(superseding)


def test_steps_and_epochs_order_as_numbers(root: Root, seed: int) -> None:
    """open-instruct#541, huggingface/transformers#27138, xvr#89."""
    steps = [9, 10, 100, 999, 1000, 9000, 10_000]
    random.Random(seed).shuffle(steps)
    for step in steps:
        root.publish(root.hf(step), step)
    root.assert_resolves_to(root.own() / "checkpoint-10000")
    root.prune(3).well()
    left = sorted(int(save.name.removeprefix("checkpoint-")) for save in root.own().iterdir())
    assert left == root.published_steps() == [1000, 9000, 10_000]
    tenth = root.hf(1, attempt="a10")
    root.publish(tenth, 1, 10_000_000)
    root.publish(root.hf(1, attempt="a9"), 1, 9_000_000)
    root.assert_resolves_to(tenth)


def test_publishing_again_leaves_the_entry_as_it_was(root: Root) -> None:
    """Automodel#3390, Automodel#3261, huggingface/transformers#27925."""
    save = root.hf(1200)
    root.publish(save, 1200)
    entry = root.entry(save, 1200)
    before = entry.stat()
    assert before.st_size == 0
    for _ in range(3):
        root.publish(save, 1200).says("already published", save).answers("")
    watch = root.watch()
    root.let_a_scan_pass(watch, 1300)
    assert b"step 1200" not in watch.end().well().err
    after = entry.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    replay = root.hf(1200, attempt="2.4102.0")
    root.publish(replay, 1200, 2_000_000)
    assert root.published_steps() == [1200, 1300, 1200]
    root.assert_resolves_to(replay)


def test_a_published_save_that_is_gone_is_still_the_answer(root: Root) -> None:
    """huggingface/transformers#48319, #20988, deepracer-for-cloud#79."""
    saves = {step: root.hf(step) for step in (1, 2, 3)}
    for step, save in saves.items():
        root.publish(save, step)
    shutil.rmtree(saves[3])
    shutil.rmtree(saves[1])
    root.assert_resolves_to(saves[3])
    root.prune(1).well()
    assert root.published_steps() == [3]
    assert not saves[2].exists()
    shutil.rmtree(root.path / "exec")
    root.assert_resolves_to(saves[3])
    root.prune(1).well()


def test_twenty_thousand_publications_are_no_burden(root: Root) -> None:
    """slurm-pipeline#45, geode#35, automq#2660."""
    shared = root.hf(1)
    for step in range(1, 20_001):
        root.write_entry(root.relative(shared), step)
    newest = root.hf(20_001)
    root.publish(newest, 20_001)
    root.assert_resolves_to(newest)
    root.prune(5).well()
    assert root.published_steps() == list(range(19_997, 20_002))
    assert shared.exists()  # entries that stay name it
    root.prune(1).well()
    assert not shared.exists()
    root.assert_resolves_to(newest)


JUNK = [
    ".nfs000000000227_3a940000254d", ".DS_Store", "._x", "Thumbs.db", "core.1234",
    "{}.tmp", "{}~", ".{}.swp", "0{}", "x{}", "{} ", "{}=", "lost+found",
]  # fmt: skip


@pytest.mark.parametrize("pattern", JUNK)
def test_a_stray_name_in_pub_stops_every_reading_command(
    root: Root, publish: Program, pattern: str
) -> None:
    """milliFlow#8, sheffield_hpc#362, nipype#3357, nanochat#311."""
    saves = [root.hf(step) for step in (1, 2)]
    for step, save in enumerate(saves, start=1):
        root.publish(save, step)
    junk = pattern.format(root.entry(saves[1], 2).name)
    stray = root.pub / junk
    stray.mkdir() if junk == "lost+found" else stray.touch()
    for arguments in (("resolve",), ("log",), ("prune", "-keep", "1")):
        ended = publish.run(*arguments, "-checkpoint", root.path)
        ended.ended_with(1).answers("").says(junk)
    assert len(root.names()) == 3
    assert all(save.exists() for save in saves)
    stray.rmdir() if junk == "lost+found" else stray.unlink()
    root.assert_resolves_to(saves[1])
