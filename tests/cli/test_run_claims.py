"""`publish run` with claims, as it is without a flag: one execution, one save, one successor."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.program import EPOCH, Argument, Environment, Program, wait_for
from tests.cli.roots import INTERVAL, Root
from tests.cli.runs import Runs, shell

RESUMED = ["sh", "-c", 'echo "${DISPATCH_RESUME-nothing}"']
ASKED = "trap 'echo term; save 8; exit 0' TERM; save 7; while :; do sleep 0.01; done"


class Claiming(Runs):
    """Runs that claim."""

    def line(self, command: Sequence[Argument], flags: Sequence[Argument] = ()) -> list[Argument]:
        """Spell the command line."""
        always: list[Argument] = ["-checkpoint", self.root.path, "-framework", "hf"]
        return ["run", *always, "-interval", INTERVAL, *flags, "--", *command]


def later(number: int = 1) -> Environment:
    """Name an execution that comes after the one that all else is for."""
    return {"DISPATCH_ATTEMPT": f"later-{number}", "DISPATCH_EPOCH": str(EPOCH + number)}


@pytest.fixture
def runs(root: Root) -> Claiming:
    """Runs at an empty root."""
    return Claiming(root)


@pytest.fixture
def old(root: Root) -> dict[int, Path]:
    """Publications of an older execution, of steps 1 to 3."""
    saves = {step: root.hf(step) for step in (1, 2, 3)}
    for step, save in saves.items():
        root.publish(save, step)
    return saves


def test_a_run_claims_and_fixes_what_it_resumes_from(
    runs: Claiming, root: Root, old: dict[int, Path]
) -> None:
    runs.run(RESUMED, environment=later()).well().answers(f"{old[3]}\n")
    links = {path.name: str(path.readlink()) for path in (root.path / "runs").iterdir()}
    name = f"{EPOCH + 1:020d}"
    assert links == {name: "later-1", f"{name}.resume": root.entry(old[3], 3).name}


@pytest.mark.usefixtures("old")
def test_of_two_attempts_with_one_epoch_one_runs(runs: Claiming) -> None:
    runs.run(["true"], environment=later()).well()
    other = {**later(), "DISPATCH_ATTEMPT": "other"}
    ended = runs.run(RESUMED, environment=other).ended_with(76).answers("")
    ended.says("belongs to attempt 'later-1', not to 'other'")


def test_below_a_claimed_epoch_nothing_runs(runs: Claiming) -> None:
    runs.run(["true"], environment=later(2)).well()
    runs.run(RESUMED, environment=later(1)).ended_with(76).answers("").says("'later-2'")


def test_an_attempt_that_has_another_epoch_runs_nothing(runs: Claiming, root: Root) -> None:
    """A requeued job whose attempt lacks the restart count; the run that has it goes on."""
    runs.run(["true"], environment=later()).well()
    again = {**later(2), "DISPATCH_ATTEMPT": "later-1"}
    ended = runs.run(RESUMED, environment=again).ended_with(2).answers("")
    ended.says(f"attempt 'later-1' has claimed epoch {EPOCH + 1} already", "restart count")
    assert not (root.path / "runs" / f"{EPOCH + 2:020d}").is_symlink()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_run_waits_for_the_ranks_that_it_is_told_of(
    runs: Claiming, root: Root, ranks: int
) -> None:
    """Two have saved; of one there is no file that is called like this."""
    files = "for file in optimizer.pt rng_state_0.pth rng_state_1.pth; do touch $out/$file; done"
    script = f"out=$DISPATCH_OUT/checkpoint-5; mkdir -p $out; {files}; save 5"
    ended = runs.run(shell(script), "-ranks", str(ranks), "-settle", "0s").well()
    assert root.published_steps() == ([5] if ranks == 2 else [])
    if ranks == 3:
        ended.says("passed over: ", "checkpoint-5: the save has no random state of rank 2")


def test_a_run_settles_as_it_is_told(runs: Claiming, root: Root) -> None:
    """Of what may still grow; its end doesn't come before that."""
    files = "touch $out/optimizer.pt $out/rng_state_0.pth $out/rng_state_1.pth"
    script = f"out=$DISPATCH_OUT/checkpoint-5; mkdir -p $out; {files}; save 5; "
    late = "(sleep 0.3; touch $out/late) & sleep 0.1"
    runs.run(shell(script + late), "-settle", "1s").well()
    assert root.published_steps() == [5]
    save = root.own() / "checkpoint-5"
    entry = root.entry(save, 5)
    assert entry.stat().st_mtime >= (save / "late").stat().st_mtime + 1


