"""A job's processes, as a scheduler sees them: all are signalled, and it ends with the last."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from benchmarks.lost_work.scenario import Scale
from demo import reports
from demo.processes import REPOSITORY, publish_command

ENDED = ("Z", "X")
"""States of processes that only wait to be waited for."""


def write_programs(folder: Path, scale: Scale) -> None:
    """Make the `python` and the `publish` that the job scripts call."""
    folder.mkdir()
    trainer = [sys.executable, "-m", "demo.small_trainer"]
    trainer += ["--save_steps", str(scale.save_steps), "--step_seconds", str(scale.step_seconds)]
    lines = f'shift\nexec {shlex.join(trainer)} --last_save_seconds "$LAST_SAVE_SECONDS" "$@"\n'
    _write_program(folder / "python", lines)
    _write_program(folder / "publish", f'exec {shlex.join(publish_command())} "$@"\n')


def _write_program(path: Path, lines: str) -> None:
    path.write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
    path.chmod(0o755)


class Job:
    """One execution: a batch script in a session of its own, which tells its processes.

    Used in a ``with`` block, at whose end none of them is left.
    """

    def __init__(self, script: str, log: Path, variables: Mapping[str, str]) -> None:
        self._log = log
        path = log.with_suffix(".sh")
        path.write_text(script, encoding="utf-8")
        with log.open("ab") as output:
            self._shell = subprocess.Popen(
                ["bash", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=REPOSITORY,
                env=dict(variables),
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while not self.has_ended():
            self.send(signal.SIGKILL)
            self._shell.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to every process."""
        for pid in self._processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:  # it has ended meanwhile
                continue

    def has_ended(self) -> bool:
        """Whether the last process has ended."""
        # The shell outlives the others unless it was killed: looking at all costs more.
        return self._shell.poll() is not None and not self._processes()

    def events(self, name: str) -> list[reports.Event]:
        """What the trainer has told, of one kind."""
        return [event for event in reports.read_events(self._log) if event["event"] == name]

    def last_words(self) -> str:
        """The end of all that was written, for people."""
        return "\n".join(self._log.read_text("utf-8", "replace").splitlines()[-15:])

    def _processes(self) -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                # After the name, which may hold anything: state, parent, group, session.
                state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
            except OSError:  # it has ended meanwhile
                continue
            if int(session) == self._shell.pid and state not in ENDED:
                found.append(int(path.parent.name))
        return found
