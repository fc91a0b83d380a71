"""A command at a real terminal, under real shells with job control."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.program import wait_for
from tests.real.attended import ATTEND, RECORD, Recorder, children_of, state_of
from tests.real.shells import CTRL_BACKSLASH, CTRL_C, CTRL_D, CTRL_Z, Shell, words

pytestmark = pytest.mark.real

OURS = words(ATTEND) + " -- "
BARE = ""
SHELLS = [("bash", "--norc", "--noprofile", "--noediting", "-i"), ("dash", "-i")]

Open = Callable[..., Shell]


@pytest.fixture
def open_shell() -> Iterator[Open]:
    """Open terminals with a program in each."""
    opened: list[Shell] = []

    def start(*command: str) -> Shell:
        shell = Shell(*command)
        opened.append(shell)
        return shell

    yield start
    for shell in opened:
        shell.close()


@pytest.fixture(params=SHELLS, ids=["bash", "dash"])
def shell(request: pytest.FixtureRequest, open_shell: Open) -> Shell:
    """A shell that repeats nothing."""
    opened = open_shell(*request.param)
    opened.quiet()
    return opened


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """A command that writes its signals down."""
    return Recorder(tmp_path / "signals")


def group_of(recorder: Recorder) -> int:
    """Find the recorder's process, which leads its group."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if (
                line[: len(RECORD)] == [os.fsencode(word) for word in RECORD]
                and os.fsencode(recorder.path) in line
            ):
                return os.getpgid(int(entry.name))
    raise AssertionError("it does not run")


def is_in_front(group: int) -> bool:
    """Whether the terminal is a group's."""
    stat = Path(f"/proc/{group}/stat").read_text().rpartition(")")[2].split()
    return int(stat[5]) == group


IS_FOREGROUND = [
    sys.executable, "-I", "-S", "-c",
    "import os; print([os.tcgetpgrp(n) == os.getpgrp() == os.getpid() for n in range(3)])",
]  # fmt: skip


def test_a_command_in_the_foreground_has_the_terminal_and_we_have_it_back(shell: Shell) -> None:
    assert shell.answer(OURS + words(IS_FOREGROUND)) == b"[True, True, True]\n"
    shell.line(OURS + "sh -c 'read x; echo got $x; exit 3'; echo $?")
    shell.line("hello")
    shell.until("got hello\r\n3\r\n")
    shell.reads()


@pytest.mark.parametrize(
    ("key", "name"), [(CTRL_C, "SIGINT"), (CTRL_BACKSLASH, "SIGQUIT")], ids=["ctrl-c", "ctrl-\\"]
)
def test_a_key_is_one_signal(shell: Shell, recorder: Recorder, key: str, name: str) -> None:
    """Not one of the terminal and another of ours."""
    shell.line(OURS + words(recorder.command))
    recorder.wait_until_ready()
    for times in (1, 2, 3):
        shell.type(key)
        recorder.wait_until_count(times)
    recorder.end()
    assert shell.answer("echo status $?").endswith(b"status 0\n")
    assert recorder.received() == [[name] * 3]


