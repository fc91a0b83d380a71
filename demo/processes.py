"""The demo's own processes: started apart from the terminal, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REPOSITORY = Path(__file__).parent.parent
PUBLISH = Path(os.environ.get("DISPATCH_TEST_PUBLISH") or Path(sys.executable).with_name("publish"))
FRAMEWORKS_PYTHON = os.environ.get(
    "DISPATCH_TEST_FRAMEWORKS_PYTHON", str(REPOSITORY / ".venv-frameworks" / "bin" / "python")
)
POLL_SECONDS = 0.02
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedDemoError(Exception):
    """A person, or a signal, wants the demo to end."""


class DemoError(Exception):
    """The demo could not show what it is there for; the message says why."""


class Processes:
    """All processes of one demo, and the signals that end it.

    A signal is only noted: it takes effect in `pause` and `run`, so that no process is started
    and forgotten between two lines.
    """

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self._signal = 0
        for number in STOP_SIGNALS:
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self._signal = number

    def start(
        self, command: Sequence[str], log: Path, variables: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a program in a process group of its own, its output appended to ``log``.

        Ctrl-C on the terminal thus reaches the demo alone, which ends the others. What a program
        keeps in temporary folders (PyTorch does) goes with the demo's own.
        """
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=REPOSITORY,
                env={**os.environ, "TMPDIR": str(log.parent), **variables},
                process_group=0,
            )
        self._started.append(process)
        return process

    def run(self, command: Sequence[str], variables: Mapping[str, str]) -> str:
        """Run a short program to its end; what it printed.

        Raises:
            DemoError: It failed.
        """
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=REPOSITORY,
            env={**os.environ, **variables},
            process_group=0,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            message = f"{' '.join(command)} ended with status {done.returncode}: {done.stderr}"
            raise DemoError(message)
        return done.stdout

    def pause(self) -> None:
        """Wait a moment.

        Raises:
            InterruptedDemoError: A signal has come.
        """
        if self._signal:
            raise InterruptedDemoError(signal.Signals(self._signal).name)
        time.sleep(POLL_SECONDS)

    def end_all(self) -> None:
        """Kill what still runs, and wait for it."""
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()


@contextmanager
def own_processes() -> Iterator[Processes]:
    """Processes that all end with the block."""
    processes = Processes()
    try:
        yield processes
    finally:
        processes.end_all()


def publish_command() -> list[str]:
    """How the real `publish` program is called: as installed beside this Python, or as a module."""
    return [str(PUBLISH)] if PUBLISH.exists() else [sys.executable, "-m", "dispatch.cli.publish"]


def trainer_command(trainer: str) -> list[str]:
    """How a trainer is called.

    Raises:
        DemoError: The Python of the training frameworks is missing.
    """
    if trainer == "small":
        return [sys.executable, "-m", "demo.small_trainer"]
    if not Path(FRAMEWORKS_PYTHON).exists():
        message = f"there is no {FRAMEWORKS_PYTHON}: `make demo TRAINER=transformers` makes it"
        raise DemoError(message)
    return [FRAMEWORKS_PYTHON, "-m", "demo.transformers_trainer"]
