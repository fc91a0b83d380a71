"""Public bug reports about what counts as a save, each as a test; its docstring names them."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.cli.program import Program, wait_for
from tests.cli.roots import Root

WHOLE_STATE = (
    '{"best_metric": null, "epoch": 1.25, "global_step": 500, '
    '"log_history": [{"loss": 0.5, "step": 500}], "max_steps": 1000}'
)


def test_a_save_that_was_cut_off_by_a_kill_is_passed_over(root: Root) -> None:
    """fms-hf-tuning#432, huggingface/transformers#35782, huggingface/transformers#35525."""
    good = root.hf(20)
    watch = root.watch()
    root.wait_until_published(good, 20, watch)
    cut_off = root.own() / "checkpoint-25"
    cut_off.mkdir()
    (cut_off / "model.safetensors").touch()
    (cut_off / "optimizer.pt").touch()
    newer = root.let_a_scan_pass(watch, 26)
    watch.end().well()
    assert root.published_steps() == [20, 26]
    # The newest goes as if it had never been: what the next execution finds is step 20.
    root.entry(newer, 26).unlink()
    root.assert_resolves_to(good)


def test_a_staging_folder_is_no_save_until_it_is_renamed(root: Root) -> None:
    """huggingface/transformers#27925, #28848, axolotl#948, MM-Eureka-V0#8."""
    watch = root.watch()
    save = root.hf(50)
    staged = save.rename(root.own() / "tmp-checkpoint-50")
    root.hf(51).rename(root.own() / "tmp-checkpoint-s0yubqtr")
    best = root.let_a_scan_pass(watch, 60)
    # The watch was running while each stood under its own name for a moment.
    for name in set(root.names()) - {root.entry(best, 60).name}:
        (root.pub / name).unlink()
    staged.rename(save)
    root.wait_until_published(save, 50, watch)
    root.assert_resolves_to(best)
    watch.end().well()
    assert root.published_steps() == [50, 60]


HF_LOOKALIKES = [
    "checkpoint-100-best",
    "checkpoint-100.bak",
    "checkpoint-100_old",
    "checkpoint-100-hf",
    "xcheckpoint-100",
    "checkpoint-",
    "checkpoint",
    "checkpoint-final",
    "checkpoint-last",
    "Checkpoint-100",
    "checkpoint_100",
    ".checkpoint-100",
    "runs",
    "checkpoint--100",
    "checkpoint-+100",
    "checkpoint-1e2",
    "checkpoint-100.0",
    "checkpoint-1_00",
    "checkpoint-18446744073709551616",
    "checkpoint-\u0661\u0660\u0660",
]
DCP_LOOKALIKES = [
    "step-10-hf",
    "step-10_hf",
    "step-10.bak",
    "step-",
    "step",
    "step-last",
    "step10",
    "steps-10",
    "Step-10",
    "step-1_0",
]


@pytest.mark.parametrize(("framework", "names"), [("hf", HF_LOOKALIKES), ("dcp", DCP_LOOKALIKES)])
def test_folders_that_only_look_like_saves_are_passed_over(
    root: Root, framework: str, names: list[str]
) -> None:
    """NVIDIA-NeMo/RL#1168, nanochat#311, axlearn#739, skydiscover#9."""
    for name in (*names, "checkpoint-100 (copy)", "step-10 ", "checkpoint-100\n"):
        folder = root.own() / name
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "trainer_state.json").write_text('{"global_step": 100}')
        (folder / ".metadata").write_text("metadata")
    watch = root.watch(framework=framework)
    root.let_a_scan_pass(watch, 101, framework)
    watch.end().well()
    assert root.published_steps() == [101]


def test_a_state_cut_short_is_waited_for_until_it_is_whole(root: Root) -> None:
    """diffusion-pipe#159, Lightning-AI/pytorch-lightning#688, speculators#739."""
    save = root.hf(500, "")
    watch = root.watch()
    lengths = (0, 1, 40, 60, 100, len(WHOLE_STATE) - 1)
    for canary, length in enumerate(lengths, start=1000):
        (save / "trainer_state.json").write_text(WHOLE_STATE[:length])
        root.let_a_scan_pass(watch, canary)
        assert not root.entry(save, 500).exists()
    (save / "trainer_state.json").write_text(WHOLE_STATE)
    root.wait_until_published(save, 500, watch)
    watch.end().well()


