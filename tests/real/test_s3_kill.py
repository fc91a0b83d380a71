"""`publish watch` and `publish prune` on a real store, killed at random moments."""

from __future__ import annotations

import random
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry
from dispatch.checkpoint.log import Log
from tests.cli.program import Program, Running, wait_for
from tests.contracts.buckets import BucketBench, open_log, variables_of
from tests.servers.s3 import S3Server
from tests.servers.stores import Store, real_store

pytestmark = pytest.mark.real

ROUNDS = 8
SAVES, KEEP = 6, 3
FILES = (".metadata", *(f"__0_{number}.distcp" for number in range(5)))
DELAY_S_MAX = 0.06  # about what a prune of three saves takes: the kill comes in the middle of it
PUBLISHED = re.compile(rb"published step (\d+): ")


class Job:
    """A root on a real store, and the program."""

    def __init__(self, store: Store, scratch: Path) -> None:
        self.store = store
        self.bench = BucketBench(store)
        self.program = Program([sys.executable, "-m", "dispatch.cli.publish"], scratch)
        self.saves: list[Entry] = []

    def open(self) -> Log:
        """Open the root beside the program."""
        return open_log(self.store, self.bench.root)

    def start(self, command: str, *more: str, epoch: int = 1) -> Running:
        """Start a command on the root."""
        return self.program.start(
            command, "-checkpoint", self.bench.root, "-endpoint", self.store.server.url, *more,
            environment={
                **variables_of(self.store),
                "DISPATCH_EPOCH": str(epoch),
                "DISPATCH_ATTEMPT": f"a{epoch}",
            },
        )  # fmt: skip

    def watch(self, epoch: int) -> Running:
        """Start a watch."""
        return self.start("watch", "-framework", "dcp", "-interval", "20ms", epoch=epoch)

    def write(self, entry: Entry) -> None:
        """Write a save as PyTorch DCP does: its metadata last."""
        self.saves.append(entry)
        for name in reversed(FILES):
            self.bench.write(entry.path + b"/" + name.encode(), b"x")

    def prune(self) -> Running:
        """Start a prune."""
        return self.start("prune", "-keep", str(KEEP), epoch=ROUNDS + 1)

    def check(self) -> None:
        """What is published is whole, and what isn't whole doesn't look complete."""
        with self.open() as log:
            entries = log.entries()
            assert log.resolve() == max(entries, default=None)
        keys = set(self.bench.keys())
        for save in self.saves:
            there = {name for name in FILES if f"{save.save}/{name}" in keys}
            assert there == set(FILES) or save not in entries, f"{save} is published"
            assert there == set(FILES) or ".metadata" not in there, f"{save} looks complete"


@pytest.fixture
def job(radosgw: S3Server, tmp_path: Path) -> Iterator[Job]:
    made = Job(real_store(radosgw), tmp_path)
    yield made
    made.program.kill_started()


def kill(running: Running) -> bytes:
    """Kill it; return what it had said."""
    running.send(signal.SIGKILL)
    running.process.wait()
    return running.said()


@pytest.mark.timeout(300)
def test_a_watch_and_a_prune_killed_at_any_moment_break_no_promise(job: Job, seed: int) -> None:
    """What was published is there and whole; another watch and another prune finish the work.

    Replay with the seed that the run's header shows.
    """
    rng = random.Random(seed)
    cut_off = 0
    for epoch in range(1, ROUNDS + 1):
        saves = [Entry(epoch, step, f"exec/a{epoch}/step-{step}") for step in range(1, SAVES + 1)]
        told = watch_until_killed(job, saves, rng)
        with job.open() as log:
            published = set(log.entries())
        assert {save for save in saves if save.step in told} <= published
        job.check()
        let_another_watch_publish(job, saves)
        cut_off += prune_until_killed(job, rng)
        job.check()
        job.prune().wait().well()
        job.check()
        with job.open() as log:
            assert log.entries() == saves[-KEEP:]
    assert cut_off, "no prune was killed before its end: are the delays too long?"


def watch_until_killed(job: Job, saves: list[Entry], rng: random.Random) -> set[int]:
    """Write saves while a watch runs, and kill it; return the steps that it told of."""
    watch = job.watch(saves[0].epoch)
    watch.wait_until_it_handles_signals()
    count = rng.randint(1, len(saves))
    for save in saves[:count]:
        job.write(save)
    watch.wait_until_said(f"published step {rng.randint(1, count)}: ")
    time.sleep(rng.random() * DELAY_S_MAX)  # not to wait for anything: to come at any moment
    told = kill(watch)
    for save in saves[count:]:
        job.write(save)
    return {int(step) for step in PUBLISHED.findall(told)}


def let_another_watch_publish(job: Job, saves: list[Entry]) -> None:
    """Stop it in order: it looks once more, and publishes what the one before it didn't."""
    watch = job.watch(saves[0].epoch)
    watch.wait_until_it_handles_signals()
    watch.end().well()
    with job.open() as log:
        assert set(saves) <= set(log.entries())


def prune_until_killed(job: Job, rng: random.Random) -> bool:
    """Kill a prune some time after it has removed its first entry; whether it was still at work."""
    with job.open() as log:
        before = len(log.entries())
        prune = job.prune()
        wait_for(lambda: len(log.entries()) < before or not prune.is_running(), "the first removal")
    time.sleep(rng.random() * DELAY_S_MAX)  # as above
    kill(prune)
    return prune.process.returncode == -signal.SIGKILL
