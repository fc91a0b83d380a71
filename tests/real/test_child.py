"""One command under a `Child`: its status, its signals, orphans, what it finds."""

import functools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.injection import require_strace
from tests.cli.program import wait_for
from tests.real.attended import (
    ATTEND,
    Attend,
    Recorder,
    children_of,
    ended,
    run,
    signals_of,
    state_of,
)

pytestmark = pytest.mark.real

HANDED_ON = [
    signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGQUIT,
    signal.SIGWINCH, signal.SIGALRM, signal.SIGRTMIN, signal.SIGXCPU, signal.SIGPWR,
]  # fmt: skip
DEADLY = HANDED_ON[:6]
DELAY_S_MAX = 0.12  # from before Python's own start to well after the command's
ROUNDS = 200


@pytest.fixture
def attend() -> Iterator[Attend]:
    """Start a command under a `Child`; whatever still runs is killed after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        *command: str, options: tuple[str, ...] = (), prefix: Sequence[str] = ()
    ) -> "subprocess.Popen[bytes]":
        line = [*prefix, *ATTEND, *options, "--", *command]
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed after the test
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=errors)
        process.stderr = errors
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            for child in children_of(process.pid):
                os.killpg(os.getpgid(child), signal.SIGKILL)
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


# -- the status


EACH = """
import os, sys
from dispatch.adapters.process import Child, Signals
def status_of(*command):
    child = Child(command, os.environb, signals=Signals((), ()))
    child.start()
    while (status := child.poll()) is None:
        child._signals.wait(10)
    child.release()
    return status
for number in range(256):
    assert status_of(b"sh", b"-c", b"exit %d" % number) == number, number
for number in sys.argv[1:]:
    script = f"ulimit -c unlimited; kill -{number} $$"
    assert status_of(b"sh", b"-c", script.encode()) == 128 + int(number), number
os._exit(0)
"""
HARMLESS = {17, 18, 19, 20, 21, 22, 23, 28}  # they end nobody by themselves


def test_every_exit_status_and_every_signal_s_is_the_command_s(tmp_path: Path) -> None:
    """0 to 255, and 128 and the signal that killed it, also where it dumped core."""
    deadly = [str(number) for number in (*range(1, 32), 34, 64) if number not in HARMLESS]
    line = [sys.executable, "-c", EACH, *deadly]
    ran = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_command_that_is_not_there_is_127(tmp_path: Path) -> None:
    for name in ("there-is-no-such-command", str(tmp_path / "none"), "", "/etc/passwd/x"):
        ran = run([name])
        assert ran.returncode == 127
        assert os.fsencode(repr(name.encode())) in ran.stderr
        assert b"no such file" in ran.stderr or b"not a directory" in ran.stderr


def test_a_command_that_cannot_be_executed_is_126(tmp_path: Path) -> None:
    """A folder, a file without its mode, a script whose interpreter isn't there."""
    plain, script = tmp_path / "plain", tmp_path / "script"
    plain.write_text("text")
    script.write_text("#!/there/is/no/such/interpreter\n")
    script.chmod(0o755)
    for path in (tmp_path, plain, script):
        ran = run([path])
        assert ran.returncode == 126
        assert os.fsencode(path) in ran.stderr