def test_a_rank_that_starts_later_resumes_from_the_same_save(
    runs: Claiming, root: Root, old: dict[int, Path]
) -> None:
    """Although what is published by then is greater."""
    runs.run(["true"], environment=later()).well()
    root.publish(root.hf(9), 9)
    runs.run(RESUMED, environment=later()).well().answers(f"{old[3]}\n")


def test_an_overtaken_run_asks_its_command_to_end_once_and_prunes_nothing(
    runs: Claiming, root: Root, old: dict[int, Path], publish: Program
) -> None:
    """What the command saves then is published all the same."""
    running = runs.start(shell(ASKED), "-keep", "1", environment=later(1))
    running.wait_until_said("published step 7")
    publish.run("claim", "-checkpoint", root.path, environment=later(2)).well()
    ended = running.wait().ended_with(76).answers("term\n")
    ended.says(f"overtaken: a newer execution, of epoch {EPOCH + 2}", "published step 8")
    assert all(save.exists() for save in old.values())
    assert root.published_steps() == [1, 2, 3, 7, 8]


def test_an_overtaken_run_says_when_saves_stay_unpublished(
    runs: Claiming, root: Root, publish: Program
) -> None:
    """Its status is 76 all the same."""
    script = """trap 'rm -rf "$1"; touch "$1"; save 8; exit 0' TERM; save 7; """
    script += "while :; do sleep 0.01; done"
    running = runs.start(shell(script, root.pub), "-timeout", "1s", environment=later(1))
    running.wait_until_said("published step 7")
    publish.run("claim", "-checkpoint", root.path, environment=later(2)).well()
    running.wait().ended_with(76).says("error: saves may have stayed unpublished")


def test_claims_that_can_not_be_read_keep_no_save_from_being_published(
    runs: Claiming, root: Root
) -> None:
    """It is said once, and whether a newer execution runs is asked again."""
    script = 'mv "$1" "$1.away"; ln -s /nowhere "$1"; until_there "$2"; save 7; until_there "$3"; '
    script += 'rm "$1"; mv "$1.away" "$1"; save 8; exit 0'
    said, published = root.path / "said", root.path / "published"
    running = runs.start(shell(script, root.path / "runs", said, published), environment=later())
    running.wait_until_said("can't tell whether a newer execution runs")
    said.touch()
    running.wait_until_said("published step 7")
    published.touch()
    ended = running.wait().well().says("published step 8")
    assert ended.err.count(b"can't tell") == 1


def test_saves_that_a_dead_watcher_left_are_found(
    runs: Claiming, root: Root, publish: Program
) -> None:
    """Those that are whole, above the latest publication."""
    publish.run("claim", "-checkpoint", root.path).well()
    saves = {step: root.hf(step) for step in (1, 2, 3)}
    (root.own() / "checkpoint-4").mkdir()
    root.publish(saves[2], 2)
    ended = runs.run(RESUMED, "-json", environment=later()).well().answers(f"{saves[3]}\n")
    lines = [json.loads(line) for line in ended.err.splitlines()][:2]
    assert [(line["event"], line["step"]) for line in lines] == [("adopted", 3), ("resuming", 3)]
    assert root.published_steps() == [2, 3]


def test_a_roll_back_survives_a_crash_before_the_first_save(
    runs: Claiming, root: Root, old: dict[int, Path]
) -> None:
    """Also for an execution that comes after it, and knows of no flag."""
    killed = ["sh", "-c", 'echo "$DISPATCH_RESUME"; kill -9 $$']
    ended = runs.run(killed, "-step-at-most", "2", environment=later(1))
    ended.ended_with(137).answers(f"{old[2]}\n")
    root.assert_resolves_to(old[2])
    runs.run(RESUMED, environment=later(2)).well().answers(f"{old[2]}\n")


def test_a_roll_back_that_comes_too_late_is_said(runs: Claiming, old: dict[int, Path]) -> None:
    """The execution's first start has decided for all that follow."""
    runs.run(["true"], environment=later()).well()
    ended = runs.run(RESUMED, "-step-at-most", "2", environment=later()).well()
    ended.answers(f"{old[3]}\n").says("warning", "not of a step of at most 2", "a greater epoch")


@pytest.mark.parametrize("flags", [("-step-at-most", "2"), ("-epoch-below", str(EPOCH + 1))])
def test_a_rank_that_rolls_back_as_the_first_did_says_nothing(
    runs: Claiming, root: Root, flags: tuple[str, ...]
) -> None:
    for step in (1, 2):
        root.publish(root.hf(step), step)
    root.publish(root.hf(3), 3, epoch=EPOCH + 1)
    for _ in range(2):
        ended = runs.run(RESUMED, *flags, environment=later(2)).well()
        assert b"fixed before" not in ended.answers(f"{root.own() / 'checkpoint-2'}\n").err


