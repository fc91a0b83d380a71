"""Waiting, so that the core has neither a clock nor a thread of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Stop(Protocol):
    """A request to end, which may come at any moment (`threading.Event` is one)."""

    def is_set(self) -> bool:
        """Whether it was asked for."""
        ...

    def wait(self, timeout: float) -> bool:
        """Wait until it is asked for, at most ``timeout`` seconds; whether it was."""
        ...


class Clock(Protocol):
    """Time that only goes forward, and waiting in it."""

    def monotonic(self) -> float:
        """Seconds from some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Patience(Clock, Protocol):
    """Time, and calls that may hang for ever, waited for no longer than a limit."""

    def call(self, work: Callable[[], T], time_out: float) -> T:
        """What ``work`` returns or raises.

        Raises:
            TimeoutError: ``work`` had not ended after ``time_out`` seconds. It goes on in the
                background, since nothing can interrupt a hung file system.
        """
        ...


class Race(Protocol):
    """Calls that begin at the same moment."""

    def __call__(self, works: Sequence[Callable[[], T]], time_out: float) -> list[T | Exception]:
        """What each of ``works`` returns or raises, in their order.

        One that has not ended after ``time_out`` seconds is a `TimeoutError`; it goes on in the
        background.

        Raises:
            UnavailableError: This machine can't make so many calls at once; none was made.
        """
        ...
