"""The real program as a subprocess: run to its end, or started and waited for."""

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

Argument = str | bytes | Path
Environment = Mapping[str, str | bytes | None]

ATTEMPT = "1.4101.0"
EPOCH = 1_000_000
TIME_LIMIT_S = 60.0
"""How long a program may take before the test says that it hung; no test asserts less."""

PATIENCE_S = 30.0
"""How long a test waits for something that comes in milliseconds on an idle machine."""

_POLL_S = 0.005
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def wait_for(condition: Callable[[], object], what: str, seconds: float = PATIENCE_S) -> None:
    """Wait until ``condition`` holds; fail with ``what`` did not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(_POLL_S)


@dataclass(frozen=True)
class Ended:
    """What a program left: its status (a signal is negative) and what it wrote."""

    status: int
    out: bytes
    err: bytes

    def __post_init__(self) -> None:
        assert b"Traceback" not in self.err, self.err.decode(errors="replace")
        assert b"Please report" not in self.err, self.err.decode(errors="replace")

    def well(self) -> "Ended":
        """Itself, having ended with status 0."""
        return self.ended_with(0)

    def ended_with(self, status: int) -> "Ended":
        """Itself, having ended with this status."""
        assert self.status == status, f"status {self.status}, not {status}; {self.err!r}"
        return self

    def says(self, *parts: Argument) -> "Ended":
        """Itself, with each of these somewhere on stderr."""
        for part in parts:
            assert os.fsencode(part) in self.err, f"no {part!r} in {self.err!r}"
        return self

    def answers(self, out: str | bytes | Path) -> "Ended":
        """Itself, with exactly this on stdout."""
        assert self.out == os.fsencode(out)
        return self


class Running:
    """A program that was started."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out = out
        self._err = err

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def said(self) -> bytes:
        """What it has written to stderr so far."""
        return self._err.read_bytes()

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def wait_until_said(self, text: str | bytes) -> None:
        """Wait for words on stderr."""
        wanted = os.fsencode(text)
        wait_for(lambda: wanted in self.said() or not self.is_running(), f"{text!r} on stderr")
        assert wanted in self.said(), f"it ended without {text!r}: {self.said()!r}"

    def handles_signals(self) -> bool:
        """Whether it has come to our first line, which is when SIGTERM gets a handler."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        [caught] = re.findall(r"SigCgt:\s*([0-9a-f]+)", status) or ["0"]
        return bool(int(caught, 16) & 1 << (signal.SIGTERM - 1))

    def wait_until_it_handles_signals(self) -> None:
        """Wait for our first line."""
        wait_for(lambda: self.handles_signals() or not self.is_running(), "its first line")
        assert self.is_running(), f"it ended early: {self.said()!r}"

    def wait(self, seconds: float = TIME_LIMIT_S) -> Ended:
        """Wait for its end."""
        status = self.process.wait(timeout=seconds)
        return Ended(status, self._out.read_bytes(), self._err.read_bytes())

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> Ended:
        """Send it a signal and wait for its end."""
        assert self.is_running(), f"it ended early: {self.said()!r}"
        self.send(number)
        return self.wait()

    def kill(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        if self.is_running():
            self.process.kill()
            self.process.wait(timeout=TIME_LIMIT_S)


class Program:
    """`publish`, called as a job script would, with the identity of an execution."""

    def __init__(self, command: Sequence[Argument], scratch: Path) -> None:
        self.command = tuple(command)
        self._scratch = scratch
        self._started: list[Running] = []

    def environment(self, changes: Environment | None = None) -> dict[bytes, bytes]:
        """A small environment with some variables changed, or (None) taken away."""
        values: dict[str, str | bytes | None] = {
            "PATH": _PATH,
            "HOME": str(self._scratch),
            "DISPATCH_ATTEMPT": ATTEMPT,
            "DISPATCH_EPOCH": str(EPOCH),
            **(changes or {}),
        }
        return {os.fsencode(k): os.fsencode(v) for k, v in values.items() if v is not None}

    def line(self, *arguments: Argument, prefix: Sequence[Argument] = ()) -> list[bytes]:
        """The whole command line."""
        return [os.fsencode(part) for part in (*prefix, *self.command, *arguments)]

    def run(
        self,
        *arguments: Argument,
        environment: Environment | None = None,
        cwd: Path | None = None,
        prefix: Sequence[Argument] = (),
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
    ) -> Ended:
        """Run it to its end."""
        ended = subprocess.run(
            self.line(*arguments, prefix=prefix),
            env=self.environment(environment),
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout or b"", ended.stderr or b"")

    def run_anyhow(
        self, *line: bytes, environment: Environment | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a whole command line of which nothing is expected, not even a decent end."""
        return subprocess.run(
            line,
            env=self.environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )

    def in_bash(self, script: str, environment: Environment | None = None) -> Ended:
        """Run a script that calls `publish`, which the first folder of its PATH holds."""
        folder = self._scratch / "bin"
        if not folder.exists():
            folder.mkdir()
            words = " ".join(shlex.quote(os.fsdecode(word)) for word in self.line())
            (folder / "publish").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            (folder / "publish").chmod(0o755)
        ended = subprocess.run(
            ["bash", "-c", script],
            env=self.environment({"PATH": f"{folder}:{_PATH}", **(environment or {})}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def start(
        self,
        *arguments: Argument,
        environment: Environment | None = None,
        cwd: Path | None = None,
        prefix: Sequence[Argument] = (),
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> Running:
        """Start it; its streams go to files, so that it never waits for us to read."""
        number = len(self._started)
        out, err = (self._scratch / f"{number}.{name}" for name in ("out", "err"))
        with out.open("wb") as out_file, err.open("wb") as err_file:
            process = subprocess.Popen(
                self.line(*arguments, prefix=prefix),
                env=self.environment(environment),
                cwd=cwd,
                stdin=stdin,
                stdout=out_file if stdout is None else stdout,
                stderr=err_file if stderr is None else stderr,
            )
        running = Running(process, out, err)
        self._started.append(running)
        return running

    def kill_started(self) -> None:
        """End whatever was started and still runs."""
        for running in self._started:
            running.kill()