def test_a_command_is_looked_for_along_its_path_as_a_shell_does(tmp_path: Path) -> None:
    """One that is there and can't be executed counts when no later one can."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / "tool").write_text("#!/bin/sh\nexit 1\n")
    path = f"PATH={tmp_path}/none:{tmp_path}/a:{tmp_path}/b"
    assert run(["tool"], prefix=["env", path]).returncode == 126
    (tmp_path / "b" / "tool").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "b" / "tool").chmod(0o755)
    assert run(["tool"], prefix=["env", path]).returncode == 9


def test_a_script_without_its_first_line_is_the_shell_s(tmp_path: Path) -> None:
    """As execvp has it, and so every shell, env, nohup and timeout."""
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"; exit 4\n')
    script.chmod(0o755)
    ran = run([script, "a b"])
    assert (ran.returncode, ran.stdout) == (4, os.fsencode(f"{script} a b\n"))


# -- signals


@pytest.mark.parametrize("number", HANDED_ON, ids=lambda number: number.name)
def test_a_signal_reaches_each_process_of_the_group_once(
    attend: Attend, tmp_path: Path, number: signal.Signals
) -> None:
    recorder = Recorder(tmp_path / "signals", children=2)
    attended = attend(*recorder.command)
    recorder.wait_until_ready()
    last = signal.SIGUSR1 if number != signal.SIGUSR1 else signal.SIGUSR2
    for sent in ([number.name], [number.name] * 2, [number.name] * 2 + [last.name]):
        attended.send_signal(signal.Signals[sent[-1]])
        recorder.wait_until_count(len(sent))
    recorder.end()
    assert ended(attended) == 0
    assert recorder.received() == [sent] * 3


@pytest.mark.parametrize("number", DEADLY, ids=lambda number: number.name)
def test_one_signal_is_one_call_of_kill(tmp_path: Path, number: signal.Signals) -> None:
    """Two that follow each other closely would be one for the command."""
    require_strace()
    recorder, trace = Recorder(tmp_path / "signals"), tmp_path / "trace"
    line = ["strace", "-f", "-D", "-o", str(trace), "-e", "trace=kill,tkill,tgkill"]
    attended = subprocess.Popen([*line, *ATTEND, "--", *recorder.command])
    recorder.wait_until_ready()
    attended.send_signal(number)
    recorder.wait_until_received(number)
    recorder.end()
    assert ended(attended) == 0
    end = re.compile(rf"(?m)^{attended.pid} +\+\+\+ exited")
    wait_for(lambda: end.search(trace.read_text()), "the end of the trace")
    calls = re.findall(r"kill\((-?\d+), (\w+)\) ", trace.read_text())
    assert [name for _, name in calls] == [number.name]


def has_lost_it(process: "subprocess.Popen[bytes]") -> bool:
    """Whether Python lost a SIGINT before our first line, said so, and went on."""
    assert process.stderr is not None
    return b"KeyboardInterrupt" in os.pread(process.stderr.fileno(), 1 << 20, 0)


def has_received_or_lost_it(recorder: Recorder, process: "subprocess.Popen[bytes]") -> bool:
    """Whether it is known what became of a signal."""
    is_lost = recorder.is_ready() and has_lost_it(process)
    return is_lost or recorder.has_received_or(process)


@pytest.mark.parametrize("part", range(4))
def test_a_signal_at_any_moment_ends_us_unstarted_or_is_the_command_s(
    attend: Attend, tmp_path: Path, seed: int, part: int
) -> None:
    """Before the command starts, while it does, and after."""
    chance = random.Random(f"{seed} {part}")
    moments = set()
    for trial in range(ROUNDS // 4):
        where = f"seed {seed}, part {part}, trial {trial}"
        number = chance.choice(DEADLY)
        recorder = Recorder(tmp_path / str(trial))
        attended = attend(*recorder.command)
        if trial % 2:  # however busy the machine is, some come later
            wait_for(functools.partial(recorder.has_started_or, attended), where)
        time.sleep(chance.uniform(0, DELAY_S_MAX / 2))
        attended.send_signal(number)
        wait_for(functools.partial(has_received_or_lost_it, recorder, attended), where)
        recorder.end()
        status = ended(attended)
        if status == 0 and has_lost_it(attended):
            assert (number, recorder.received()) == (signal.SIGINT, [[]]), where
        elif status == 0:
            assert recorder.received() == [[number.name]], where
        elif status == 128 + number:  # before it noticed signals, or was the command at all
            assert not recorder.is_ready(), where
        else:
            # Before our first line SIGINT is Python's own affair, which may end with status 1.
            assert status in ({-number, 1} if number == signal.SIGINT else {-number}), where
            assert not recorder.has_started(), where
        moments.add(recorder.has_started())
    assert len(moments) == 2, "all came before the command, or all after"


def start_of(command: list[str], trace: Path) -> list[tuple[str, int]]:
    """List our system calls from just before the handlers until we wait.

    Each is its name and its number among those of that name. Of the dozens that set handlers,
    some are left out.
    """
    subprocess.run(["strace", "-qq", "-o", trace, *ATTEND, "--", *command], check=True)
    counts, found = Counter[str](), []
    for name in re.findall(r"(?m)^(\w+)\(", trace.read_text(errors="replace")):
        counts[name] += 1
        found.append((name, counts[name]))
    names = [name for name, _ in found]
    fork = names.index("clone")
    before = fork - names[fork::-1].index("pipe2")
    handlers, last = found[before : fork - 3], found[fork - 3 : names.index("poll", fork)]
    return handlers[:: max(1, len(handlers) // 8)] + last


@pytest.mark.parametrize("number", DEADLY[:3], ids=lambda number: number.name)
def test_a_signal_while_the_command_starts_ends_us_unstarted_or_is_the_command_s(
    attend: Attend, tmp_path: Path, number: signal.Signals
) -> None:
    """At each system call of ours until we know that it runs: it is handed on, once."""
    require_strace()
    moments = start_of(["sleep", "0.5"], tmp_path / "trace")
    assert {"clone", "setpgid", "rt_sigprocmask", "read"} <= {name for name, _ in moments}
    for name, count in moments:
        recorder = Recorder(tmp_path / f"{name}{count}")
        inject = ["-e", f"trace={name}", "-e", f"inject={name}:signal={number.name}:when={count}"]
        prefix = ["strace", "-qq", "-D", "-o", "/dev/null", *inject]
        attended = attend(*recorder.command, prefix=prefix)
        wait_for(functools.partial(recorder.has_received_or, attended), f"it: {name} {count}")
        recorder.end()
        status = ended(attended)
        if status == 0:
            assert recorder.received() == [[number.name]]
        elif status == 128 + number:
            assert not recorder.is_ready()
        else:  # before there was a handler
            assert (status, recorder.has_started()) == (-number, False), (name, count)


def test_a_signal_that_is_withheld_is_known_and_goes_nowhere(
    attend: Attend, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path / "signals")
    attended = attend(*recorder.command, options=("--withhold", str(int(signal.SIGTERM))))
    recorder.wait_until_ready()
    attended.send_signal(signal.SIGTERM)
    attended.send_signal(signal.SIGUSR1)
    recorder.wait_until_received(signal.SIGUSR1)
    recorder.end()
    assert ended(attended) == 0
    assert recorder.received() == [["SIGUSR1"]]


@pytest.mark.parametrize("part", range(4))
def test_whatever_is_killed_at_any_moment_the_status_is_right(
    attend: Attend, seed: int, part: int
) -> None:
    """The command, one of its children, or both."""
    chance = random.Random(f"{seed} {part}")
    for trial in range(ROUNDS // 4):
        where = f"seed {seed}, part {part}, trial {trial}"
        first, second = (chance.uniform(0, 0.05) for _ in range(2))
        attended = attend("sh", "-c", f"(sleep {first} & ); sleep {second} & wait; exit 7")
        time.sleep(chance.uniform(0.03, DELAY_S_MAX))
        children = children_of(attended.pid)
        grandchildren = [pid for child in children for pid in children_of(child)]
        victims = chance.choice([children[:1], grandchildren, [*children[:1], *grandchildren]])
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        killed = bool(victims) and victims[0] in children
        assert ended(attended) in ({7, 137} if killed else {7}), where


def test_the_command_goes_on_when_we_are_killed(attend: Attend, tmp_path: Path) -> None:
    """Nothing of its work is lost; the scheduler has the whole job to end."""
    recorder = Recorder(tmp_path / "signals")
    attended = attend(*recorder.command)
    recorder.wait_until_ready()
    [child] = children_of(attended.pid)
    attended.kill()
    assert ended(attended) == -signal.SIGKILL
    os.kill(child, signal.SIGUSR1)
    recorder.wait_until_received(signal.SIGUSR1)
    assert recorder.received() == [["SIGUSR1"]]
    recorder.end()
    wait_for(lambda: state_of(child) in {"", "Z"}, "its end")


def test_a_command_that_is_stopped_without_a_terminal_stops_nobody_else(
    attend: Attend, tmp_path: Path
) -> None:
    """We go on handing signals on; there is no shell that could continue us."""
    recorder = Recorder(tmp_path / "signals")
    attended = subprocess.Popen(["setsid", *ATTEND, "--", *recorder.command])
    recorder.wait_until_ready()
    [child] = children_of(attended.pid)
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: state_of(child) == "T", "the stop")
    attended.send_signal(signal.SIGUSR1)
    assert state_of(attended.pid) != "T"
    attended.send_signal(signal.SIGCONT)
    recorder.wait_until_received(signal.SIGUSR1)
    recorder.end()
    assert ended(attended) == 0
    assert recorder.received() == [["SIGUSR1"]]


# -- orphans


TWICE = """
import os, sys, time
for number in range(int(sys.argv[1])):
    if not os.fork():
        if not os.fork():
            time.sleep(0.05)
            os._exit(0)
        os._exit(0)
    os.wait()
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.01)
os._exit(5)
"""


def test_orphans_are_reaped_while_the_command_runs(attend: Attend, tmp_path: Path) -> None:
    """A hundred of them, which would otherwise stay as zombies of ours."""
    made, end = tmp_path / "made", tmp_path / "end"
    attended = attend(sys.executable, "-I", "-S", "-c", TWICE, "100", str(made), str(end))
    wait_for(made.exists, "the orphans")
    wait_for(lambda: len(children_of(attended.pid)) == 1, "the end of the orphans")
    end.touch()
    assert ended(attended) == 5


def test_orphans_become_ours(attend: Attend, tmp_path: Path) -> None:
    """Not those of process 1, which has no use for them in many containers."""
    pid_file = tmp_path / "pid"
    script = f"(sh -c 'echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 60' &)"
    attended = attend("sh", "-c", f"{script}; sleep 60")
    wait_for(pid_file.exists, "an orphan")
    orphan = int(pid_file.read_text())
    wait_for(lambda: orphan in children_of(attended.pid), "its adoption")
    os.kill(orphan, signal.SIGKILL)
    wait_for(lambda: state_of(orphan) == "", "its reaping")


OTHER_CHILDREN = """
import os, subprocess, sys, threading
from dispatch.adapters.process import Child, Signals
signals = Signals((), ())
child = Child([b"sh", b"-c", b"(sleep 0.3 &) ; sleep 0.6; exit 3"], os.environb, signals=signals)
wrong = []
def work():
    for number in range(60):
        ran = subprocess.run(["sh", "-c", f"exit {number}"])
        if ran.returncode != number:
            wrong.append((number, ran.returncode))
