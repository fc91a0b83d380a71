"""A store that fails or hangs under `publish run`: training goes on, and the status says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.injection import injecting
from tests.cli.mounts import Mounts
from tests.cli.program import Program, wait_for
from tests.cli.roots import Root
from tests.cli.runs import Runs, shell
from tests.cli.test_full_disks import use_up_inodes

LONG = "delay_enter=4000000"  # microseconds: three seconds more than the runs wait
BROKEN = 'rm -rf "$1"; touch "$1"; '  # the log's folder is a file: nothing can be published


@pytest.fixture
def runs(root: Root) -> Runs:
    """Runs at an empty root."""
    return Runs(root)


def test_what_stays_unpublished_is_74_when_the_command_succeeded(runs: Runs, root: Root) -> None:
    ended = runs.run(shell(BROKEN + "save 1", root.pub), "-timeout", "1s").ended_with(74)
    ended.says("warning: publishing failed, and is tried again", "ENOTDIR")
    ended.says("error: saves may have stayed unpublished")


def test_the_command_s_own_failure_goes_first(runs: Runs, root: Root) -> None:
    ended = runs.run(shell(BROKEN + "save 1; exit 5", root.pub), "-timeout", "1s").ended_with(5)
    ended.says("saves may have stayed unpublished")


def test_nothing_is_pruned_after_a_last_look_that_failed(runs: Runs, root: Root) -> None:
    """The store isn't well, and the job's end would wait for it."""
    ended = runs.run(shell(BROKEN + "save 1", root.pub), "-timeout", "1s", "-keep", "1")
    assert b"pruning" not in ended.ended_with(74).err


def test_a_store_that_heals_has_all_saves(runs: Runs, root: Root) -> None:
    script = BROKEN + 'save 1; until_there "$2"; rm "$1"; save 2; exit 0'
    healed = root.path / "healed"
    running = runs.start(shell(script, root.pub, healed))
    running.wait_until_said("publishing failed")
    healed.touch()
    running.wait().well().says("publishing works again", "published step 1", "published step 2")
    assert root.published_steps() == [1, 2]


def test_a_store_that_heals_in_the_end_has_all_saves(runs: Runs, root: Root) -> None:
    """Last looks go on until one went well."""
    script = BROKEN + 'save 1; (sleep 1; rm "$1") > /dev/null 2>&1 < /dev/null & exit 0'
    ended = runs.run(shell(script, root.pub), "-grace", "100ms").well()
    ended.says("publishing failed", "publishing works again")
    assert root.published_steps() == [1]


@pytest.mark.real
def test_a_store_that_hangs_at_the_start_is_1(runs: Runs, root: Root, tmp_path: Path) -> None:
    """With what was waited for, and nothing ran."""
    root.publish(root.hf(1), 1)
    for call, path, what in (
        ("openat", root.path, "opening it"),
        ("getdents64", root.pub, "listing pub/"),
        ("mkdir", root.own(), "making"),
    ):
        prefix = injecting(call, LONG, path)
        ended = runs.run(["touch", tmp_path / "ran"], "-timeout", "1s", prefix=prefix)
        ended.ended_with(1).says("no answer", "for 1 s", what)
        assert not (tmp_path / "ran").exists()


@pytest.mark.real
def test_a_store_that_hangs_in_the_end_is_waited_for_no_longer_than_its_time(
    runs: Runs, root: Root
) -> None:
    """The hung call is left behind."""
    prefix = injecting("getdents64", LONG, root.own())
    ended = runs.run(shell("save 1"), "-timeout", "1s", prefix=prefix).ended_with(74)
    ended.says("no answer", "saves may have stayed unpublished")


@pytest.mark.real
def test_a_prune_that_hangs_is_left_behind(runs: Runs, root: Root) -> None:
    for step in (1, 2):
        root.publish(root.hf(step), step)
    prefix = injecting("/^rename", LONG)
    ended = runs.run(["sh", "-c", "exit 6"], "-timeout", "1s", "-keep", "1", prefix=prefix)
    ended.ended_with(6).says("pruning failed: nothing was heard of the prune for 1 s")


@pytest.mark.real
@pytest.mark.root
def test_a_full_disk_stops_no_training(mounts: Mounts, publish: Program) -> None:
    """When there is room again, all is published."""
    root = Root(mounts.tmpfs("size=4m,nr_inodes=60") / "ck", publish)
    script = 'save 1; touch {out}/there; until_there "$1"; save 2; exit 0'
    running = Runs(root).start(shell(script, root.path / "go-on"))
    wait_for((root.own() / "there").exists, "a save")
    root.wait_until_published(root.own() / "checkpoint-1", 1, running)
    root.hf(3)
    hidden = root.own() / "checkpoint-3"
    hidden.rename(root.path / "hidden")
    fillers = use_up_inodes(root.path)
    (root.path / "hidden").rename(hidden)
    running.wait_until_said("publishing failed, and is tried again")
    running.wait_until_said("ENOSPC")
    for filler in fillers[:10]:
        filler.unlink()
    (root.path / "go-on").touch()
    running.wait().well().says("publishing works again")
    assert root.published_steps() == [1, 2, 3]


# -- a newer execution, before claims can tell of one


OVERTAKEN = """
import os, sys
from dispatch.cli.publish.commands import run
from dispatch.cli.publish.execution import Unclaimed
class Overtaken(Unclaimed):
    def overtaken(self):
        if os.path.exists(sys.argv[1] + ".fails"):
            raise run.UnavailableError("it can't be told")
        return 77 if os.path.exists(sys.argv[1]) else None
