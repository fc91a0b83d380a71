"""Two real processes in one root at the same time, stopped at random moments, or at chosen ones.

An old execution that has not stopped yet publishes late, at higher steps, while the new one
publishes and prunes. Nothing that was reported may be lost, and the new one's latest is the
latest. The design that this replaces, a pointer that is checked and then renamed over, does lose.
"""

import json
import os
import random
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dispatch.checkpoint import open_store, parse_entry_name

pytestmark = pytest.mark.real

PROGRAM = Path(__file__).parent / "programs" / "overlap.py"
TRIALS = 1000
OLD, NEW = 1_000_000, 2_000_000
STOPS_MAX = 3  # in one trial
PAUSE_S_MAX = 0.002  # between stops, and of a stop, unless an answer comes before
BOUND_S = 60.0
STOPPED = os.WUNTRACED | os.WNOHANG


class Worker:
    """One of the two processes."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout

    def ask(self, **request: object) -> None:
        """Let it begin something."""
        self.requests.write(json.dumps(request).encode() + b"\n")
        self.requests.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for what came of it."""
        line = self.answers.readline()
        assert line, f"it died: {self.process.wait(BOUND_S)}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def signal(self, number: signal.Signals) -> None:
        """Stop it, or let it go on."""
        self.process.send_signal(number)

    def wait_until_stopped(self) -> None:
        """Wait for it to stop itself."""
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it ended: {status}"

    def end(self) -> None:
        """Let it end."""
        self.process.kill()
        self.process.wait(BOUND_S)
        self.requests.close()
        self.answers.close()


@dataclass(frozen=True)
class Pair:
    """The two processes; each lives through many trials."""

    old: Worker
    new: Worker


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two processes that wait for requests."""
    pair = Pair(Worker(), Worker())
    yield pair
    pair.old.end()
    pair.new.end()


def both_answers(pair: Pair, rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Wait for both, and meanwhile stop now one and now the other."""
    answers: dict[Worker, dict[str, Any]] = {}
    with selectors.DefaultSelector() as selector:
        for worker in (pair.old, pair.new):
            selector.register(worker.answers, selectors.EVENT_READ, worker)

        def collect(seconds: float) -> None:
            for key, _ in selector.select(seconds):
                answers[key.data] = key.data.answer()
                selector.unregister(key.fileobj)

        for _ in range(rng.randint(0, STOPS_MAX)):
            collect(rng.uniform(0, PAUSE_S_MAX))
            running = [worker for worker in (pair.old, pair.new) if worker not in answers]
            if not running:
                break
            stopped = rng.choice(running)
            stopped.signal(signal.SIGSTOP)
            collect(rng.uniform(0, PAUSE_S_MAX))
            stopped.signal(signal.SIGCONT)
        while len(answers) < 2:
            collect(BOUND_S)
    return answers[pair.old], answers[pair.new]


def check_trial(root: Path, first: list[str], old: dict[str, Any], new: dict[str, Any]) -> None:
    """Check that nothing was lost, and that what is published is whole."""
    log = open_store(root)
    listed = {entry.name() for entry in log.entries()}
    reported = {*first, *old["published"], *old["again"], *new["published"]}
    removed = set(new["removed"])
    assert reported - removed <= listed, "a publication was lost"
    assert listed <= reported, "an entry is nobody's"
    # A removed entry is listed only where it was published again, since or a moment before.
    twice = {name for name in reported if [*first, *old["published"]].count(name) > 1}
    assert not listed & removed - twice, "a removed entry came back"
    assert set(old["missing"]) <= removed, "a save went though its entry was never pruned"
    assert new["missing"] == new["again"] == []
    for entry in map(parse_entry_name, listed):
        files = {path.name: path.read_bytes() for path in (root / entry.save).iterdir()}
        assert len(files) == 2, f"{entry} is not whole"
        assert set(files.values()) == {b"%d %d" % (entry.epoch, entry.step)}
    latest = log.resolve()
    assert latest is not None
    assert latest.name() == new["published"][-1], "the latest is not the new execution's"


@pytest.mark.timeout(600)
def test_of_1000_overlapping_trials_none_loses_a_publication(
    tmp_path: Path, pair: Pair, seed: int
) -> None:
    """Every publication is there but for those that a prune says it removed."""
    overlaps = 0
    for trial in range(TRIALS):
        rng = random.Random(f"{seed} {trial}")
        root = tmp_path / str(trial)
        root.mkdir()
        pair.old.ask(
            do="publish", root=str(root), epoch=OLD, steps=[1, 2], again=[], keep=0, seed=0
        )
        first = pair.old.answer()["published"]
        steps = [100 + step for step in range(rng.randint(2, 4))]
        common = {"do": "publish", "root": str(root), "seed": rng.random()}
        pair.old.ask(**common, epoch=OLD, steps=steps, again=[1, 2, 100], keep=0)
        keep = rng.randint(1, 2)
        pair.new.ask(**common, epoch=NEW, steps=[3, 4, 5, 6], again=[], keep=keep)
        old, new = both_answers(pair, rng)
        overlaps += max(old["time"][0], new["time"][0]) < min(old["time"][1], new["time"][1])
        try:
            check_trial(root, first, old, new)
        except AssertionError as error:
            error.add_note(f"trial {trial} of seed {seed}: first {first}, old {old}, new {new}")
            raise
    assert overlaps > TRIALS // 10, f"only {overlaps} of {TRIALS} trials overlapped at all"


# -- one interleaving, step by step


def test_a_pointer_that_is_checked_then_renamed_loses(tmp_path: Path, pair: Pair) -> None:
    """The old run is stopped between its check and its rename, and wins."""
    root = {"do": "point", "root": str(tmp_path)}
    pair.old.ask(**root, epoch=1, steps=[500])
    assert pair.old.answer()["moved"]
    pair.old.ask(**root, epoch=1, steps=[900], stop_at=0)
    pair.old.wait_until_stopped()
    pair.new.ask(**root, epoch=2, steps=[100])
    assert pair.new.answer()["moved"]
    pointer = tmp_path / "latest"
    assert json.loads(pointer.read_bytes())["of"] == [2, 100]
    pair.old.signal(signal.SIGCONT)
    assert pair.old.answer()["moved"]
    assert json.loads(pointer.read_bytes())["of"] == [1, 900], "the new run's save is still found"


@pytest.mark.parametrize("stop_at", range(5))
def test_the_log_does_not_lose_wherever_the_old_run_is_stopped(
    tmp_path: Path, pair: Pair, stop_at: int
) -> None:
    """Before each call of its publication: nothing is compared, so nothing can be outdated."""
    root = {"do": "publish", "root": str(tmp_path), "again": [], "keep": 0, "seed": 0}
    pair.old.ask(**root, epoch=1, steps=[500])
    first = pair.old.answer()["published"]
    pair.old.ask(**root, epoch=1, steps=[900], stop_at=stop_at)
    if stop_at < 4:
        pair.old.wait_until_stopped()
    pair.new.ask(**root, epoch=2, steps=[100])
    new = pair.new.answer()["published"]
    pair.old.signal(signal.SIGCONT)
    late = pair.old.answer()["published"]
    log = open_store(tmp_path)
    assert [entry.name() for entry in log.entries()] == [*first, *late, *new]
    latest = log.resolve()
    assert latest is not None
    assert (latest.epoch, latest.step) == (2, 100)
