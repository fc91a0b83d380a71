"""Commands that run under a `Child`, and the files that they leave."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cli.program import PATIENCE_S, wait_for

PROGRAMS = Path(__file__).parent / "programs"
ATTEND = [sys.executable, str(PROGRAMS / "attend.py")]
RECORD = [sys.executable, "-I", "-S", str(PROGRAMS / "record_signals.py")]


class Recorder:
    """The command `record_signals.py`, and what it has written down."""

    def __init__(self, path: Path, children: int = 0) -> None:
        self.path = path
        self.command = [*RECORD, str(path), str(children)]
        self._paths = [path, *(path.with_name(f"{path.name}.{n}") for n in range(children))]

    def has_started(self) -> bool:
        """Whether it ran at all."""
        return self.path.exists()

    def is_ready(self) -> bool:
        """Whether it, and its children, notice signals."""
        return all(path.exists() and path.read_text() for path in self._paths)

    def wait_until_ready(self) -> None:
        """Wait for it."""
        wait_for(self.is_ready, "a recorder to be ready")

    def received(self) -> list[list[str]]:
        """List the signals of each of its processes."""
        return [path.read_text().split()[1:] for path in self._paths]

    def wait_until_received(self, number: int) -> None:
        """Wait until each has one."""
        name = signal.Signals(number).name
        wait_for(lambda: all(name in each for each in self.received()), name)

    def wait_until_count(self, count: int) -> None:
        """Wait until each has so many, whichever."""
        wait_for(lambda: all(len(each) >= count for each in self.received()), f"{count} signals")

    def has_received_or(self, process: "subprocess.Popen[bytes]") -> bool:
        """Whether it has one, or its parent has ended."""
        return process.poll() is not None or (self.is_ready() and any(self.received()))

    def has_started_or(self, process: "subprocess.Popen[bytes]") -> bool:
        """Whether it ran at all, or its parent has ended."""
        return process.poll() is not None or self.has_started()

    def end(self) -> None:
        """Let it end with status 0."""
        self.path.with_name(self.path.name + ".end").touch()


Attend = Callable[..., "subprocess.Popen[bytes]"]


def state_of(pid: int) -> str:
    """Say what the kernel says: R, S, T (stopped), Z (a zombie); nothing where it has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    """List the children of a process's main thread."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def signals_of(pid: int | str) -> dict[str, int]:
    """Read the masks: SigBlk, SigIgn, SigCgt."""
    text = Path(f"/proc/{pid}/status").read_text()
    return {name: int(mask, 16) for name, mask in re.findall(r"(Sig\w+):\s*([0-9a-f]{16})", text)}


def ended(process: "subprocess.Popen[bytes]") -> int:
    """Wait for its end; its status."""
    return process.wait(timeout=PATIENCE_S)


def run(
    command: Sequence[str | Path], *options: str, prefix: Sequence[str] = ()
) -> "subprocess.CompletedProcess[bytes]":
    """Attend to a command until both have ended."""
    return subprocess.run(
        [*prefix, *ATTEND, *options, "--", *(os.fspath(word) for word in command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