child.start()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
while (status := child.poll()) is None:
    signals.wait(10)
for thread in threads:
    while thread.is_alive():
        thread.join(0.001)
        child.left_behind()
child.release()
assert not wrong, wrong
os._exit(status)
"""


def test_the_status_of_another_thread_s_child_is_never_taken() -> None:
    """A source of keys may run a program."""
    ran = subprocess.run([sys.executable, "-c", OTHER_CHILDREN], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (3, b"")


def test_what_a_command_leaves_in_its_group_is_waited_for_and_named(tmp_path: Path) -> None:
    """With its id and its name; it goes on."""
    script = "sleep 0.2 & sleep 61 > /dev/null 2>&1 & echo $!; exit 6"
    ran = run(["sh", "-c", script], "--left", "1")
    assert ran.returncode == 6
    pid = int(ran.stdout)
    try:
        assert ran.stderr == f"left {pid} sleep\n".encode()
        assert state_of(pid) == "S"
    finally:
        os.kill(pid, signal.SIGKILL)


def test_what_ends_meanwhile_is_not_named() -> None:
    ran = run(["sh", "-c", "(sleep 0.3 &) ; sleep 0.2 & exit 6"], "--left", "20")
    assert (ran.returncode, ran.stderr) == (6, b"")


def test_the_group_s_id_is_nobody_else_s_until_it_is_let_go(attend: Attend) -> None:
    """A signal for what the command left can't meet a stranger: its first process is unreaped."""
    attended = attend("sh", "-c", "trap '' TERM; sleep 60 & exit 0", options=("--left", "30"))
    wait_for(lambda: any(state_of(p) == "Z" for p in children_of(attended.pid)), "its end")
    [leader] = [p for p in children_of(attended.pid) if state_of(p) == "Z"]
    [left] = [p for p in children_of(attended.pid) if p != leader]
    assert os.getpgid(left) == leader
    attended.send_signal(signal.SIGTERM)  # ignored there
    attended.send_signal(signal.SIGUSR1)
    assert ended(attended) == 0
    assert state_of(left) == ""


