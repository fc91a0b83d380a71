"""SIGTERM and SIGINT at any moment: a watch looks once more, everything else dies of them."""

import functools
import operator
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.injection import calls, changing_calls, injecting
from tests.cli.program import Argument, Program, Running, wait_for
from tests.cli.roots import Root

TRIALS = 200
DELAY_S_MAX = 0.06  # from before Python's own start to well after the first scan
SIGNALS = [signal.SIGTERM, signal.SIGINT]
NAMED = operator.attrgetter("name")
LOOKING = "openat,newfstatat,getdents64,read"


def start_watch(root: Root, prefix: Sequence[Argument] = ()) -> Running:
    """Start a watch that scans once and then waits for an hour."""
    flags = ("-framework", "hf", "-interval", "1h")
    return root.program.start("watch", "-checkpoint", root.path, *flags, prefix=prefix)


def has_ended_or_lost_it(watch: Running) -> bool:
    """Whether it ended, or Python lost a SIGINT before our first line, said so, and went on."""
    if not watch.is_running():
        return True
    return b"KeyboardInterrupt" in watch.said() and watch.handles_signals()


@pytest.mark.parametrize("part", range(4))
def test_a_signal_at_any_moment_finds_nothing_written_or_all_that_was_complete(
    root: Root, publish: Program, seed: int, part: int
) -> None:
    """Before its first line the program dies of it, from then on it looks once more."""
    chance = random.Random(f"{seed} {part}")
    for trial in range(TRIALS // 4):
        each = Root(root.path / str(trial), publish)
        save = each.hf(5)
        number = chance.choice(SIGNALS)
        watch = start_watch(each)
        time.sleep(chance.uniform(0, DELAY_S_MAX))
        watch.send(number)
        wait_for(functools.partial(has_ended_or_lost_it, watch), "its end")
        if watch.is_running():
            watch.send(signal.SIGTERM)
        status = watch.process.wait()
        if status == 0:
            assert each.names() == [each.entry(save, 5).name], f"seed {seed}, trial {trial}"
            assert b"published step 5" in watch.said()
        else:
            # Before our first line SIGINT is Python's own affair, which may end with status 1.
            assert status in ({-number, 1} if number == signal.SIGINT else {-number})
            assert not each.pub.exists(), f"seed {seed}, trial {trial}"
            assert b"publish:" not in watch.said()


@pytest.mark.parametrize("number", SIGNALS, ids=NAMED)
def test_a_signal_after_the_first_line_always_ends_well(
    root: Root, publish: Program, seed: int, number: signal.Signals
) -> None:
    """From the moment that SIGTERM has a handler."""
    chance = random.Random(f"{seed} {number}")
    for trial in range(25):
        each = Root(root.path / str(trial), publish)
        save = each.hf(5)
        watch = start_watch(each)
        watch.wait_until_it_handles_signals()
        time.sleep(chance.uniform(0, DELAY_S_MAX / 2))
        watch.end(number).well()
        assert each.names() == [each.entry(save, 5).name], f"seed {seed}, trial {trial}"


@pytest.mark.real
def test_a_signal_at_each_system_call_of_a_scan_is_followed_by_a_scan(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """Also of the first look at pub/, which comes before the first scan."""
    root.hf(5)
    flags = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once")
    found = calls(publish, tmp_path / "trace", f"{LOOKING},fsync,mkdirat", *flags)
    main_thread = found[0][2].split()[0]
    moments = [(name, number) for name, number, line in found if line.split()[0] != main_thread]
    assert len(moments) > 10
    for place, (name, number) in enumerate(moments):
        each = Root(tmp_path / f"root{place}", publish)
        save = each.hf(5)
        watch = start_watch(each, injecting(name, f"signal=SIGTERM:when={number}"))
        status = watch.process.wait(timeout=60)
        # The main thread may have made as many such calls before our first line.
        assert status == 0 or (status == -signal.SIGTERM and not each.pub.exists()), (name, number)
        assert status or each.names() == [each.entry(save, 5).name]


@pytest.mark.real
@pytest.mark.parametrize("second", SIGNALS, ids=NAMED)
def test_more_signals_never_cut_the_last_look_short(root: Root, second: signal.Signals) -> None:
    """One comes with each sync of each publication; all of what was complete is published."""
    count = 20
    watch = start_watch(root, injecting("fsync", f"signal={second.name}"))
    watch.wait_until_it_handles_signals()
    for step in range(1, count + 1):
        root.hf(step, attempt="hidden")
    root.own("hidden").rename(root.own())
    watch.send(signal.SIGTERM)
    watch.wait().well()
    assert root.published_steps() == list(range(1, count + 1))


def test_a_caller_that_cannot_wait_changes_nothing(root: Root) -> None:
    """SIGTERM again and again, as some schedulers send it."""
    count = 100
    watch = start_watch(root)
    watch.wait_until_it_handles_signals()
    for step in range(1, count + 1):
        root.hf(step, attempt="hidden")
    root.own("hidden").rename(root.own())
    while watch.is_running():
        watch.send(signal.SIGTERM)
    watch.wait().well()
    assert root.published_steps() == list(range(1, count + 1))


@pytest.mark.parametrize("number", SIGNALS, ids=NAMED)
def test_a_signal_while_stopped_counts_once_it_goes_on(root: Root, number: signal.Signals) -> None:
    """What became complete meanwhile is published."""
    watch = start_watch(root)
    watch.wait_until_it_handles_signals()
    watch.send(signal.SIGSTOP)
    stat = Path(f"/proc/{watch.pid}/stat")
    wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "its stop")
    save = root.hf(2)
    watch.send(number)
    watch.send(signal.SIGCONT)
    watch.wait().well()
    assert root.names() == [root.entry(save, 2).name]


def test_a_signal_to_another_thread_wakes_the_watch() -> None:
    """Any thread may get it; one that comes just before the wait has the same effect."""
    script = """
import signal, threading
from dispatch.cli.publish.stopping import SignalStop
stop = SignalStop()
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # in this thread alone
print("waiting", flush=True)
stop.wait(3600)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def test_signals_that_come_while_one_is_handled_do_not_pile_up() -> None:
    """In a system call of the handler the next one would come, and be handled within it."""
    script = """
import os, signal
from dispatch.cli.publish.stopping import SignalStop
def write(descriptor, data, write=os.write):
    os.kill(os.getpid(), signal.SIGTERM)
    return write(descriptor, data)
stop = SignalStop()
os.write = write
os.kill(os.getpid(), signal.SIGTERM)
assert stop.wait(3600)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_watch_between_two_scans_ends_at_once(root: Root) -> None:
    """It does not wait for the end of its interval, which is an hour here."""
    watch = start_watch(root)
    root.hf(1)
    watch.wait_until_it_handles_signals()
    watch.end().well()
    assert root.published_steps() == [1]


# -- the other commands


@pytest.mark.real
@pytest.mark.parametrize("number", SIGNALS, ids=NAMED)
@pytest.mark.parametrize("command", ["resolve", "log", "prune"])
def test_the_other_commands_die_of_a_signal_without_a_word(
    root: Root, publish: Program, command: str, number: signal.Signals
) -> None:
    """As shells expect; what came before they could, they die of when they can."""
    root.publish(root.hf(1), 1)
    more = ["-keep", "1"] if command == "prune" else []
    for call, path in (("getdents64", root.pub), ("openat", root.path)):
        prefix = injecting(call, f"signal={number.name}:when=1", path)
        ended = publish.run(command, "-checkpoint", root.path, *more, prefix=prefix)
        ended.ended_with(-number).answers("")
        assert ended.err == b""


@pytest.mark.real
@pytest.mark.parametrize("number", SIGNALS, ids=NAMED)
def test_a_signal_before_they_know_what_to_do_kills_them_as_soon_as_they_do(
    root: Root, publish: Program, tmp_path: Path, number: signal.Signals
) -> None:
    """From their first line on it is remembered."""
    save = root.hf(1)
    root.publish(save, 1)
    resolve = ("resolve", "-checkpoint", root.path)
    opened = calls(publish, tmp_path / "trace", "openat", *resolve)
    *_, moment = [at for _, at, line in opened if re.search(r"publish/(__pycache__/)?main\.", line)]
    prefix = injecting("openat", f"signal={number.name}:when={moment}")
    ended = publish.run(*resolve, prefix=prefix).ended_with(-number).answers("")
    assert ended.err == b""


@pytest.mark.real
@pytest.mark.parametrize("number", SIGNALS, ids=NAMED)
def test_a_caller_that_ignores_signals_is_followed_by_all_but_watch(
    root: Root, publish: Program, number: signal.Signals
) -> None:
    """As nohup and `trap ''` mean it; a watch that ignored them would hang its script."""
    save = root.hf(1)
    root.publish(save, 1)
    name = number.name.removeprefix("SIG")
    ignoring = ["sh", "-c", f"trap '' {name}; exec \"$@\"", "sh"]
    signalled = injecting("getdents64", f"signal={number.name}:when=1", root.pub)
    resolve = publish.run("resolve", "-checkpoint", root.path, prefix=[*ignoring, *signalled])
    resolve.well().answers(f"{save}\n")
    watch = start_watch(root, prefix=ignoring)
    watch.wait_until_it_handles_signals()
    watch.end(number).well()


KILLS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]


