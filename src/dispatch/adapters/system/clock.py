"""The machine's clock."""

from __future__ import annotations

import time


def wall_ns() -> int:
    """Nanoseconds since the epoch by the wall clock, which can be set back."""
    return time.time_ns()
