"""A server's process: started, waited for with a bound, paused, and stopped by its own id."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

READY_S_MAX = 60.0  # a bound, not a wait: the slowest starts in 6 s on an idle machine
_POLL_S = 0.02
_LOG_LINES = 40  # shown of each log when a server fails


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return what a server sees: nothing of ours, no proxy and no credentials above all."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return {"PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8", **variables}


def run(argv: Sequence[str | Path], folder: Path, log: Path) -> str:
    """Run a command of a server's set-up to its end; return its standard output."""
    with log.open("ab") as errors:
        done = subprocess.run(
            argv,
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            timeout=READY_S_MAX,
            check=False,
        )
    if done.returncode:
        message = f"{argv[0]} ended with {done.returncode}:\n{done.stdout}{tail(log)}"
        raise RuntimeError(message)
    return done.stdout


def tail(log: Path) -> str:
    """Return the last lines of a log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(lines[-_LOG_LINES:])


class Daemon:
    """One process of a server. It dies with this one, however this one ends."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        folder: Path,
        variables: Mapping[str, str] | None = None,
        grace_s: float = 2.0,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._grace_s = grace_s
        setpriv = shutil.which("setpriv")
        dies_with_us = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        with self.log.open("ab") as log:
            self._process = self._start([*dies_with_us, *argv], folder, variables or {}, log)

    @staticmethod
    def _start(
        argv: Sequence[str | Path], folder: Path, variables: Mapping[str, str], log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            cwd=folder,
            env=environment(folder, **variables),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # our Ctrl-C is not its own
        )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def check(self) -> None:
        """Raise an error that shows the log when the process has ended."""
        status = self._process.poll()
        if status is not None:
            message = f"{self.name} ended with {status}; {self.log}:\n{tail(self.log)}"
            raise RuntimeError(message)

    def wait_ready(self, is_ready: Callable[[], bool]) -> None:
        """Wait until ``is_ready``, for at most `READY_S_MAX` seconds."""
        deadline = time.monotonic() + READY_S_MAX
        while not is_ready():
            self.check()
            if time.monotonic() > deadline:
                message = (
                    f"{self.name} not ready in {READY_S_MAX:g} s; {self.log}:\n{tail(self.log)}"
                )
                raise TimeoutError(message)
            time.sleep(_POLL_S)

    def pause(self) -> None:
        """Stop it in its tracks, as a hung machine would."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it: kindly first, then with certainty, and with what it started."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            try:
                self._process.wait(self._grace_s)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # its session is its own: see `_start`
        except ProcessLookupError:
            pass
        self._process.wait()


def answers(port: int, path: str = "/", ca_file: Path | None = None, status: int = 0) -> bool:
    """Whether an HTTP server answers on a loopback port (with ``status``, when one is given)."""
    connection = (
        http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=2, context=ssl.create_default_context(cafile=ca_file)
        )
        if ca_file
        else http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    )
    try:
        connection.request("GET", path)
        got = connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return status in {0, got}