def test_many_watchers_of_one_folder_publish_each_save_once(root: Root) -> None:
    """huggingface/transformers#20988, pytorch-image-models#693, nanochat#336."""
    watches = [root.watch() for _ in range(4)]
    for step in range(1, 31):
        root.hf(step)
    root.let_a_scan_pass(watches[0], 31)
    for step in range(32, 41):
        root.hf(step)
    for watch in watches:
        assert watch.is_running()
        watch.send(signal.SIGTERM)
    told = [watch.wait().well().err.count(b"published step") for watch in watches]
    assert root.published_steps() == list(range(1, 41))
    assert {entry.stat().st_size for entry in root.pub.iterdir()} == {0}
    assert sum(told) == 40  # each was told by the one that made it, and by no other
    root.assert_resolves_to(root.own() / "checkpoint-40")


def test_a_dcp_save_counts_once_its_metadata_is_in_place(root: Root) -> None:
    """torchtitan#315, awsome-distributed-ai#190 and #251, nvidia-resiliency-ext#364."""
    watch = root.watch(framework="dcp")
    save = root.own() / "step-10"
    save.mkdir(parents=True)
    for rank in range(4):
        (save / f"__{rank}_0.distcp").write_bytes(b"shard")
    (root.own() / "step-11/.metadata").mkdir(parents=True)
    root.let_a_scan_pass(watch, 100, "dcp")
    for name in (".metadata.tmp", "metadata", ".metadata~", "metadata.json", ".Metadata"):
        (save / name).write_bytes(b"metadata")
    root.hf(500)
    root.let_a_scan_pass(watch, 101, "dcp")
    assert root.published_steps() == [100, 101]
    (save / ".metadata.tmp").rename(save / ".metadata")
    root.wait_until_published(save, 10, watch)
    watch.end().well()
    root.assert_resolves_to(root.own() / "step-101")


def test_a_watch_may_start_before_any_folder_is_there(root: Root, publish: Program) -> None:
    """huggingface/transformers#11620, nanochat#336, levanter#991."""
    watch = root.watch()
    observer = publish.start(  # a second execution, whose publications show that time passes
        "watch", "-checkpoint", root.path, "-framework", "hf", "-interval", "50ms",
        "-saves", root.path / "elsewhere", environment={"DISPATCH_ATTEMPT": "other"},
    )  # fmt: skip
    elsewhere = root.path / "elsewhere"
    for step, folder in enumerate((root.path / "exec", root.own()), start=1):
        seen = elsewhere / f"checkpoint-{step}"
        seen.mkdir(parents=True)
        (seen / "model.safetensors").write_bytes(b"weights")
        (seen / "trainer_state.json").write_text(f'{{"global_step": {step}}}')
        root.wait_until_published(seen, step, observer)
        assert watch.is_running()
        folder.mkdir()
    root.let_a_scan_pass(watch, 3)
    watch.end().well()
    observer.end().well()
    idle = root.watch(attempt="2.5.0")  # a run that never saved anything
    idle.wait_until_it_handles_signals()
    idle.end().well()
    assert root.published_steps() == [1, 2, 3]


def test_a_save_copied_to_another_step_is_not_that_step(root: Root) -> None:
    """axlearn#739, TinyZero#82, metaseq#142."""
    original = root.hf(100)
    shutil.copytree(original, root.own() / "checkpoint-200")
    shutil.copytree(original, root.own() / "checkpoint-50")
    watch = root.watch()
    root.let_a_scan_pass(watch, 300)
    watch.end().well()
    assert root.published_steps() == [100, 300]


def test_file_times_change_nothing(root: Root) -> None:
    """huggingface/transformers#37260, skypilot#2432, EveryVoice#183."""
    in_1970, in_2037 = 86_400, 2_114_380_800

    def date(moment: int, *paths: Path) -> None:
        for path in paths:
            os.utime(path, (moment, moment))

    saves = {step: root.hf(step) for step in (1, 2, 3, 4)}
    for step, save in saves.items():
        root.publish(save, step)
    date(in_2037, saves[1], root.entry(saves[1], 1))
    date(in_1970, saves[4], saves[4] / "trainer_state.json", root.entry(saves[4], 4))
    root.assert_resolves_to(saves[4])
    root.prune(1).well()
    assert [save.exists() for save in saves.values()] == [False, False, False, True]
    old, new = root.hf(10), root.hf(11)
    date(in_1970, old / "trainer_state.json", old)
    date(in_2037, new / "trainer_state.json", new, root.own())
    watch = root.watch()
    root.wait_until_published(old, 10, watch)
    root.wait_until_published(new, 11, watch)
    wait_for(lambda: watch.said().count(b"published step") == 2, "two publications")
    watch.end().well()
