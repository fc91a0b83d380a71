"""One scene: the same acts in the same order, whatever decides which save is resumed from."""

from __future__ import annotations

import signal
import subprocess
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demo import reports
from demo.processes import DemoError
from demo.screen import BOLD, NEW, NOTHING, OLD, Text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from demo.processes import Processes
    from demo.screen import Screen

SAVE_STEPS = 5
SLOWER = 1.5  # the replacement got a slower node, so the old run stays ahead of it
SAVES_BEFORE_PREEMPTION = 3
SAVES_OF_RUN_3 = 2
SHOWN_LOG_LINES = 15  # of a trainer that failed


@dataclass(slots=True, eq=False)
class Run:
    """One execution of the job.

    Attributes:
        number: 1 for the old run, 2 for its replacement, 3 for the restart of that.
        attempt: Its token.
        epoch: What orders it among the others.
        steps: The steps of its saves that anybody can see, oldest first.
        lineage: As read from one of its saves; None before the first.
    """

    number: int
    attempt: str
    epoch: int
    steps: list[int] = field(default_factory=list)
    lineage: reports.Lineage | None = None

    @property
    def name(self) -> str:
        """For people."""
        return f"run {self.number}"

    @property
    def style(self) -> str:
        """Its lineage's colour."""
        return OLD if self.number == 1 else NEW


@dataclass(frozen=True, slots=True)
class Setting:
    """What a scene is played with.

    Attributes:
        folder: For it alone.
        trainer: The trainer's command.
        step_seconds: How long a step of run 1 takes at least.
        bound_seconds: How long anything may take before the demo gives up.
    """

    folder: Path
    trainer: list[str]
    step_seconds: float
    bound_seconds: float