def test_a_key_that_kills_the_command_leaves_a_usable_terminal(shell: Shell) -> None:
    shell.line(OURS + "sh -c 'echo started; exec sleep 60'")
    shell.until("started")
    shell.type(CTRL_C)
    assert shell.answer("echo status $?").endswith(b"status 130\n")
    shell.reads()


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
def test_a_job_is_stopped_and_goes_on_in_the_foreground(
    shell: Shell, recorder: Recorder, ours: str
) -> None:
    """Again and again, and the shell knows; the same without us."""
    shell.line(ours + words(recorder.command))
    recorder.wait_until_ready()
    group = group_of(recorder)
    for _ in range(3):
        shell.stop_job()
        wait_for(lambda: state_of(group) == "T", "the stop")
        assert b"Stopped" in shell.jobs()
        assert shell.answer("echo usable").endswith(b"usable\n")
        shell.line("fg")
        wait_for(lambda: state_of(group) != "T", "its going on")
    shell.type(CTRL_C)
    recorder.wait_until_received(signal.SIGINT)
    recorder.end()
    assert shell.answer("echo status $?").endswith(b"status 0\n")
    assert recorder.received() == [["SIGINT"]]
    assert b"Stopped" not in shell.jobs()


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
def test_a_stopped_job_goes_on_in_the_background(
    shell: Shell, recorder: Recorder, ours: str
) -> None:
    """The terminal stays the shell's."""
    shell.line(ours + words(recorder.command))
    recorder.wait_until_ready()
    group = group_of(recorder)
    shell.stop_job()
    wait_for(lambda: state_of(group) == "T", "the stop")
    shell.answer("bg")
    wait_for(lambda: state_of(group) != "T", "its going on")
    assert b"Running" in shell.jobs()
    shell.reads()
    shell.answer("kill -USR1 %1")
    recorder.wait_until_received(signal.SIGUSR1)
    recorder.end()
    assert shell.answer("wait %1; echo status $?").endswith(b"status 0\n")
    assert recorder.received() == [["SIGUSR1"]]
    shell.reads()


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
def test_a_job_in_the_background_that_reads_is_stopped_until_it_is_in_front(
    shell: Shell, ours: str
) -> None:
    shell.answer(ours + "cat & :")
    wait_for(lambda: b"Stopped" in shell.jobs(), "its stop")
    shell.line("fg")
    shell.until("cat")
    shell.line("words for it")
    shell.until("words for it\r\n")
    shell.type(CTRL_D)
    assert shell.answer("echo status $?").endswith(b"status 0\n")


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
@pytest.mark.parametrize("tostop", [False, True])
def test_a_job_in_the_background_that_writes_is_stopped_where_it_would_be_without_us(
    shell: Shell, ours: str, tostop: bool
) -> None:
    """That is, after `stty tostop`."""
    shell.answer(f"stty {'' if tostop else '-'}tostop")
    shell.line(ours + "sh -c 'echo written' &")
    if tostop:
        wait_for(lambda: b"Stopped" in shell.jobs(), "its stop")
        shell.line("fg")
    shell.until("written\r\n")
    assert shell.answer("wait; echo well").endswith(b"well\n")


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
def test_a_job_that_was_stopped_by_hand_is_stopped_for_the_shell(
    shell: Shell, recorder: Recorder, ours: str
) -> None:
    """kill -STOP of the command, and fg."""
    shell.line(ours + words(recorder.command))
    recorder.wait_until_ready()
    group = group_of(recorder)
    os.kill(group, signal.SIGSTOP)
    assert b"Stopped" in shell.jobs()
    shell.line("fg")
    wait_for(lambda: state_of(group) != "T", "its going on")
    recorder.end()
    assert shell.answer("echo status $?").endswith(b"status 0\n")


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
def test_a_script_stops_and_goes_on_with_its_command(
    shell: Shell, recorder: Recorder, tmp_path: Path, ours: str
) -> None:
    """The script's shell has no job control: the key stops it too."""
    script = tmp_path / "script"
    script.write_text(f"{ours}{words(recorder.command)}\necho after $?\nread x; echo $x\n")
    shell.line(f"sh {script}")
    recorder.wait_until_ready()
    group = group_of(recorder)
    shell.stop_job()
    assert b"Stopped" in shell.jobs()
    assert state_of(group) == "T"
    shell.line("fg")
    wait_for(lambda: state_of(group) != "T", "its going on")
    recorder.end()
    shell.until("after 0\r\n")
    shell.line("the terminal is the script's")
    shell.until("the terminal is the script's\r\n")


@pytest.mark.parametrize("ours", [OURS, BARE], ids=["ours", "bare"])
def test_a_script_in_the_background_whose_command_reads_is_stopped(
    shell: Shell, tmp_path: Path, ours: str
) -> None:
    script = tmp_path / "script"
    script.write_text(f"{ours} sh -c 'read x < /dev/tty; echo got $x'\necho after $?\n")
    shell.answer(f"sh {script} & :")
    wait_for(lambda: b"Stopped" in shell.jobs(), "its stop")
    shell.line("fg")
    shell.until("script")
    shell.line("words")
    shell.until("got words\r\nafter 0\r\n")


def test_a_pipeline_s_pager_keeps_its_keys(shell: Shell) -> None:
    """We share our group with it; the command gets the terminal only when it asks for it."""
    pager = "sh -c 'read key < /dev/tty; cat; echo key $key'"
    shell.line(f"{OURS} sh -c 'echo content; sleep 0.3' | {pager}")
    shell.line("q")
    shell.until("content\r\nkey q\r\n")
    shell.line(f"{OURS} sh -c 'read x < /dev/tty; echo got $x' | cat")
    shell.line("words")
    shell.until("got words\r\n")
    assert shell.answer("echo well").endswith(b"well\n")