@pytest.mark.real
@pytest.mark.parametrize("number", KILLS, ids=NAMED)
def test_a_publication_that_dies_half_way_is_mended_by_the_next(
    root: Root, publish: Program, tmp_path: Path, number: signal.Signals
) -> None:
    """At each system call that changes something."""

    def arguments(each: Root) -> Sequence[Argument]:
        return ("publish", "-checkpoint", each.path, each.hf(1), "1")

    moments = changing_calls(publish, tmp_path / "trace", *arguments(root))
    assert [name for name, _ in moments] == ["mkdirat", "openat", "fsync", "fsync"]
    for place, (name, count) in enumerate(moments):
        each = Root(tmp_path / f"root{place}", publish)
        prefix = injecting(name, f"signal={number.name}:when={count}")
        publish.run(*arguments(each), prefix=prefix).ended_with(-number).answers("")
        assert each.resolve() in {b"", os.fsencode(each.hf(1))}
        publish.run(*arguments(each)).well()
        each.assert_resolves_to(each.hf(1))


@pytest.mark.real
@pytest.mark.parametrize("number", KILLS, ids=NAMED)
def test_a_prune_that_dies_half_way_is_mended_by_the_next(
    root: Root, publish: Program, tmp_path: Path, number: signal.Signals
) -> None:
    """At each system call that changes something.

    What is published stays whole, and so does a save that lost its entry but not yet its name:
    the next prune can't know it, and leaves it.
    """

    def prepared(each: Root) -> list[Path]:
        saves = [each.hf(step) for step in (1, 2, 3)]
        for step, save in enumerate(saves, start=1):
            each.write_entry(each.relative(save), step)
        return saves

    prepared(root)
    arguments = ("prune", "-keep", "1", "-checkpoint")
    moments = changing_calls(publish, tmp_path / "trace", *arguments, root.path)
    assert len(moments) > 10
    for place, (name, count) in enumerate(moments):
        each = Root(tmp_path / f"root{place}", publish)
        saves = prepared(each)
        prefix = injecting(name, f"signal={number.name}:when={count}")
        publish.run(*arguments, each.path, prefix=prefix).ended_with(-number).answers("")
        for step in each.published_steps():
            assert len(list(saves[step - 1].iterdir())) == 2
        each.assert_resolves_to(saves[2])
        each.prune(1).well()
        assert each.published_steps() == [3]
        left = set(each.own().iterdir())
        assert saves[2] in left
        assert left <= set(saves)
        assert all(len(list(save.iterdir())) == 2 for save in left)


BLOCKING = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("number", SIGNALS, ids=NAMED)
def test_a_signal_that_the_caller_blocked_ends_a_watch(root: Root, number: signal.Signals) -> None:
    """Otherwise the job script would wait for it for ever."""
    watch = start_watch(root, prefix=[sys.executable, "-c", BLOCKING])
    wait_for(watch.handles_signals, "its first line")
    watch.send(number)
    watch.wait().well()
