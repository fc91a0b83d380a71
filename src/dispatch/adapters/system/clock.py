"""The machine's clock."""

from __future__ import annotations

import time


def wall_ns() -> int:
    """Nanoseconds since the epoch by the wall clock, which can be set back."""
    return time.time_ns()


class SystemClock:
    """`dispatch.ports.waiting.Clock` on this machine."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