def test_where_nothing_can_be_chosen_nothing_runs(
    runs: Claiming, root: Root, old: dict[int, Path]
) -> None:
    """And nobody is overtaken by what doesn't run."""
    ended = runs.run(RESUMED, "-step-at-most", "0", environment=later()).ended_with(3).answers("")
    ended.says(f"none of {len(old)} publications is of a step of at most 0")
    assert not (root.path / "runs").exists()


def test_a_roll_back_may_choose_what_is_adopted(runs: Claiming, root: Root) -> None:
    """It looks among these, too, before it claims."""
    runs.run(["true"], environment=later(1)).well()
    root.publish(root.hf(9), 9)
    lost = root.hf(3, attempt="later-1")
    ended = runs.run(RESUMED, "-step-at-most", "5", environment=later(2)).well()
    ended.answers(f"{lost}\n").says("adopted step 3")


@pytest.mark.parametrize(("word", "status"), [("missing-command", 127), ("/etc/passwd", 126)])
@pytest.mark.usefixtures("old")
def test_a_command_that_can_not_run_overtakes_nobody(
    runs: Claiming, root: Root, word: str, status: int
) -> None:
    """A slip of the pen in a new job must not end the one that runs."""
    runs.run([word], environment=later()).ended_with(status).says(word)
    assert not (root.path / "runs").exists()


def test_a_command_may_be_in_the_executions_folder(runs: Claiming, root: Root) -> None:
    """What it becomes is known only later."""
    root.own("later-1").mkdir(parents=True)
    program = root.own("later-1") / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    runs.run(["{out}/program"], environment=later()).well().answers("ran\n")
    runs.run(["{out}/other"], environment=later()).ended_with(127)


NOTHING_SEEN = b"no save was seen in "


def test_a_run_that_saw_no_save_says_where_it_looked(runs: Claiming, root: Root) -> None:
    """The command forgot {out}; of one that failed there is nothing to wonder at."""
    elsewhere = root.path / "elsewhere"
    script = f"DISPATCH_OUT={elsewhere}; save 1"
    ended = runs.run(shell(script), environment=later(1)).well()
    ended.says(NOTHING_SEEN + str(root.own("later-1")).encode(), "{out}, or $DISPATCH_OUT")
    assert NOTHING_SEEN not in runs.run(["false"], environment=later(2)).ended_with(1).err
    assert NOTHING_SEEN not in runs.run(shell("save 1"), environment=later(3)).well().err


def test_what_a_run_prunes_is_counted(runs: Claiming, root: Root) -> None:
    """It goes without being asked; a run that published nothing takes nothing."""
    runs.run(shell("save 1; save 2; save 3"), "-keep", "1").well().says("pruned 2 publications")
    ended = runs.run(["true"], "-keep", "1", environment=later(1)).well()
    assert b"pruned" not in ended.err
    root.publish(root.hf(4), 4)
    ended = runs.run(["true"], "-keep", "1", environment=later(2)).well()
    ended.says("nothing was removed: this execution has published nothing yet")
    assert root.published_steps() == [3, 4]


def test_a_latest_save_that_is_gone_is_named_with_the_cure(
    runs: Claiming, root: Root, old: dict[int, Path]
) -> None:
    """And nothing was fixed, so that the cure works."""
    shutil.rmtree(old[3])
    ended = runs.run(RESUMED, environment=later()).ended_with(1).answers("")
    ended.says(str(old[3]), "-fallback")
    assert not (root.path / "runs").exists()
    runs.run(RESUMED, "-fallback", environment=later()).well().answers(f"{old[2]}\n")


def test_a_resume_point_that_is_none_is_named_where_it_is(
    runs: Claiming, root: Root, old: dict[int, Path]
) -> None:
    link = root.path / "runs" / f"{EPOCH + 1:020d}.resume"
    link.parent.mkdir()
    link.symlink_to("garbage")
    ended = runs.run(RESUMED, environment=later()).ended_with(1).answers("")
    ended.says(f"runs/{link.name} holds 'garbage'", "move it away")
    link.unlink()
    runs.run(RESUMED, environment=later()).well().answers(f"{old[3]}\n")


def test_our_own_end_leaves_saves_that_the_next_execution_finds(runs: Claiming, root: Root) -> None:
    """SIGKILL of the run alone: the command goes on, and nobody publishes what it saves."""
    killed, saved = root.path / "killed", root.path / "saved"
    script = 'save 1; until_there "$1"; save 2; touch "$2"'
    running = runs.start(shell(script, killed, saved), environment=later(1))
    running.wait_until_said("published step 1")
    running.kill()
    killed.touch()
    wait_for(saved.exists, "the last save")
    ended = runs.run(RESUMED, environment=later(2)).well()
    ended.answers(f"{root.own('later-1') / 'checkpoint-2'}\n").says("adopted step 2")
