"""`publish run`: the command, what it finds, its saves and its status."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.injection import injecting
from tests.cli.program import ATTEMPT, EPOCH, Argument, Program
from tests.cli.roots import Root
from tests.cli.runs import Runs, shell, variables_of


@pytest.fixture
def runs(root: Root) -> Runs:
    """Runs at an empty root."""
    return Runs(root)


# -- saves


def test_saves_are_published_while_the_command_runs_and_after_it(runs: Runs, root: Root) -> None:
    go_on = root.path / "go-on"
    running = runs.start(shell('save 1; until_there "$1"; save 2; exit 5', go_on))
    root.wait_until_published(root.own() / "checkpoint-1", 1, running)
    go_on.touch()
    running.wait().ended_with(5).says("starting from scratch", "published step 1", "step 2")
    assert root.published_steps() == [1, 2]


def test_the_last_look_comes_after_the_command_s_end(runs: Runs, root: Root) -> None:
    """However long the interval is."""
    runs.run(shell("sleep 0.2; save 1"), "-interval", "1h").well()
    assert root.published_steps() == [1]


def test_what_the_command_leaves_behind_may_still_save(runs: Runs, root: Root) -> None:
    """It is waited for, and named."""
    ended = runs.run(shell("(sleep 0.5; save 1) & exit 3"), "-interval", "1h")
    ended.ended_with(3).says("left behind", "(sh)", "published step 1")
    assert b"left running" not in ended.err


def test_what_was_saved_does_not_wait_for_what_the_command_leaves_behind(
    runs: Runs, root: Root
) -> None:
    """That may be a server, and the job's time may be short."""
    script = "sleep 0.5; save 1; sleep 60 > /dev/null 2>&1 & echo $! > {out}/pid; exit 3"
    running = runs.start(shell(script), "-interval", "1h")
    running.wait_until_said("waiting up to 30 s for what the command left behind")
    root.wait_until_published(root.own() / "checkpoint-1", 1, running)
    assert b"left running" not in running.said()
    os.kill(int((root.own() / "pid").read_text()), signal.SIGKILL)
    running.wait().ended_with(3)


def test_what_the_command_leaves_behind_is_not_waited_for_for_ever(runs: Runs) -> None:
    """No longer than the grace, and it goes on."""
    ended = runs.run(shell("save 1; sleep 20 > /dev/null 2>&1 & exit 3"), "-grace", "500ms")
    ended.ended_with(3).says("waiting up to 0 s", "left running", "(sleep)")


def test_another_folder_of_saves(runs: Runs, root: Root) -> None:
    script = 'DISPATCH_OUT="$DISPATCH_OUT/more"; save 1'
    runs.run(shell(script), "-saves", root.own() / "more").well()
    assert root.names() == [root.entry(root.own() / "more" / "checkpoint-1", 1).name]


@pytest.mark.parametrize("status", [0, 4])
def test_a_prune_follows_whatever_the_command_s_status_is(
    runs: Runs, root: Root, status: int
) -> None:
    """As in a script: a job that always fails would fill the disk otherwise."""
    script = f"for n in 1 2 3 4 5 6; do save $n; done; exit {status}"
    runs.run(shell(script), "-keep", "2").ended_with(status)
    assert root.published_steps() == [5, 6]
    assert len(list(root.own().iterdir())) == 2
    runs.run(shell(f"save 7; exit {status}"), "-keep", "1", "-keep-every", "5").ended_with(status)
    assert root.published_steps() == [5, 7]


def test_without_keep_nothing_is_pruned(runs: Runs, root: Root) -> None:
    runs.run(shell("for n in 1 2 3; do save $n; done")).well()
    assert root.published_steps() == [1, 2, 3]


def test_a_prune_that_fails_is_said_and_changes_no_status(runs: Runs, root: Root) -> None:
    script = f"save 1; until_there {root.pub}; touch {root.pub}/junk"
    ended = runs.run(shell(script), "-keep", "1").well()
    ended.says("error: pruning failed", "junk")


# -- what the command finds


def test_the_words_in_braces(runs: Runs, root: Root) -> None:
    """With bytes that are no text, and braces that are somebody else's."""
    command: list[Argument] = ["printf", "%s|", "{out}/x", "a{attempt}", "--to", "{resume}"]
    command += ["--from={resume}", '{"lr": 1}', "{{out}}", b"\xff{"]
    own = os.fsencode(root.own())
    first = runs.run(command).well()
    assert first.out == own + b'/x|a1.4101.0|{"lr": 1}|{out}|\xff{|'
    save = root.hf(5)
    root.publish(save, 5)
    again = runs.run(command).well().says(f"resuming from step 5: {save}")
    resume = os.fsencode(save)
    assert again.out == (
        own + b"/x|a1.4101.0|--to|" + resume + b"|--from=" + resume + b'|{"lr": 1}|{out}|\xff{|'
    )


