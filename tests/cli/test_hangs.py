"""A store that gives no answer: a watch says what it waited for, and ends."""

import signal
from pathlib import Path

import pytest

from tests.cli.injection import injecting
from tests.cli.mounts import Freezer, Mounts
from tests.cli.program import Program, wait_for
from tests.cli.roots import Root

pytestmark = pytest.mark.real

LONG = "delay_enter=4000000"  # microseconds: three seconds more than the watches wait
OWN = "exec/1.4101.0"
SAVE = f"{OWN}/checkpoint-1"
MARKER = f"{SAVE}/trainer_state.json"
HUNG = [
    ("openat", "{root}", "opening it"),
    ("getdents64", f"{{root}}/{OWN}", f"listing {OWN}"),
    ("newfstatat", "{root}", "looking at the root"),
    ("newfstatat", MARKER, f"reading {MARKER}"),
    ("openat", MARKER, f"reading {MARKER}"),
    ("getdents64", f"{{root}}/{SAVE}", f"listing all of {SAVE}"),
    ("newfstatat", SAVE, f"looking at {SAVE}"),
    ("fsync", "{root}/pub", "creating pub/"),
    ("fsync", "{root}", "creating pub/"),
    ("fsync", f"{{root}}/{SAVE}/model.safetensors", f"syncing {SAVE}"),
]


def test_a_watch_that_gets_no_answer_says_what_it_waited_for(root: Root, publish: Program) -> None:
    """With the limit, and leaves the stuck thread behind."""
    watches = []
    for place, (call, path, activity) in enumerate(HUNG):
        each = Root(root.path / str(place), publish)
        each.hf(1)
        prefix = injecting(call, LONG, path.format(root=each))
        more = ["-sync"] if activity.startswith("syncing") else []
        watch = each.watch("-timeout", "1s", *more, prefix=prefix)
        watches.append((watch, f"no answer from '{each}' for 1 s while {activity}"))
    for watch, message in watches:
        watch.wait().ended_with(1).says(message, "-timeout")


def test_a_log_that_gives_no_answer_at_the_start_is_a_warning(root: Root) -> None:
    """Whether this run was overtaken can't be told then; saves are published all the same."""
    root.pub.mkdir()
    watch = root.watch("-timeout", "1s", prefix=injecting("getdents64", LONG, root.pub))
    watch.wait_until_said(
        "warning: the latest publication can't be told: listing pub/ took over 1 s"
    )
    root.let_a_scan_pass(watch, 1)
    watch.end().well()


@pytest.mark.root
def test_a_file_system_that_hangs_is_named_while_it_hangs(mounts: Mounts, publish: Program) -> None:
    """Reading goes on meanwhile; when it thaws, all is as if nothing had been."""
    folder = mounts.ext4("16m")
    root = Root(folder / "ck", publish)
    watch = root.watch("-timeout", "1s")
    root.let_a_scan_pass(watch, 1)
    watch.send(signal.SIGSTOP)
    late = root.hf(2)
    freezer = Freezer(folder)
    try:
        watch.send(signal.SIGCONT)
        watch.wait_until_said(f"no answer from '{root}' for 1 s while creating pub/")
        root.assert_resolves_to(root.own() / "checkpoint-1")
        # Its main thread has ended; the kernel keeps the stuck one until the file system thaws.
        stat = Path(f"/proc/{watch.pid}/stat")
        wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z", "its end")
    finally:
        freezer.thaw()
    watch.wait().ended_with(1)
    again = root.watch()
    again.wait_until_it_handles_signals()
    root.wait_until_published(late, 2, again)
    again.end().well()
    assert root.published_steps() == [1, 2]
