"""The controlling terminal and its foreground: whose keys make signals, and who may read."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from dispatch.adapters.process.processes import parent_of

if TYPE_CHECKING:
    from typing import Self

_STDIN, _STDOUT = 0, 1


class Terminal:
    """The terminal that controls this session."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def open(cls) -> Self | None:
        """The terminal; None when the session has none."""
        try:
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
        except OSError:
            return None

    def is_ours(self) -> bool:
        """Whether our group is in the foreground."""
        return self.foreground() == os.getpgrp()

    def foreground(self) -> int:
        """The group in the foreground; -1 when there is none, or the terminal has hung up."""
        try:
            return os.tcgetpgrp(self._descriptor)
        except OSError:
            return -1

    def give(self, group: int) -> None:
        """Put ``group`` into the foreground, if it and the terminal are still there."""
        # Whoever does that from the background gets SIGTTOU.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            os.tcsetpgrp(self._descriptor, group)
        except OSError:
            pass
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def is_read_and_written() -> bool:
    """Whether both stdin and stdout are the terminal.

    Otherwise another program of a pipeline, a pager say, may want the keys.
    """
    try:
        return os.tcgetpgrp(_STDIN) == os.tcgetpgrp(_STDOUT)
    except OSError:
        return False


def is_under_job_control() -> bool:
    """Whether somebody in this session, a shell, looks after our group and could continue it.

    In a group that nobody looks after ("orphaned") the kernel ignores SIGTSTP and its kin.
    """
    pid, group = os.getppid(), os.getpgrp()
    try:
        while pid and os.getpgid(pid) == group:
            pid = parent_of(pid)
        return bool(pid) and os.getsid(pid) == os.getsid(0)
    except OSError:
        return False