def test_the_environment_is_ours_and_what_the_command_wants_to_know(runs: Runs, root: Root) -> None:
    """Nothing that Python has added, and nothing of an execution that runs this one."""
    given = {"X": b"\xff=", "DISPATCH_RESUME": "/of/another", "LC_ALL": None}
    bare = {**root.program.environment(given), b"DISPATCH_OUT": os.fsencode(root.own())}
    del bare[b"DISPATCH_RESUME"]
    assert variables_of(runs.run(["env", "-0"], environment=given).well().out) == bare
    root.publish(root.hf(1), 1)
    bare[b"DISPATCH_RESUME"] = os.fsencode(root.own() / "checkpoint-1")
    assert variables_of(runs.run(["env", "-0"], environment=given).well().out) == bare


def test_flags_win_over_variables_also_for_the_command(runs: Runs, root: Root) -> None:
    flags = ("-attempt", "other", "-epoch", "7")
    command = shell('save 1; echo "$DISPATCH_ATTEMPT $DISPATCH_EPOCH $DISPATCH_OUT"')
    ended = runs.run(command, *flags, environment={"DISPATCH_ATTEMPT": None}).well()
    assert ended.out == os.fsencode(f"other 7 {root.own('other')}\n")
    assert root.names() == [root.entry(root.own("other") / "checkpoint-1", 1, 7).name]


def test_the_folder_is_there_before_the_command(runs: Runs, root: Root) -> None:
    """A log can go there from its first line on."""
    runs.run(["sh", "-c", "echo line > {out}/log"]).well()
    assert (root.own() / "log").read_text() == "line\n"


def test_flags_of_the_command_are_its_own(runs: Runs) -> None:
    """Also those that mean something to us."""
    command = ["printf", "%s ", "-json", "-help", "-version", "-debug", "--", "-checkpoint"]
    runs.run(command).well().answers("-json -help -version -debug -- -checkpoint ")


def test_stdin_and_stdout_are_the_command_s(root: Root, tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    (tmp_path / "in").write_bytes(content)
    with (tmp_path / "in").open("rb") as stdin:
        line = Runs(root).line(["sh", "-c", "cat; pwd"])
        ended = root.program.run(*line, stdin=stdin, cwd=tmp_path).well()
    assert ended.out == content + os.fsencode(f"{tmp_path}\n")


@pytest.mark.parametrize("closing", ["1>&-", "2>&-", "0<&- 1>&- 2>&-", ">/dev/full 2>/dev/full"])
def test_streams_that_cannot_be_written_change_nothing(
    runs: Runs, root: Root, closing: str
) -> None:
    """The status is the command's, and its saves are published."""
    runs.run(shell("save 1; exit 4"), prefix=["sh", "-c", f'"$@" {closing}', "sh"]).ended_with(4)
    assert root.published_steps() == [1]


@pytest.mark.real
def test_a_stdout_that_fails_when_it_is_closed_is_the_command_s_affair(runs: Runs) -> None:
    """Some file systems report a full disk only then; the command has heard of it, too."""
    prefix = injecting("close", "error=ENOSPC", "/dev/full")
    prefix = ["sh", "-c", '"$@" > /dev/full', "sh", *prefix]
    runs.run(["sh", "-c", "exit 4"], prefix=prefix).ended_with(4)


def test_lines_are_objects_with_json(runs: Runs, root: Root) -> None:
    """Ours; stdout stays the command's."""
    ended = runs.run(shell("save 1; echo out; sleep 0.3 & exit 0"), "-json", "-keep", "1").well()
    assert ended.out == b"out\n"
    lines = [json.loads(line) for line in ended.err.splitlines()]
    events = [line["event"] for line in lines]
    assert events[0] == "resuming"
    assert lines[0]["save"] is None
    assert set(events) == {"resuming", "published", "left-behind"}


# -- the status


@pytest.mark.parametrize("status", [0, 1, 2, 74, 76, 126, 127, 128, 143, 255])
def test_the_status_is_the_command_s(runs: Runs, status: int) -> None:
    runs.run(["sh", "-c", f"exit {status}"]).ended_with(status)


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("TERM", 15), ("SEGV", 11)])
def test_a_command_that_was_killed_has_128_and_the_signal(
    runs: Runs, root: Root, name: str, number: int
) -> None:
    runs.run(shell(f"save 1; kill -{name} $$")).ended_with(128 + number)
    assert root.published_steps() == [1]