class Scene(ABC):
    """A job is preempted, its old run goes on, its replacement overlaps with it and restarts."""

    def __init__(self, setting: Setting, processes: Processes, screen: Screen) -> None:
        self.runs = [
            Run(1, "1.4101.0", 1_000_000),
            Run(2, "2.4102.0", 2_000_000),
            Run(3, "2.4102.1", 2_000_001),
        ]
        self.setting = setting
        self.processes = processes
        self.screen = screen
        self.late = 0  # saves of run 1 that appeared after run 2 began
        self._trainers: dict[Run, subprocess.Popen[bytes]] = {}
        self._is_overlapping = False
        setting.folder.mkdir()

    @abstractmethod
    def out(self, run: Run) -> Path:
        """Where a run's trainer writes."""

    @abstractmethod
    def begin(self, run: Run) -> list[str]:
        """Do what a run's job script does before training; the trainer's options for resuming."""

    @abstractmethod
    def end(self, run: Run) -> None:
        """Do what a run's job script does after training."""

    @abstractmethod
    def tell(self) -> None:
        """Show what has happened since the last call."""

    @abstractmethod
    def is_overlap_shown(self) -> bool:
        """Whether the runs have overlapped for long enough."""

    def play(self) -> None:
        """Play all acts.

        Raises:
            DemoError: Something didn't come in time, or failed.
        """
        first, second, third = self.runs
        self.screen.start_clock()
        self.note("run 1 starts")
        self.start(first)
        self.until(lambda: len(first.steps) >= SAVES_BEFORE_PREEMPTION, "run 1 trains")
        self.note("preempted: SIGTERM to run 1's trainer, which saves and trains on")
        self._trainers[first].send_signal(signal.SIGTERM)
        self.until(lambda: self._has_saved_on_sigterm(first), "run 1 finishes its step and saves")
        self.note("the scheduler declares run 1 ended, and starts run 2")
        self._is_overlapping = True
        self.start(second)
        self.until(self.is_overlap_shown, "run 2 loads, and both runs train and save")
        self.note("the kill wait is over: run 1 really ends. Run 2's node fails")
        self._kill(first, second)
        self._is_overlapping = False
        self.note("the scheduler restarts run 2: this is run 3")
        self.start(third)
        self.until(lambda: self.has_ended(third), "run 3 loads, trains and saves")
        self._kill(third)
        self.tell()

    def start(self, run: Run) -> None:
        """Start a run's trainer as its job script would."""
        pace = self.setting.step_seconds * (1 if run.number == 1 else SLOWER)
        command = [
            *self.setting.trainer,
            *("--output_dir", str(self.out(run))),
            *("--save_steps", str(SAVE_STEPS)),
            *("--step_seconds", str(pace)),
            *self.begin(run),
        ]
        self._trainers[run] = self.processes.start(command, self._log(run), variables(run))

    def last_step_of_run_3(self, resumed_at: int) -> str:
        """Where run 3 ends well, when it resumes at a step."""
        return str((resumed_at // SAVE_STEPS + SAVES_OF_RUN_3) * SAVE_STEPS)

    def note(self, words: str) -> None:
        """Show one act of the scheduler."""
        self.screen.row(Text(words, BOLD))

    def show(self, run: Run, words: str, *answers: Text) -> None:
        """Show what a run did, in its lineage's column, and the answers at that moment."""
        did = Text(words, run.style)
        left, right = (did, NOTHING) if run.number == 1 else (NOTHING, did)
        self.screen.row(left, right, *answers)

    def saw(self, run: Run, step: int, lineage: reports.Lineage | None) -> None:
        """Note a save that has become visible, and whose it is."""
        run.steps.append(step)
        self.late += run.number == 1 and self._is_overlapping
        if lineage:
            self.note_lineage(lineage)

    def note_lineage(self, lineage: reports.Lineage) -> None:
        """Note the lineage that a save's own state holds."""
        for run in self.runs:
            if run.attempt == lineage[-1].attempt:
                run.lineage = lineage

    def events(self, run: Run) -> list[reports.Event]:
        """All that a run's trainer has told."""
        return reports.read_events(self._log(run)) if self._log(run).exists() else []

    def until(self, condition: Callable[[], bool], doing: str) -> None:
        """Show what happens until ``condition`` holds.

        Raises:
            DemoError: It did not within the setting's bound, or a trainer failed.
        """
        deadline = time.monotonic() + self.setting.bound_seconds
        self.tell()
        while not condition():
            if time.monotonic() > deadline:
                message = f"not within {self.setting.bound_seconds:.0f} s: {doing}"
                raise DemoError(message)
            self.screen.live(doing)
            self.processes.pause()
            for run, trainer in list(self._trainers.items()):
                if trainer.poll():
                    self.failed(run)
            self.tell()

    def failed(self, run: Run) -> None:
        """Handle a trainer that ended with an error.

        Raises:
            DemoError: That wasn't to be expected.
        """
        message = f"the trainer of {run.name} failed:\n{self.last_words(run, SHOWN_LOG_LINES)}"
        raise DemoError(message)

    def last_words(self, run: Run, lines: int = 1) -> str:
        """The end of what a run's trainer has written."""
        written = self._log(run).read_text("utf-8", "replace").splitlines()
        return "\n".join(written[-lines:])

    def forget(self, run: Run) -> None:
        """Look no more after a trainer that has ended."""
        del self._trainers[run]

    def has_ended(self, run: Run) -> bool:
        """Whether a run's trainer is gone, or has ended well."""
        return run not in self._trainers or self._trainers[run].poll() == 0

    def _has_saved_on_sigterm(self, run: Run) -> bool:
        steps = [event["step"] for event in self.events(run) if event["event"] == "terminated"]
        return bool(steps) and steps[0] in run.steps

    def _kill(self, *runs: Run) -> None:
        trainers = [self._trainers.pop(run) for run in runs if run in self._trainers]
        for trainer in trainers:
            trainer.kill()
        for trainer in trainers:
            trainer.wait()
        for run in runs:
            self.end(run)

    def _log(self, run: Run) -> Path:
        return self.setting.folder / f"trainer-{run.number}.log"


def variables(run: Run) -> dict[str, str]:
    """What the scheduler's adapter sets in a run's environment."""
    return {"DISPATCH_ATTEMPT": run.attempt, "DISPATCH_EPOCH": str(run.epoch)}
