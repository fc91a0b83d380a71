"""The scene with `publish`: a folder for each execution, and saves that are published."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from demo import reports
from demo.processes import publish_command
from demo.scene import Scene, variables
from demo.screen import BAD, DIM, Text
from dispatch.checkpoint import Entry, open_store

if TYPE_CHECKING:
    from demo.processes import Processes
    from demo.scene import Run, Setting
    from demo.screen import Screen

KEEP = 3
RUN_2_PUBLISHES = 2  # before its node fails
LATE_AND_OUTRANKED = 2  # saves that run 1 publishes, at higher steps, after run 2's first


class PublishedScene(Scene):
    """Runs the job script of the documentation, line by line.

    Attributes:
        answers: All that `publish resolve` answered, in order.
        after_run_2: Those from run 2's first publication on.
        outranked: Late publications by run 1 at a higher step than any of run 2 then.
        entries: The publications before the prune.
        resolved: What each run resolved before it began.
    """

    def __init__(self, setting: Setting, processes: Processes, screen: Screen) -> None:
        super().__init__(setting, processes, screen)
        self.root = setting.folder / "checkpoints"
        self.root.mkdir()
        self.answers: list[str] = []
        self.after_run_2: list[str] = []
        self.outranked = 0
        self.entries: list[Entry] = []
        self.resolved: dict[int, str] = {}
        self._log_of_publications = open_store(self.root)
        self._watchers: dict[Run, subprocess.Popen[bytes]] = {}

    def out(self, run: Run) -> Path:
        """Its own: ``exec/$DISPATCH_ATTEMPT``."""
        return self.root / "exec" / run.attempt

    def begin(self, run: Run) -> list[str]:
        """Resolve, and start the watcher."""
        save = self.resolve()
        self.resolved[run.number] = save
        command = [*publish_command(), "watch", "-checkpoint", str(self.root), "-framework", "hf"]
        self._watchers[run] = self.processes.start(
            [*command, "-interval", "200ms"],
            self.setting.folder / f"watch-{run.number}.log",
            variables(run),
        )
        step = reports.step_of(Path(save)) or 0
        self.show(run, f"{run.name} from step {step}", *self._answers(save))
        options = ["--max_steps", self.last_step_of_run_3(step)] if run is self.runs[2] else []
        return [*options, "--resume_from_checkpoint", save] if save else options

    def end(self, run: Run) -> None:
        """Let the watcher look once more."""
        watcher = self._watchers.pop(run)
        watcher.send_signal(signal.SIGTERM)
        watcher.wait()
        self.tell()

    def tell(self) -> None:
        """Show each new publication, and what `publish resolve` says."""
        new = set(self._log_of_publications.entries()) - set(self.entries)
        for entry in sorted(new, key=lambda entry: (-entry.epoch, entry.step)):
            self.entries.append(entry)
            self._tell_of(entry)

    def is_overlap_shown(self) -> bool:
        """Whether run 2 has published, and run 1 at higher steps after it."""
        return len(self.runs[1].steps) >= RUN_2_PUBLISHES and self.outranked >= LATE_AND_OUTRANKED

    def resolve(self) -> str:
        """Ask the real program."""
        command = [*publish_command(), "resolve", "-checkpoint", str(self.root)]
        save = self.processes.run(command, {}).removesuffix("\n")
        self.answers.append(save)
        if self.runs[1].steps:
            self.after_run_2.append(save)
        return save

    def prune(self) -> str:
        """Prune as the job script of run 3 does; what the program printed."""
        command = [*publish_command(), "prune", "-checkpoint", str(self.root)]
        return self.processes.run([*command, "-keep", str(KEEP), "-v"], variables(self.runs[2]))

    def listing(self) -> str:
        """What `publish log` prints."""
        return self.processes.run([*publish_command(), "log", "-checkpoint", str(self.root)], {})

    def location(self, entry: Entry) -> Path:
        """Where an entry's save is."""
        return Path(self._log_of_publications.location(entry))

    def _tell_of(self, entry: Entry) -> None:
        run = next(run for run in self.runs if run.epoch == entry.epoch)
        is_late = run.number == 1 and run.number < max(self.resolved)
        newest = max(self.runs[1].steps, default=None)
        self.outranked += is_late and newest is not None and entry.step > newest
        self.saw(run, entry.step, reports.lineage_of(self.location(entry)))
        words = f"step {entry.step}, LATE" if is_late else f"publishes step {entry.step}"
        self.show(run, words, *self._answers(self.resolve()))

    def _answers(self, save: str) -> tuple[Text, Text]:
        """What `publish resolve` says, and what the highest number says of the same saves."""
        every = [save for run in self.runs for save in reports.saves_in(self.out(run))]
        highest = max(every, key=lambda path: reports.step_of(path) or 0, default=None)
        bare = self._named(highest)
        if self.runs[1].steps and highest and highest.parent.name == self.runs[0].attempt:
            bare = Text(f"{bare.words} !", BAD)
        return self._named(Path(save) if save else None), bare

    def _named(self, save: Path | None) -> Text:
        if save is None:
            return Text("nothing", DIM)
        run = next(run for run in self.runs if run.attempt == save.parent.name)
        return Text(f"{run.name} step {reports.step_of(save)}", run.style)
