"""One preemption, made with real processes in real time."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from benchmarks.lost_work.job import Job
from benchmarks.lost_work.outcome import Outcome
from benchmarks.lost_work.scenario import Moment, Plan, Scale, Script
from dispatch.checkpoint import open_store

POLL_SECONDS = 0.1
BOUND_SECONDS = 600.0
"""For anything: what takes longer hangs."""

EPOCH = 4_101_000_000


class StoppedError(Exception):
    """All preemptions are to end."""


class PreemptionError(Exception):
    """A preemption could not be made; the message says why."""


@dataclass(kw_only=True)
class Preemption:
    """One job: its old execution, SIGTERM, and the starts of its replacement.

    Attributes:
        plan: What is to be made.
        scale: How long things take.
        folder: For it alone.
        programs: Where the programs are that the scripts call.
        stop: Set when all is to end.
    """

    plan: Plan
    scale: Scale
    folder: Path
    programs: Path
    stop: Event
    _starts: int = field(default=0, init=False)

    def make(self) -> Outcome:
        """Make it.

        Raises:
            StoppedError: It was asked for.
            PreemptionError: Something that had to come didn't.
        """
        self.folder.mkdir()
        (self.folder / "root").mkdir()
        with ExitStack() as jobs:
            old = jobs.enter_context(self._start())
            pace = self._train(old)
            self._sleep(self.plan.signal_seconds)
            begin = time.monotonic()
            old.send(signal.SIGTERM)
            reaper = _Reaper(old, begin + self.scale.kill_wait_seconds)
            if self.plan.moment is Moment.AFTER_THE_END:
                self._until(reaper.has_ended, old, "the end of the old execution")
            new, failed_starts = self._replace(jobs, reaper)
            idle_seconds = time.monotonic() - begin
            self._until(reaper.has_ended, old, "the end of the old execution")
            return self._outcome(
                old, new, failed_starts=failed_starts, idle_seconds=idle_seconds, pace=pace
            )

    def _start(self) -> Job:
        """Start the next execution, as a scheduler would."""
        number = self._starts
        self._starts += 1
        root = self.folder / "root"
        variables = {
            "PATH": f"{self.programs}:{os.defpath}",
            "LC_ALL": "C.UTF-8",
            "CKPT": str(root),
            "DISPATCH_ATTEMPT": _attempt(number),
            "DISPATCH_EPOCH": str(EPOCH + number),
            "SLURM_JOB_ID": "4101",  # SIGTERM comes to every process from the scheduler itself
            "LAST_SAVE_SECONDS": str(self.plan.last_save_seconds),
        }
        if number:
            variables["RESTARTED"] = "1"
        return Job(self.plan.script.text(), self.folder / f"{number}.log", variables)

    def _train(self, old: Job) -> float:
        """Wait for the first save; how much longer the steps before it took than they must."""
        self._until(lambda: old.events("started") or old.has_ended(), old, "its start")
        begin = time.monotonic()
        self._until(lambda: old.events("saved") or old.has_ended(), old, "its first save")
        if old.has_ended():
            message = f"the first execution ended early:\n{old.last_words()}"
            raise PreemptionError(message)
        return (time.monotonic() - begin) / (self.scale.save_steps * self.scale.step_seconds)

    def _replace(self, jobs: ExitStack, old: "_Reaper") -> tuple[Job | None, int]:
        """Start the replacement until it trains; it, and how often it failed.

        None when it fails although the old execution had ended: nothing will change any more.
        """
        failed_starts = 0
        while True:
            is_old_gone = old.has_ended()
            new = jobs.enter_context(self._start())

            def is_decided(new: Job = new) -> bool:
                old.has_ended()  # kills it when its time is over
                return bool(new.events("started")) or new.has_ended()

            self._until(is_decided, new, "the start of the replacement")
            if new.events("started"):
                return new, failed_starts
            failed_starts += 1
            if is_old_gone:
                return None, failed_starts
            self._sleep(self.scale.pause_seconds)

    def _outcome(
        self, old: Job, new: Job | None, *, failed_starts: int, idle_seconds: float, pace: float
    ) -> Outcome:
        terminated = old.events("terminated")
        if not terminated:
            message = f"the trainer made no save on SIGTERM:\n{old.last_words()}"
            raise PreemptionError(message)
        reached = _step(terminated[0]["step"])
        started = new.events("started")[0] if new else {"step": None, "attempts": ["", ""]}
        attempts = started["attempts"]
        assert isinstance(attempts, list)
        resumed = started["step"]
        return Outcome(
            plan=self.plan,
            reached=reached,
            is_saved=any(event["step"] == reached for event in old.events("saved")),
            is_published=self.plan.script is not Script.BARE and reached in self._published(),
            resumed=None if resumed is None else _step(resumed),
            attempts=tuple(attempts[:-1]),
            old_attempt=_attempt(0),
            failed_starts=failed_starts,
            idle_seconds=idle_seconds,
            pace=pace,
        )

    def _published(self) -> set[int]:
        with open_store(self.folder / "root") as log:
            return {entry.step for entry in log.entries() if entry.epoch == EPOCH}

    def _until(self, condition: Callable[[], object], job: Job, what: str) -> None:
        deadline = time.monotonic() + BOUND_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                message = f"waited in vain for {what}:\n{job.last_words()}"
                raise PreemptionError(message)
            self._sleep(POLL_SECONDS)

    def _sleep(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise StoppedError


class _Reaper:
    """Sends SIGKILL to what is left of a job when its time is over."""

    def __init__(self, job: Job, deadline: float) -> None:
        self._job = job
        self._deadline = deadline

    def has_ended(self) -> bool:
        """Whether nothing is left."""
        if self._job.has_ended():
            return True
        if time.monotonic() > self._deadline:
            self._job.send(signal.SIGKILL)
        return False


def _attempt(number: int) -> str:
    return f"1.4101.{number}"


def _step(value: object) -> int:
    assert isinstance(value, int)
    return value
