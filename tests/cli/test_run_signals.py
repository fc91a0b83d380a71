"""Signals to `publish run`: before its command, while it runs, and after its end."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.injection import injecting
from tests.cli.program import Program, wait_for
from tests.cli.roots import Root
from tests.cli.runs import Runs, shell, wait_for_file
from tests.real.attended import Recorder, children_of, state_of
from tests.real.shells import CTRL_C, Shell, words

LATE = """
trap 'sleep 1; save 9; exit 3' TERM
save 1
touch "$1"
while :; do sleep 0.01; done
"""
"""A trainer that saves on SIGTERM, and takes its time."""

SLURM = {"SLURM_JOB_ID": "4101"}


@pytest.fixture
def runs(root: Root) -> Runs:
    """Runs at an empty root."""
    return Runs(root)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """A command that writes its signals down."""
    return Recorder(tmp_path / "signals", children=1)


# -- while the command runs


def test_a_save_on_sigterm_is_published_however_late(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    running = runs.start(shell(LATE, tmp_path / "ready"), "-interval", "1h")
    wait_for_file(tmp_path / "ready", running)
    running.end(signal.SIGTERM).ended_with(3).says("published step 9")
    assert root.published_steps() == [1, 9]


def test_a_scheduler_that_signals_everybody_signals_the_command_once(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    """As Slurm does: us, the command and its children at one moment."""
    script = 'trap \'echo >> "$1.times"; sleep 1; save 9; exit 3\' TERM; save 1; touch "$1"; '
    script += "while :; do sleep 0.01; done"
    ready = tmp_path / "ready"
    running = runs.start(shell(script, ready), "-interval", "1h", environment=SLURM)
    wait_for_file(ready, running)
    for pid in (*children_of(running.pid), running.pid):
        os.kill(pid, signal.SIGTERM)
    running.wait().ended_with(3).says("published step 9")
    assert (tmp_path / "ready.times").read_text() == "\n"
    assert root.published_steps() == [1, 9]


@pytest.mark.parametrize(
    ("flags", "variables", "received"),
    [
        ([], {}, ["SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"]),
        ([], SLURM, ["SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"]),
        (["-forward", "auto"], SLURM, ["SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"]),
        (["-forward", "always"], SLURM, ["SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"]),
        (["-forward", "never"], {}, []),
    ],
)
def test_which_signals_are_handed_on(
    runs: Runs, recorder: Recorder, flags: list[str], variables: dict[str, str], received: list[str]
) -> None:
    """To each process of the group, once."""
    running = runs.record(recorder, *flags, environment=variables)
    sent = 0
    for name in ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"):
        running.send(signal.Signals[name])
        sent += name in received
        recorder.wait_until_count(sent)
    recorder.end()
    running.wait().well()
    assert recorder.received() == [received] * 2


@pytest.mark.real
def test_a_hung_store_delays_no_signal(runs: Runs, root: Root, recorder: Recorder) -> None:
    """And what was saved meanwhile is published when the store is well again."""
    root.hf(1)
    hanging = injecting("getdents64", "delay_enter=5000000", root.own())
    running = runs.start(recorder.command, "-timeout", "1s", prefix=hanging)
    recorder.wait_until_ready()
    running.wait_until_said("no answer from")  # by now every look hangs for a second
    for number in (signal.SIGUSR1, signal.SIGTERM):
        running.send(number)
        recorder.wait_until_received(number)
    assert running.is_running()
    recorder.end()
    running.wait().ended_with(74)
    assert recorder.received() == [["SIGUSR1", "SIGTERM"]] * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_does_not_end_is_killed_after_the_grace(
    runs: Runs, root: Root, recorder: Recorder, number: signal.Signals
) -> None:
    """With all that is in its group; its saves are published."""
    running = runs.record(recorder, "-grace", "300ms")
    root.hf(1)
    running.end(number).ended_with(137).says("not ended within 0.3 s (-grace): killed", "step 1")
    assert recorder.received() == [[number.name]] * 2


def test_a_caller_that_cannot_wait_changes_nothing(runs: Runs, root: Root) -> None:
    """SIGTERM again and again, and the command takes its time."""
    script = "trap '' TERM; for n in $(seq 50); do save $n; done; exit 3"
    running = runs.start(shell(script))
    running.wait_until_said("published step 1")
    while running.is_running():
        running.send(signal.SIGTERM)
    running.wait().ended_with(3)
    assert root.published_steps() == list(range(1, 51))


def test_the_grace_begins_with_a_signal_that_is_not_handed_on(
    runs: Runs, recorder: Recorder
) -> None:
    running = runs.record(recorder, "-grace", "300ms", environment=SLURM)
    ended = running.end(signal.SIGTERM).ended_with(137)
    ended.says("SIGTERM came, and is not handed on (-forward auto): Slurm", "killed")
    assert recorder.received() == [[], []]


def test_without_a_signal_there_is_no_grace(runs: Runs) -> None:
    runs.run(["sleep", "1"], "-grace", "100ms").well()


def test_our_own_sigkill_leaves_the_command_alone(
    runs: Runs, root: Root, recorder: Recorder
) -> None:
    """Its saves are published by the next run, or by hand."""
    running = runs.record(recorder)
    [child] = children_of(running.pid)
    running.send(signal.SIGKILL)
    running.wait().ended_with(-9)
    assert state_of(child) in {"R", "S"}
    recorder.end()
    wait_for(lambda: state_of(child) in {"", "Z"}, "its end")


# -- before the command starts


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_command_ends_the_run(
    runs: Runs, root: Root, tmp_path: Path, number: signal.Signals
) -> None:
    """As it would end a script; nothing was started."""
    root.publish(root.hf(1), 1)
    prefix = injecting("getdents64", f"signal={number.name}:when=1", root.pub)
    runs.run(["touch", tmp_path / "ran"], prefix=prefix).ended_with(-number)
    assert not (tmp_path / "ran").exists()


@pytest.mark.real
def test_a_store_that_hangs_before_the_command_delays_no_end(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    root.publish(root.hf(1), 1)
    prefix = injecting("getdents64", "delay_enter=60000000", root.pub)
    running = runs.start(["touch", tmp_path / "ran"], prefix=prefix)
    # Its first line is long past when there is a second thread, which waits for the store.
    threads = Path(f"/proc/{running.pid}/task")
    wait_for(lambda: len(list(threads.iterdir())) > 1, "a wait for the store")
    running.send(signal.SIGTERM)
    wait_for(lambda: state_of(running.pid) in {"Z", ""}, "its end")
    tracer = tracer_of(running.pid)
    if tracer:  # strace may let go of it only when its delay is over
        os.kill(tracer, signal.SIGKILL)
    running.wait().ended_with(-signal.SIGTERM)
    assert not (tmp_path / "ran").exists()


@pytest.mark.real
@pytest.mark.root
def test_process_1_of_a_container_ends_before_the_command_too(
    runs: Runs, root: Root, tmp_path: Path
) -> None:
    """The kernel ignores a signal to it that nobody handles."""
    root.publish(root.hf(1), 1)
    unshared = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    hanging = injecting("getdents64", "delay_enter=60000000", root.pub)
    hanging = [word for word in hanging if word != "-D"]  # strace is process 1's child else
    running = runs.start(["touch", tmp_path / "ran"], prefix=[*hanging, *unshared])
    wait_for(lambda: grandchildren(running.pid), "process 1")
    wait_for(lambda: catches_sigterm(grandchildren(running.pid)), "its first line")
    [first] = grandchildren(running.pid)
    os.kill(first, signal.SIGTERM)
    running.wait().ended_with(128 + signal.SIGTERM)
    assert not (tmp_path / "ran").exists()


def tracer_of(pid: int) -> int:
    """Read who traces a process; 0 for nobody."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("TracerPid:")[2].split()[0])


