"""Turning SIGTERM and SIGINT into a request to stop, at any moment and any number of times."""

from __future__ import annotations

# The module signal loads enum, which costs 4 ms at start. (No stub is to be had for this one.)
import _signal  # type: ignore[import-not-found]
import os
import select

from dispatch.cli.publish import start


class SignalStop:
    """`dispatch.ports.waiting.Stop`, set by the signals that end a program.

    A pipe rather than `threading.Event`: a handler runs between two instructions of the thread
    that waits, which may hold the event's lock. The signal itself writes to the pipe: the handler
    runs too late for a wait that begins at the same moment, or when another thread was signalled.
    The handler makes no system call: while one lets another thread run, the next signal may come,
    and be handled within it, and so on.

    Args:
        ignored: Whether the stop is also set by signals that the caller ignores (``trap ''``).
        hangup: Whether SIGHUP sets it too: the terminal was closed, or ssh lost.
    """

    __slots__ = ("_is_set", "_reader", "_writer")

    def __init__(self, *, ignored: bool = True, hangup: bool = False) -> None:
        self._is_set = False
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        _signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        start.handle(self._handle, also_ignored=ignored, hangup=hangup)
        if start.received:  # between the program's first line and this one
            self._is_set = True
            os.write(self._writer, b".")

    def is_set(self) -> bool:
        """Whether the stop was asked for."""
        return self._is_set

    def wait(self, timeout: float) -> bool:
        """Wait for the stop, at most ``timeout`` seconds; whether it was asked for."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        poll.poll(timeout * 1000)
        return self._is_set

    def _handle(self, number: int, _frame: object) -> None:
        start.received.append(number)
        self._is_set = True
