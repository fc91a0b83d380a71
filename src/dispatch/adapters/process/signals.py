"""Our own signals while a command runs: taken, waited for, and put back for the command."""

from __future__ import annotations

import os
import select
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_POLL_MS_MAX = 2**31 - 1  # what poll(2) can wait: 24 days
_READ_BYTES = 4096

# SIGKILL and SIGSTOP can't be taken. Faults are about this process alone, and so are the two that
# Python ignores. SIGTTOU is ignored below: it would stop us for a line on stderr.
_UNTAKEN = {
    getattr(signal, name)
    for name in (
        "SIGKILL",
        "SIGSTOP",
        "SIGSEGV",
        "SIGBUS",
        "SIGFPE",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGSYS",
        "SIGPIPE",
        "SIGXFSZ",
        "SIGTTOU",
    )
}
TAKEN = frozenset(signal.valid_signals()) - _UNTAKEN
"""All that others may send, SIGCHLD and SIGCONT among them: one left out would end us alone."""

_OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # it ignores them from its start on


class Signals:
    """The signals of this process, which only its main thread may have.

    What the caller ignores (``trap ''``, nohup) stays ignored, here and in the command.

    Args:
        ignored: Those of SIGTERM and SIGINT, whose handlers are set already, that the caller
            ignores.
        blocked: The mask that this process was started with.
    """

    __slots__ = ("_before", "_blocked", "_ignored", "_reader", "_writer")

    def __init__(self, ignored: Collection[int], blocked: Collection[int]) -> None:
        self._ignored = ignored
        self._blocked = blocked
        self._before: dict[int, signal.Handlers] = {}
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def take(self, receive: Callable[[int], None]) -> None:
        """From now on call ``receive`` with each, between two instructions of the main thread."""

        def handle(number: int, _frame: object) -> None:
            receive(number)

        # The signal itself writes there: a handler runs too late for a wait that begins then.
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in TAKEN:
            # SIGCHLD also when it is ignored: no child could be waited for.
            if not self._is_ignored(number) or number == signal.SIGCHLD:
                self._replace(number, handle)
        if not self._is_ignored(signal.SIGTTOU):
            self._replace(signal.SIGTTOU, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._before)

    def put_back(self) -> None:
        """In a child, before it becomes the command: all as it was when this process started.

        But SIGPIPE and SIGXFSZ: whether the caller ignored them can't be told any more.
        """
        for number, before in self._before.items():
            signal.signal(number, before)
        for number in _OF_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)

    def wait(self, seconds: float) -> None:
        """Wait for a signal or a `wake` since the last wait, at most ``seconds``."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        poll.poll(min(max(seconds, 0) * 1000, _POLL_MS_MAX))
        try:
            while os.read(self._reader, _READ_BYTES):
                pass
        except BlockingIOError:
            pass

    def wake(self) -> None:
        """End a wait that another thread is in, or its next one."""
        try:
            os.write(self._writer, b"\0")
        except BlockingIOError:
            pass  # the pipe is full of reasons to wake

    def stop(self, number: int, *, everyone: bool) -> None:
        """Stop this process, or ``everyone`` in its group, as the signal ``number`` does.

        Returns when it was continued; SIGCONT has been received by then, or is at once.
        """
        handler = None if number == signal.SIGSTOP else signal.signal(number, signal.SIG_DFL)
        if everyone:
            os.killpg(0, number)
        else:
            os.kill(os.getpid(), number)
        if handler is not None:
            signal.signal(number, handler)

    def _is_ignored(self, number: int) -> bool:
        return number in self._ignored or signal.getsignal(number) == signal.SIG_IGN

    def _replace(
        self, number: int, handler: Callable[[int, object], None] | signal.Handlers
    ) -> None:
        ignored = self._is_ignored(number)
        self._before[number] = signal.SIG_IGN if ignored else signal.SIG_DFL
        signal.signal(number, handler)
