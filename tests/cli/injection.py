"""System calls that fail, dawdle or are interrupted, by way of strace's injection."""

import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.program import Argument, Program

CHANGING = "mkdirat,openat,fsync,unlinkat,renameat,renameat2,rename,unlink,rmdir,mkdir"
"""What may change a folder; an `openat` does only with O_CREAT."""

STRACE = ["strace", "-f", "-qq", "-E", "PYTHONDONTWRITEBYTECODE=1"]
"""Every run makes the same calls, also where Python's own caches aren't filled yet."""


def require_strace() -> None:
    """Skip where it is not installed."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")


def injecting(call: str, how: str, path: str | Path = "") -> list[str]:
    """Return what to put before a command line so that some of its system calls go wrong.

    Args:
        call: A system call, as strace spells it.
        how: What becomes of it, as strace spells it: ``error=EIO``, ``signal=SIGTERM:when=1``.
        path: Only calls on this file or folder, by descriptor or by name as the call spells it.
    """
    require_strace()
    only = ["-P", os.fspath(path)] if path else []
    # -D: the program is our own child and strace a grandchild, so signals and status are direct.
    start = [*STRACE, "-D", "-o", "/dev/null"]
    return [*start, *only, "-e", f"trace={call}", "-e", f"inject={call}:{how}"]


def calls(
    program: Program, trace: Path, which: str, *arguments: Argument
) -> list[tuple[str, int, str]]:
    """Run a command; return its system calls: name, number of that name in its thread, and line.

    Together with `injecting` and ``when=<number>`` they meet it at each of these moments.
    """
    require_strace()
    prefix = [*STRACE, "-o", str(trace), "-e", f"trace={which}"]
    program.run(*arguments, prefix=prefix).well()
    found, counts = [], Counter[tuple[str, str]]()
    for line in trace.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            counts[match[1], match[2]] += 1
            found.append((match[2], counts[match[1], match[2]], line))
    return found


def changing_calls(program: Program, trace: Path, *arguments: Argument) -> list[tuple[str, int]]:
    """Run a command; return its system calls that change a folder."""
    return [
        (name, number)
        for name, number, line in calls(program, trace, CHANGING, *arguments)
        if name != "openat" or "O_CREAT" in line
    ]
