"""The scene without: one folder for all executions, and the highest number is resumed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demo import reports
from demo.processes import DemoError
from demo.scene import SAVE_STEPS, Run, Scene
from demo.screen import BAD, DIM, NEW, OLD, Text

if TYPE_CHECKING:
    from pathlib import Path

    from demo.processes import Processes
    from demo.scene import Setting
    from demo.screen import Screen

SAVE_TOTAL_LIMIT = 3  # Trainer's own rotation: without it the folder grows for ever
RUN_2_SAVES = 2  # before its node fails
BEGINNINGS_MAX = 4  # of run 2, which can meet a half-written save at each


class BareScene(Scene):
    """What Trainer does by itself: ``--resume_from_checkpoint True`` in one output folder.

    Attributes:
        lost_to: By run number: how many saves of run 2's lineage that run's rotation deleted
            while the replacement ran.
        crashes: What a trainer died of, for people.
    """

    def __init__(self, setting: Setting, processes: Processes, screen: Screen) -> None:
        super().__init__(setting, processes, screen)
        self.folder = setting.folder / "output"
        self.lost_to = {1: 0, 2: 0}
        self.crashes: list[str] = []
        self._told: dict[Run, int] = dict.fromkeys(self.runs, 0)

    def out(self, run: Run) -> Path:  # noqa: ARG002 - that is the point
        """The one folder."""
        return self.folder

    def begin(self, run: Run) -> list[str]:
        """Say nothing about which save: the trainer takes the highest number."""
        options = ["--save_total_limit", str(SAVE_TOTAL_LIMIT)]
        if run is self.runs[2]:
            options += ["--max_steps", self.last_step_of_run_3(self._highest_step())]
        return options if run.number == 1 else [*options, "--resume_from_checkpoint", "True"]

    def end(self, run: Run) -> None:
        """Nothing is left to do."""

    def tell(self) -> None:
        """Show each run's saves, and each save of run 2 that was deleted."""
        for run in self.runs:
            events = self.events(run)
            for event in events[self._told[run] :]:
                self._tell_of(run, event)
            self._told[run] = len(events)

    def is_overlap_shown(self) -> bool:
        """Whether run 2 has lost a save, and run 1 is ahead by a whole one."""
        if self.crashes and self.has_ended(self.runs[1]):
            return True
        newest = max(self.runs[1].steps, default=0)
        return (
            len(self.runs[1].steps) >= RUN_2_SAVES
            and any(self.lost_to.values())
            and self._highest_step() >= newest + SAVE_STEPS
            and self._highest_lineage() is not None
        )

    def failed(self, run: Run) -> None:
        """Show a crash of the replacement, and start it again when it had not begun."""
        if run.number == 1:
            super().failed(run)
        has_begun = any(event["event"] == "started" for event in self.events(run))
        when = "while training" if has_begun else "on the highest folder"
        fault = self.last_words(run).partition(":")[0]
        self.crashes.append(f"{run.name} crashes {when}: {fault}")
        self.screen.row(Text(self.crashes[-1], BAD))
        self.forget(run)
        if not has_begun and run is self.runs[1]:
            if len(self.crashes) >= BEGINNINGS_MAX:
                raise DemoError(self.crashes[-1])
            self.start(run)

    def _tell_of(self, run: Run, event: reports.Event) -> None:
        match event:
            case {"event": "started", "step": step} if run.number > 1:
                self.show(run, f"{run.name} from step {step}", *self._answers())
            case {"event": "saved", "step": int(step)}:
                self.saw(run, step, reports.lineage_of(self.folder / f"checkpoint-{step}"))
                self.show(run, f"saves step {step}", *self._answers())
            case {"event": "removed", "save": str(save), "lineage": list(links)}:
                self._tell_of_removal(run, save, tuple(reports.Link(*link) for link in links))
            case _:
                pass

    def _tell_of_removal(self, run: Run, save: str, lineage: reports.Lineage) -> None:
        if lineage:
            self.note_lineage(lineage)
        if run in self.runs[:2] and self.runs[1].attempt in {link.attempt for link in lineage}:
            self.lost_to[run.number] += 1
            whose = "run 2's" if run.number == 1 else "its own"
            self.show(run, f"deletes {whose} {save.removeprefix('checkpoint-')}", *self._answers())

    def _highest(self) -> Path | None:
        saves = reports.saves_in(self.folder)
        return saves[-1] if saves else None

    def _highest_step(self) -> int:
        highest = self._highest()
        return (reports.step_of(highest) or 0) if highest else 0

    def _highest_lineage(self) -> reports.Lineage | None:
        highest = self._highest()
        return reports.lineage_of(highest) if highest else None

    def _answers(self) -> tuple[Text, Text]:
        """The highest folder, and whose it is."""
        highest, lineage = self._highest(), self._highest_lineage()
        if highest is None:
            return Text("nothing", DIM), Text()
        if lineage is None:
            return Text(highest.name), Text("half-written", BAD)
        attempts = [link.attempt for link in lineage]
        numbers = [str(run.number) for run in self.runs if run.attempt in attempts]
        is_old = self.runs[1].attempt not in attempts
        whose = Text("run " + " > ".join(numbers), OLD if is_old else NEW)
        if is_old and self.runs[1].steps:
            whose = Text(f"{whose.words} !", BAD)
        return Text(highest.name, whose.style), whose
