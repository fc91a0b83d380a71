"""A real process that publishes and prunes without a pause, killed at random moments."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry, open_store

pytestmark = pytest.mark.real

KILLS = 60
KEEP = 3
LINES_MAX = 40  # publications before a kill, at most
DELAY_S_MAX = 0.004  # about what one prune takes: the kill comes in the middle of something
BOUND_S = 60.0

PROGRAM = """
import json, os, sys
from pathlib import Path
from dispatch.checkpoint import open_store

root, epoch, keep = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
log = open_store(root)
step = 0
while True:
    step += 1
    save = root / "exec" / str(epoch) / f"step-{step}"
    (save / "model").mkdir(parents=True)
    (save / "model" / "weights").write_bytes(b"weights")
    (save / "state").write_bytes(b"state")
    entry = log.publish(epoch, step, save)
    os.write(1, json.dumps([entry.epoch, entry.step, entry.save]).encode() + b"\\n")
    if step % 2 == 0:
        log.prune(keep)
"""


def lines_until_killed(root: Path, epoch: int, rng: random.Random) -> Iterator[bytes]:
    """Run the program, kill it at a random moment, and give what it had printed by then."""
    command = [sys.executable, "-c", PROGRAM, str(root), str(epoch), str(KEEP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(rng.randint(1, LINES_MAX)):
            yield process.stdout.readline()
        time.sleep(rng.random() * DELAY_S_MAX)  # not to wait for anything: to come at any moment
        process.send_signal(signal.SIGKILL)
        yield from process.stdout
        assert process.wait(BOUND_S) == -signal.SIGKILL, "the program ended by itself"


def is_whole(folder: Path) -> bool:
    """Whether a save holds all that the program writes before it publishes."""
    files = {"state": b"state", "model/weights": b"weights"}
    return all((folder / name).read_bytes() == content for name, content in files.items())


def saves_of(root: Path) -> set[str]:
    """Every folder in an execution's folder, whatever it is called."""
    return {str(path.relative_to(root)) for path in root.glob("exec/*/*")}


@pytest.mark.timeout(300)
def test_a_publisher_killed_at_any_moment_breaks_no_promise(tmp_path: Path, seed: int) -> None:
    """What was published is there, what is there is whole, and the next prune finishes the work.

    Replay with the seed that the run's header shows.
    """
    rng = random.Random(seed)
    log = open_store(tmp_path)
    told: list[Entry] = []
    for epoch in range(1, KILLS + 1):
        lines = [line for line in lines_until_killed(tmp_path, epoch, rng) if line.endswith(b"\n")]
        told += [Entry(*json.loads(line)) for line in lines]
        entries = log.entries()
        assert set(told[-KEEP:]) <= set(entries)
        assert log.resolve() == entries[-1]
        for entry in entries:
            assert is_whole(Path(log.location(entry))), f"{entry} after kill {epoch}"
        if rng.random() < 0.5:  # else the next execution's prune finds what is left
            finish(tmp_path)
    finish(tmp_path)


def finish(root: Path) -> None:
    """Prune, and find nothing but what is kept and what a kill kept from being published."""
    log = open_store(root)
    published = len(log.entries())  # after the first kill it may be fewer than are kept
    result = log.prune(KEEP)
    assert [skip for skip in result.skipped if skip.failed] == []
    entries = log.entries()
    assert len(entries) == min(KEEP, published)
    left = saves_of(root)
    assert {entry.save for entry in entries} <= left
    assert [name for name in left if "/.pruned-" in name] == []