# -- what the command finds


SHOW_WORDS = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]


@pytest.mark.parametrize(
    "ignored", [[], ["HUP"], ["INT", "QUIT"], ["TERM"], ["USR1", "CHLD"], ["TSTP", "TTIN", "TTOU"]]
)
@pytest.mark.parametrize("blocked", [[], ["SIGTERM", "SIGUSR2"], ["SIGINT", "SIGCHLD", "SIGCONT"]])
def test_signals_are_ignored_and_blocked_as_they_were_for_us(
    ignored: list[str], blocked: list[str]
) -> None:
    """By nohup, `trap ''`, or a program that blocked some and started us."""
    script = "import os, signal, sys; "
    script += f"[signal.signal(getattr(signal, 'SIG' + n), signal.SIG_IGN) for n in {ignored}]; "
    script += f"signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, n) for n in {blocked}]); "
    script += "[signal.signal(n, signal.SIG_DFL) for n in (signal.SIGPIPE, signal.SIGXFSZ)]; "
    script += "os.execvp(sys.argv[1], sys.argv[1:])"
    prefix = [sys.executable, "-I", "-S", "-c", script]
    bare = subprocess.run([*prefix, *SHOW_WORDS], capture_output=True, check=True).stdout
    assert run(SHOW_WORDS, prefix=prefix).stdout == bare