def grandchildren(pid: int) -> list[int]:
    """List the children of the children."""
    return [inner for outer in children_of(pid) for inner in children_of(outer)]


def catches_sigterm(pids: list[int]) -> bool:
    """Whether the one process that there is has a handler."""
    text = "".join(Path(f"/proc/{pid}/status").read_text() for pid in pids)
    _, _, after = text.partition("SigCgt:\t")
    return bool(after) and bool(int(after[:16], 16) & 1 << signal.SIGTERM - 1)


# -- after its end


@pytest.mark.real
def test_no_signal_cuts_the_last_look_short(runs: Runs, root: Root) -> None:
    """One comes with each sync of each publication."""
    script = "for n in 1 2 3 4 5 6 7 8 9 10; do save $n; done; touch {out}/done"
    prefix = injecting("fsync", "signal=SIGTERM")
    runs.run(shell(script), "-no-sync", "-interval", "1h", prefix=prefix).well()
    assert root.published_steps() == list(range(1, 11))


@pytest.mark.real
def test_a_signal_ends_the_prune(runs: Runs, root: Root) -> None:
    """The next one goes on; the status is the command's."""
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)
    prefix = injecting("/^rename", "delay_enter=4000000")
    running = runs.start(["sh", "-c", "exit 6"], "-keep", "1", prefix=prefix)
    wait_for(lambda: root.published_steps() == [3], "the prune's first step")
    ended = running.end(signal.SIGTERM).ended_with(6)
    ended.says("pruning was ended by a signal. The next prune goes on")
    root.prune(1).well()
    assert root.published_steps() == [3]