run.Unclaimed = Overtaken
from dispatch.cli.publish.main import run as main
os._exit(main([os.fsencode(word) for word in sys.argv[2:]]))
"""


def test_an_overtaken_run_asks_its_command_to_end_once_and_prunes_nothing(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    """And publishes what that saves on the way out; its status is 76."""
    for step in (1, 2):
        root.publish(root.hf(step), step)
    newer = tmp_path / "newer"
    script = "trap 'echo term; sleep 0.5; save 3; exit 0' TERM; touch \"$1\"; "
    script += "while :; do sleep 0.01; done"
    line = [os.fsdecode(word) for word in runs.line(shell(script, newer), ("-keep", "1"))]
    program = Program([sys.executable, "-c", OVERTAKEN, newer], tmp_path / "program")
    running = program.start(*line)
    ended = running.wait().ended_with(76).answers("term\n")
    ended.says("warning: overtaken: a newer execution, of epoch 77", "published step 3")
    assert root.published_steps() == [1, 2, 3]


def test_whether_it_is_overtaken_is_asked_again_after_an_error(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    newer, fails = tmp_path / "newer", tmp_path / "newer.fails"
    newer.touch()
    fails.touch()
    line = [os.fsdecode(word) for word in runs.line(["sleep", "60"])]
    program = Program([sys.executable, "-c", OVERTAKEN, newer], tmp_path / "program")
    running = program.start(*line)
    running.wait_until_said("it can't be told")
    assert running.is_running()
    fails.unlink()
    running.wait().ended_with(76)


def test_an_overtaken_command_that_does_not_end_is_killed(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    newer = tmp_path / "newer"
    command = [
        "sh",
        "-c",
        'trap "" TERM; touch "$1"; while :; do sleep 0.01; done',
        "sh",
        str(newer),
    ]
    line = [os.fsdecode(word) for word in runs.line(command, ("-grace", "300ms"))]
    program = Program([sys.executable, "-c", OVERTAKEN, newer], tmp_path / "program")
    program.start(*line).wait().ended_with(76).says("killed")


def test_a_fault_of_ours_stops_no_training(runs: Runs, root: Root, tmp_path: Path) -> None:
    """It is said, and counts as a look that failed."""
    broken = OVERTAKEN.replace('raise run.UnavailableError("it can\'t be told")', "1 / 0")
    newer, fails = tmp_path / "newer", tmp_path / "newer.fails"
    fails.touch()
    line = [os.fsdecode(word) for word in runs.line(shell("save 1; echo well"), ("-timeout", "1s"))]
    ran = subprocess.run(
        [sys.executable, "-c", broken, newer, *line],
        env=root.program.environment(), capture_output=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (74, b"well\n")
    assert b"fault while publishing, which is tried again: ZeroDivisionError" in ran.stderr