def test_a_pipeline_is_stopped_and_interrupted_as_one(shell: Shell, recorder: Recorder) -> None:
    shell.line(f"{OURS}{words(recorder.command)} | cat")
    recorder.wait_until_ready()
    group = group_of(recorder)
    for _ in range(2):
        shell.stop_job()
        wait_for(lambda: state_of(group) == "T", "the stop")
        assert b"Stopped" in shell.jobs()
        shell.line("fg")
        wait_for(lambda: state_of(group) != "T", "its going on")
    shell.type(CTRL_C)
    recorder.wait_until_received(signal.SIGINT)
    recorder.end()
    assert shell.answer("echo well").endswith(b"well\n")
    assert recorder.received() == [["SIGINT"]]


def test_an_interactive_shell_can_be_the_command(open_shell: Open) -> None:
    """It has its own jobs, and gives back a usable terminal."""
    outer = open_shell(*SHELLS[0])
    outer.quiet()
    outer.line(OURS + words(SHELLS[0]))
    assert outer.answer("sleep 60 & jobs").count(b"Running") == 1
    outer.line("cat")
    outer.line("inner words")
    outer.until("inner words\r\n")
    outer.stop_job()
    assert b"Stopped" in outer.jobs()
    outer.line("fg %2")
    outer.line("more words")
    outer.until("more words\r\n")
    outer.type(CTRL_D)  # beside a stopped job the shell would refuse to exit
    outer.line("exit 7")
    outer.until("exit")
    wait_for(lambda: outer.answer("echo status $?").endswith(b"status 7\n"), "the outer shell")
    outer.reads()


def test_where_no_shell_looks_on_the_stop_key_has_no_effect(
    open_shell: Open, recorder: Recorder
) -> None:
    """In a container with a terminal: nobody could continue the command."""
    screen = open_shell(*ATTEND, "--", *recorder.command)
    recorder.wait_until_ready()
    [child] = children_of(screen.process.pid)
    screen.type(CTRL_Z)
    screen.type(CTRL_C)
    recorder.wait_until_received(signal.SIGINT)
    assert state_of(child) != "T"
    screen.type(CTRL_Z)
    os.kill(screen.process.pid, signal.SIGUSR1)
    recorder.wait_until_received(signal.SIGUSR1)
    recorder.end()
    assert screen.process.wait(timeout=30) == 0
    assert recorder.received() == [["SIGINT", "SIGUSR1"]]


def test_a_closed_window_hangs_up_on_the_command(open_shell: Open, recorder: Recorder) -> None:
    """The shell tells its jobs."""
    shell = open_shell(*SHELLS[0])
    shell.quiet()
    shell.line(OURS + words(recorder.command))
    recorder.wait_until_ready()
    os.kill(shell.process.pid, signal.SIGHUP)
    recorder.wait_until_received(signal.SIGHUP)
    recorder.end()
    assert set(recorder.received()[0]) == {"SIGHUP"}


PARENT = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if not pid:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    print("stopped", os.WSTOPSIG(status) == signal.SIGTSTP, os.tcgetpgrp(0) == pid, flush=True)
    os.killpg(pid, signal.SIGCONT)
print("ended", os.waitstatus_to_exitcode(status), os.tcgetpgrp(0) == pid, flush=True)
"""


def test_the_terminal_is_ours_again_whenever_our_parent_hears_of_us(
    open_shell: Open, recorder: Recorder
) -> None:
    """At a stop, which is of the same signal, and at the end."""
    command = [*ATTEND, "--", *recorder.command]
    screen = open_shell(sys.executable, "-I", "-S", "-c", PARENT, *command)
    recorder.wait_until_ready()
    group = group_of(recorder)
    for _ in range(2):
        screen.type(CTRL_Z)
        screen.until("stopped True True\r\n")
        wait_for(lambda: state_of(group) != "T" and is_in_front(group), "its going on")
    screen.type(CTRL_C)
    recorder.wait_until_received(signal.SIGINT)
    recorder.end()
    screen.until("ended 0 True\r\n")
    assert recorder.received() == [["SIGINT"]]
