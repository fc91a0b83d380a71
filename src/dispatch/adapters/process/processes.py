"""Other processes: being the parent of orphans, and what the kernel shows in /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class Process:
    """One process.

    Attributes:
        pid: Its id.
        name: Its command's name, cut at 15 bytes by the kernel; for people.
        parent: Its parent's id.
        group: Its process group.
        has_ended: Whether only its status is left.
    """

    pid: int
    name: str
    parent: int
    group: int
    has_ended: bool


def adopt_orphans() -> bool:
    """Become the parent of all descendants whose own parent ends; whether that could be done.

    Linux alone can. Elsewhere they go to process 1, as ever.
    """
    try:
        import ctypes

        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return False
    ones = map(ctypes.c_ulong, (1, 0, 0, 0))
    return bool(prctl(_PR_SET_CHILD_SUBREAPER, *ones) == 0)


def processes() -> Iterator[Process]:
    """All that the kernel shows; none where it has no /proc."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit():
            try:
                yield _look(int(name))
            except (OSError, ValueError):
                pass  # it has gone meanwhile


def parent_of(pid: int) -> int:
    """The parent's id; 0 when it is not in our namespace.

    Raises:
        OSError: There is no such process, or no /proc.
    """
    return _look(pid).parent


def _look(pid: int) -> Process:
    with open(f"/proc/{pid}/stat", "rb") as file:
        before, _, after = file.read().rpartition(b")")  # a name may hold anything
    state, parent, group = after.split()[:3]
    name = os.fsdecode(before.partition(b"(")[2])
    return Process(pid, name, int(parent), int(group), has_ended=state in {b"Z", b"X"})
