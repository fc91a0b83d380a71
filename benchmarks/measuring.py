"""Measuring two things in turn, so that whatever else the machine does falls on both."""

import gc
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

Work = Callable[[], object]


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long one comparison may take.

    Attributes:
        rounds_max: Rounds after which it is enough.
        seconds: No round begins after so many seconds, once the comparison's least are made.
    """

    rounds_max: int = 41
    seconds: float = 6.0


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Something measured, and the bare thing that it can't be faster than.

    Attributes:
        what: What is measured, for a person.
        size: How many entries or saves there are; 0 where that has no bearing.
        against: What the bare thing is, for a person.
        measured: Does it.
        bare: Does the bare thing.
        calls: How often each does it when it is called once.
        prepare: Called before each, outside the time.
        rounds_min: Rounds that are made whatever they take.
        is_warm: Whether what it needs is loaded and cached already; otherwise each is done once
            before it is measured.
        file_system: What it runs on.
        peaks: The peak memory of two processes that do it once: ours and the bare thing, in
            bytes; zeros where it was not looked at.
    """

    what: str
    against: str
    measured: Work
    bare: Work
    size: int = 0
    calls: int = 1
    prepare: Work = nothing
    rounds_min: int = 2
    is_warm: bool = False
    file_system: str = ""
    peaks: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a comparison.

    Attributes:
        comparison: What was compared.
        measured: Seconds of each round, for one call.
        bare: Seconds of the same rounds, for one call of the bare thing.
    """

    comparison: Comparison
    measured: tuple[float, ...]
    bare: tuple[float, ...]

    def medians(self) -> tuple[float, float]:
        """Return the median of our seconds and of the bare thing's."""
        return statistics.median(self.measured), statistics.median(self.bare)

    def ratios(self) -> tuple[float, float, float]:
        """Return the lower quartile, the median and the upper quartile of the rounds' ratios."""
        ratios = [ours / bare for ours, bare in zip(self.measured, self.bare, strict=True)]
        if len(ratios) == 1:
            return ratios[0], ratios[0], ratios[0]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return low, middle, high


def compare(comparison: Comparison, effort: Effort) -> Result:
    """Measure, in rounds of one run each; which of the two comes first changes every round."""
    ours: list[float] = []
    bare: list[float] = []
    runs = ((comparison.measured, ours), (comparison.bare, bare))
    if not comparison.is_warm:
        for work, _ in runs:
            _seconds(comparison, work)
    end = perf_counter() + effort.seconds
    least = min(comparison.rounds_min, effort.rounds_max)
    while len(ours) < least or (len(ours) < effort.rounds_max and perf_counter() < end):
        for work, seconds in runs if len(ours) % 2 else reversed(runs):
            seconds.append(_seconds(comparison, work))
    return Result(comparison=comparison, measured=tuple(ours), bare=tuple(bare))


def _seconds(comparison: Comparison, work: Work) -> float:
    comparison.prepare()
    gc.collect()
    start = perf_counter()
    outcome = work()
    seconds = perf_counter() - start
    del outcome  # what was made is given back outside the time
    return seconds / comparison.calls


def peak_memory(operation: str, *arguments: str) -> int:
    """Return the peak memory, in bytes, of a process of its own that does one operation.

    Args:
        operation: One of `benchmarks.operations.OPERATIONS`.
        *arguments: What it is called with.
    """
    command = [sys.executable, "-m", "benchmarks.operations", operation, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True).stdout)