def test_a_command_that_is_not_there_is_127(runs: Runs) -> None:
    for name in ("there-is-no-such-command", "/none/such", ""):
        ended = runs.run([name]).ended_with(127)
        ended.says(f"publish: error: the command {name!r} was not found")


def test_a_command_that_cannot_be_executed_is_126(runs: Runs, tmp_path: Path) -> None:
    ended = runs.run([tmp_path]).ended_with(126)
    ended.says(
        f"publish: error: the command {str(tmp_path)!r} can't be executed: permission denied"
    )


# -- starts that fail


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-grace", "10"], "-grace '10' is not a duration: a number and a unit, such as 10s"),
        (["-grace", "0s"], "-grace '0s' is not a duration over zero"),
        (["-forward", "sometimes"], "-forward 'sometimes' is none of auto, always and never"),
        (["-keep", "0"], "-keep '0' is not a whole number of at least 1"),
        (["-keep-every", "2"], "-keep-every says nothing without -keep"),
        (["-attempt", "a/b"], "-attempt"),
        (["-epoch", "-1"], "-epoch"),
        (["-nonsense"], "unknown flag '-nonsense'"),
        (["-lr", "1"], "unknown flag '-lr'. Those of the COMMAND come after `--`."),
        (["python"], "run takes its COMMAND after `--`, which is missing before 'python'"),
    ],
)
def test_what_is_wrong_with_the_flags_is_2(
    runs: Runs, root: Root, flags: list[str], message: str
) -> None:
    """And nothing ran, and nothing was written."""
    runs.run(["touch", root.path / "ran"], *flags).ended_with(2).answers("").says(message)
    assert list(root.path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([], "run needs a COMMAND after `--`"),
        (["echo", "ckpt={resume}"], "only a part of the argument 'ckpt={resume}'"),
        (["{resume}"], "in the name of the command"),
    ],
)
def test_what_is_wrong_with_the_command_is_2(
    runs: Runs, root: Root, command: list[str], message: str
) -> None:
    runs.run(command).ended_with(2).says(message)
    assert list(root.path.iterdir()) == []


def test_without_a_double_dash_there_is_no_command(root: Root, publish: Program) -> None:
    line = ("run", "-checkpoint", root.path, "-framework", "hf", "-no-claim")
    publish.run(*line).ended_with(2).says("run needs a COMMAND after `--`")


def test_a_missing_identity_is_2(runs: Runs) -> None:
    for name in ("DISPATCH_ATTEMPT", "DISPATCH_EPOCH"):
        runs.run(["true"], environment={name: None}).ended_with(2).says(f"{name} is not set")


def test_a_root_that_is_missing_or_malformed_is_1(runs: Runs, root: Root, tmp_path: Path) -> None:
    """No answer must not read as "start from scratch"."""
    ran = tmp_path / "ran"
    root.pub.mkdir()
    (root.pub / "junk").touch()
    runs.run(["touch", ran]).ended_with(1).says("junk")
    (root.pub / "junk").unlink()
    root.pub.rmdir()
    root.path.rmdir()
    runs.run(["touch", ran]).ended_with(1).says("root")
    assert not ran.exists()


def test_a_folder_that_cannot_be_made_is_1(runs: Runs, root: Root, tmp_path: Path) -> None:
    """Now, and not at the first save, hours later."""
    (root.path / "exec").touch()
    runs.run(["touch", tmp_path / "ran"]).ended_with(1).says(f"making '{root.own()}'", "ENOTDIR")
    assert not (tmp_path / "ran").exists()


def test_a_newer_publication_is_said(runs: Runs, root: Root) -> None:
    """It is resumed from all the same: without claims nobody knows better."""
    save = root.hf(1, attempt="newer")
    root.publish(save, 1, epoch=EPOCH + 1)
    ended = runs.run(["echo", "{resume}"]).well().answers(f"{save}\n")
    ended.says("warning", str(EPOCH + 1), str(EPOCH))


def test_the_same_attempt_can_be_run_again(runs: Runs, root: Root) -> None:
    """Its folder is there then, and its saves are published already."""
    runs.run(shell("save 1")).well()
    ended = runs.run(shell("save 2")).well().says("published step 2")
    assert b"published step 1" not in ended.err
    assert root.own(ATTEMPT).is_dir()


def test_a_run_within_a_run_is_another_execution(runs: Runs, root: Root) -> None:
    """With its own variables, folder and saves."""
    inner = [*root.program.line(*runs.line(shell("save 1"), ("-attempt", "b", "-epoch", "9")))]
    runs.run([*inner]).well()
    assert root.names() == [root.entry(root.own("b") / "checkpoint-1", 1, 9).name]