# -- at a terminal


@pytest.mark.real
def test_at_a_terminal_a_run_is_a_job_like_any_other(
    runs: Runs, root: Root, publish: Program, recorder: Recorder
) -> None:
    """Stopped, continued and interrupted, and saves are published before and after."""
    shell_at = Shell("bash", "--norc", "--noprofile", "--noediting", "-i")
    try:
        shell_at.quiet()
        shell_at.answer("stty tostop")  # a line of ours from behind the command must not stop us
        shell_at.answer("export DISPATCH_ATTEMPT=1.4101.0 DISPATCH_EPOCH=1000000")
        line = [os.fsdecode(word) for word in publish.line(*runs.line(recorder.command))]
        shell_at.line(words(line))
        recorder.wait_until_ready()
        shell_at.stop_job()
        assert b"Stopped" in shell_at.jobs()
        save = root.hf(1)
        shell_at.line("fg")
        wait_for(root.entry(save, 1).exists, "a publication")
        shell_at.type(CTRL_C)
        recorder.wait_until_received(signal.SIGINT)
        recorder.end()
        assert shell_at.answer("echo status $?").endswith(b"status 0\n")
        shell_at.reads()
        assert recorder.received() == [["SIGINT"]] * 2
    finally:
        shell_at.close()


@pytest.mark.real
def test_no_line_of_progress_is_mixed_into_the_command_s_output(
    runs: Runs, root: Root, publish: Program
) -> None:
    """However long it takes: only whole lines of ours."""
    screen = Shell(*[os.fsdecode(w) for w in publish.line(*runs.line(shell("sleep 3; echo end")))])
    try:
        assert screen.process.wait(timeout=30) == 2  # no identity
    finally:
        screen.close()
    line = [
        os.fsdecode(word)
        for word in publish.line(*runs.line(shell("sleep 3; echo -n end; exit 3")))
    ]
    screen = Shell("env", "DISPATCH_ATTEMPT=a", "DISPATCH_EPOCH=1", *line)
    try:
        assert screen.process.wait(timeout=30) == 3
        assert screen.shown() == b"publish: nothing is published: starting from scratch\nend"
    finally:
        screen.close()


def test_a_background_run_of_a_script_ignores_what_the_script_s_shell_made_it_ignore(
    runs: Runs, root: Root, recorder: Recorder, publish: Program
) -> None:
    """SIGINT and SIGQUIT, for a job that a shell without job control put behind itself."""
    line = publish.line(*runs.line(recorder.command))
    script = subprocess.Popen(
        ["sh", "-c", '"$@" & wait $!', "sh", *line], env=publish.environment()
    )
    recorder.wait_until_ready()
    wait_for(lambda: children_of(script.pid), "the run")
    [run] = children_of(script.pid)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1):
        os.kill(run, number)
    recorder.wait_until_received(signal.SIGUSR1)
    recorder.end()
    assert script.wait(timeout=30) == 0
    assert recorder.received() == [["SIGUSR1"]] * 2
