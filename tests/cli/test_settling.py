"""Saves that others may still write to: `watch -ranks`, `-settle`, and what was passed over."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root


def of_ranks(root: Root, step: int, ranks: int) -> Path:
    """Write a save as a Trainer on several ranks does, its state last."""
    save = root.own() / f"checkpoint-{step}"
    save.mkdir(parents=True, exist_ok=True)
    (save / "optimizer.pt").write_bytes(b"optimizer")
    for rank in range(ranks):
        (save / f"rng_state_{rank}.pth").write_bytes(b"random")
    return root.hf(step)


def test_a_rank_that_the_save_shows_to_be_missing_is_waited_for(root: Root) -> None:
    """Rank 0 has a file of its own name, so there is a rank 1."""
    save = of_ranks(root, 1, 1)
    watch = root.watch()
    root.let_a_scan_pass(watch, 2)
    assert not root.entry(save, 1).exists()
    (save / "rng_state_1.pth").write_bytes(b"random")
    root.wait_until_published(save, 1, watch)
    watch.end().well()


def test_ranks_that_are_given_are_waited_for(root: Root) -> None:
    """The save alone doesn't show the last."""
    save = of_ranks(root, 1, 2)
    watch = root.watch("-ranks", "3")
    of_ranks(root, 2, 3)
    root.wait_until_published(root.own() / "checkpoint-2", 2, watch)
    assert not root.entry(save, 1).exists()
    (save / "rng_state_2.pth").write_bytes(b"random")
    root.wait_until_published(save, 1, watch)
    watch.end().well()


def test_a_save_that_goes_on_changing_is_not_published(root: Root) -> None:
    """A rewrite under an old marker: the state stands, and the weights move."""
    save = root.hf(1)
    watch = root.watch("-settle", "1500ms")
    watch.wait_until_it_handles_signals()
    deadline = time.monotonic() + 4
    size = 0
    while time.monotonic() < deadline:
        size += 1
        (save / "model.safetensors").write_bytes(b"w" * size)
        assert not root.entry(save, 1).exists()
    root.wait_until_published(save, 1, watch)
    watch.end().well()


def test_the_last_look_publishes_what_was_complete_and_leaves_what_still_changes(
    root: Root,
) -> None:
    """It waits for the settle time once; neither is lost silently."""
    watch = root.watch("-settle", "2s")
    watch.wait_until_it_handles_signals()
    at_rest, changing = root.hf(1), root.hf(2)
    watch.send(signal.SIGTERM)
    size = 0
    while watch.is_running():
        size += 1
        (changing / "model.safetensors").write_bytes(b"w" * size)
    ended = watch.wait().well()
    ended.says(f"published step 1: {at_rest}")
    ended.says(f"warning: passed over: {changing}: the save has not looked the same for 2 s")
    assert root.published_steps() == [1]


def test_once_waits_for_a_save_to_settle_too(root: Root, publish: Program) -> None:
    """It is the line for what was saved after watch had its signal."""
    flags = ("-checkpoint", root.path, "-framework", "hf", "-once")
    save = of_ranks(root, 1, 2)
    ended = publish.run("watch", *flags, "-settle", "500ms").well()
    ended.says(f"published step 1: {save}")


@pytest.mark.parametrize("framework", ["hf", "dcp"])
def test_the_default_is_chosen_by_what_the_save_shows(root: Root, framework: str) -> None:
    """One process: at once. What others may write to: later than that, and all the same."""
    shared = of_ranks(root, 1, 2) if framework == "hf" else root.dcp(1)
    flags = ("watch", "-checkpoint", root.path, "-framework", framework, "-interval", "50ms")
    running = root.program.start(*flags)
    alone = root.hf(2)
    if framework == "hf":
        root.wait_until_published(alone, 2, running)
        assert not root.entry(shared, 1).exists()
    root.wait_until_published(shared, 1, running)
    running.end().well()


def test_a_save_that_was_never_complete_is_named_with_the_reason(root: Root) -> None:
    """Once, at the end: nobody has to guess why it isn't published."""
    save = root.hf(1, "{")
    watch = root.watch()
    root.let_a_scan_pass(watch, 2)
    ended = watch.end().well()
    said = f"passed over: {save}: the save has a trainer_state.json that is not whole"
    assert ended.err.decode().count(said) == 1


def test_a_watch_for_the_wrong_framework_is_not_silent(root: Root, publish: Program) -> None:
    """Its own saves look otherwise."""
    save = root.hf(1)
    flags = ("-checkpoint", root.path, "-framework", "dcp", "-once")
    ended = publish.run("watch", *flags).well()
    ended.says(f"passed over: {save}: the save is named as hf names its saves, not dcp")
    [line] = publish.run("watch", *flags, "-json").well().err.splitlines()
    message = json.loads(line)
    assert message["event"] == "passed-over"
    assert message["save"] == str(save)
    assert message["reason"] == "is named as hf names its saves, not dcp"


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-ranks=0", "-ranks '0' is not a whole number of at least 1"),
        ("-ranks=two", "-ranks 'two' is not a whole number of at least 1"),
        ("-settle=5", "-settle '5' is not a duration: a number and a unit, such as 10s"),
        ("-settle=-1s", "-settle '-1s' is not a duration"),
        ("-settle=", "-settle '' is not a duration"),
    ],
)
def test_a_number_of_ranks_and_a_duration_have_their_forms(
    root: Root, publish: Program, flag: str, message: str
) -> None:
    """Before anything is looked at."""
    ended = publish.run("watch", "-checkpoint", root.path, "-framework", "hf", flag)
    ended.ended_with(2).answers("").says(message)


def test_a_settle_of_any_length_is_taken(root: Root, publish: Program) -> None:
    """Longer than any clock counts means for ever; the watch goes on with other things."""
    root.hf(1)
    watch = root.watch("-settle", "99999999999999999h")
    watch.wait_until_it_handles_signals()
    assert watch.is_running()
    watch.kill()
    publish.run(
        "watch", "-checkpoint", root.path, "-framework", "hf", "-settle", "0ms", "-once"
    ).well().says("published step 1")
