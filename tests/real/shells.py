"""An interactive shell with job control at a terminal, and the keys of the person before it."""

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence

from dispatch.adapters.process.processes import processes
from tests.cli.program import PATIENCE_S
from tests.cli.terminals import Terminal

CTRL_C, CTRL_Z, CTRL_D, CTRL_BACKSLASH = "\x03", "\x1a", "\x04", "\x1c"


class Shell(Terminal):
    """What a person sees, told by marks that no typed line can be taken for."""

    def __init__(self, *command: str) -> None:
        super().__init__()
        self._seen = 0
        self._marks = 0
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *command],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={"PATH": os.environ["PATH"], "PS1": "", "TERM": "dumb", "ENV": "", "LC_ALL": "C"},
        )

    def line(self, line: str) -> None:
        """Type a line."""
        self.type(line + "\n")

    def until(self, text: str) -> bytes:
        """Wait for a text after the last one that was waited for; what came between them."""
        before = self.wait_until_shown_after(self._seen, text)
        self._seen += len(before) + len(text.encode())
        return before.replace(b"\r\n", b"\n")

    def answer(self, line: str) -> bytes:
        """Type a line, and return what it writes."""
        self._marks += 1
        self.line(f"{line}; printf '%s%s\\n' 'mark' '{self._marks}.'")
        return self.until(f"mark{self._marks}.").removesuffix(b"mark").lstrip(b"\n")

    def stop_job(self) -> None:
        """Press the key that stops a job, and wait until the shell has said so.

        What is typed before that may be lost: the key takes what was typed before it along.
        """
        self.type(CTRL_Z)
        self.until("Stopped")

    def reads(self) -> None:
        """Make sure that the shell can read from the terminal."""
        self.line('read x; echo "read $x."')
        self.line("a line")
        self.until("read a line.\r\n")

    def quiet(self) -> None:
        """Let it not repeat what is typed."""
        self.answer("stty -echo")
        self.answer(":")

    def jobs(self) -> bytes:
        """What the shell knows of its jobs."""
        return self.answer("jobs")

    def close(self) -> None:
        """End it, and all that it has started."""
        for process in processes():
            if session_of(process.pid) == self.process.pid:
                os.kill(process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait(timeout=PATIENCE_S)
        super().close()


def words(command: Sequence[str]) -> str:
    """Spell a command for a shell."""
    return shlex.join(command)


def session_of(pid: int) -> int:
    """Whose session a process belongs to; 0 where it has gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