def test_sigpipe_is_as_programs_expect_it() -> None:
    """Python ignores it, and its children would."""
    assert (
        run(["bash", "-c", "yes | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}"]).returncode == 141
    )


def test_an_ignored_sigchld_does_not_lose_the_status() -> None:
    assert run(["sh", "-c", "exit 9"], prefix=["env", "--ignore-signal=CHLD"]).returncode == 9


def test_under_nohup_a_hangup_ends_neither(attend: Attend, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "signals")
    attended = subprocess.Popen(
        ["nohup", *ATTEND, "--", "sh", "-c", 'sleep 0.01; exec "$@"', "sh", *recorder.command],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    recorder.wait_until_ready()
    assert signals_of(attended.pid)["SigIgn"] & 1 << signal.SIGHUP - 1
    attended.send_signal(signal.SIGHUP)
    attended.send_signal(signal.SIGUSR1)
    recorder.wait_until_received(signal.SIGUSR1)
    recorder.end()
    assert ended(attended) == 0
    assert recorder.received() == [["SIGUSR1"]]


def test_descriptors_are_those_that_we_were_given(tmp_path: Path) -> None:
    """What the caller opened on purpose (a lock, a job server) is the command's; none of ours."""
    show = ["sh", "-c", "for f in /proc/self/fd/*; do readlink -f $f; done"]
    with (tmp_path / "given").open("w") as given:

        def shown(line: list[str]) -> list[bytes]:
            ran = subprocess.run(
                line,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=[given.fileno()],
                check=True,
            )
            return [re.sub(rb"\d+", b"N", line) for line in ran.stdout.split()]

        bare = shown(show)
        assert os.fsencode(re.sub(r"\d+", "N", str(tmp_path / "given"))) in bare
        assert shown([*ATTEND, "--", *show]) == bare


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_stream_is_closed_for_the_command(tmp_path: Path, closed: str) -> None:
    """Nothing that we opened in its place."""
    out = tmp_path / "out"
    show = f"for n in 0 1 2; do [ -e /proc/$$/fd/$n ] && echo $n >> {out}; done; exit 0"
    script = f'"$@" {closed}'
    subprocess.run(["sh", "-c", script, "sh", "sh", "-c", show], check=True)
    bare = out.read_text() if out.exists() else ""
    out.unlink(missing_ok=True)
    subprocess.run(["sh", "-c", script, "sh", *ATTEND, "--", "sh", "-c", show], check=True)
    assert (out.read_text() if out.exists() else "") == bare
    assert bare != "0\n1\n2\n"


def test_the_streams_are_the_command_s(tmp_path: Path) -> None:
    """Bytes go in and come out as they are."""
    content = bytes(range(256)) * 4096
    line = [*ATTEND, "--", "sh", "-c", "tee /dev/fd/2"]
    ran = subprocess.run(line, input=content, capture_output=True, check=True)
    assert ran.stdout == ran.stderr == content


# -- as process 1


def can_unshare() -> bool:
    return (
        subprocess.run(
            ["unshare", "--pid", "--fork", "true"], capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.root
@pytest.mark.parametrize("number", DEADLY, ids=lambda number: number.name)
def test_process_1_of_a_container_hands_signals_on(tmp_path: Path, number: signal.Signals) -> None:
    """The kernel ignores what process 1 has no handler for."""
    if not can_unshare():
        pytest.skip("no process namespace is to be had")
    recorder = Recorder(tmp_path / "signals", children=1)
    line = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        *ATTEND,
        "--",
        *recorder.command,
    ]
    outside = subprocess.Popen(line)
    recorder.wait_until_ready()
    [first] = children_of(outside.pid)
    os.kill(first, number)
    recorder.wait_until_received(number)
    recorder.end()
    assert ended(outside) == 0
    assert recorder.received() == [[number.name]] * 2


@pytest.mark.root
def test_process_1_of_a_container_reaps_orphans(tmp_path: Path) -> None:
    if not can_unshare():
        pytest.skip("no process namespace is to be had")
    made, end = tmp_path / "made", tmp_path / "end"
    command = [sys.executable, "-I", "-S", "-c", TWICE, "100", str(made), str(end)]
    line = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *ATTEND, "--", *command]
    outside = subprocess.Popen(line)
    wait_for(made.exists, "the orphans")
    [first] = children_of(outside.pid)
    wait_for(lambda: len(children_of(first)) == 1, "the end of the orphans")
    end.touch()
    assert ended(outside) == 5
