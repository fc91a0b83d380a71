"""The machine's clock."""

from __future__ import annotations

import time

from dispatch.adapters.system.entropy import fraction

_PAUSE_S_MAX = 0.05  # a burst of a prune's removals is over; nine of them stay under half a second


def wall_ns() -> int:
    """Nanoseconds since the epoch by the wall clock, which can be set back."""
    return time.time_ns()


def pause() -> None:
    """Wait up to 50 ms, of random length."""
    time.sleep(_PAUSE_S_MAX * fraction())


class SystemClock:
    """`dispatch.ports.waiting.Clock` on this machine."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
