"""What times mean: of answers, of clocks, of keys, and of names that are seen elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from dispatch.checkpoint.probe.check import Check, Topic, ok, warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dispatch.model.access import Access

SKEW_S_WARN = 60.0  # NTP keeps clocks within a second; S3 refuses requests that are 900 s off
LIFETIME_S_WARN = 900.0  # keys are renewed a quarter of an hour before their end, where they can be
SLOW_S_WARN = 1.0  # a publication takes one creation and two looks, a scan of a watch one listing
TRIP_S_WARN = 5.0  # attribute caches keep what they know for 3 s and more, all else is faster


def credentials(access: Access, now: float) -> Check:
    """Which source gave the keys, and for how long they are good."""
    if access.expires_at is None:
        return ok(Topic.CREDENTIALS, f"from {access.source}; no end of them is known")
    left = access.expires_at - now
    end = datetime.fromtimestamp(access.expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = f"from {access.source}; they end at {end}, in {span(left)}"
    if left >= LIFETIME_S_WARN:
        return ok(Topic.CREDENTIALS, found)
    advice = "Make sure that this source gives others before: a job needs keys until its end."
    return warn(Topic.CREDENTIALS, found, advice)


def skew_bounds(before: float, after: float, written: float) -> tuple[float, float]:
    """Between which seconds the store's clock is ahead of this node's.

    Args:
        before: This node's clock before something was written.
        after: And after it.
        written: The store's clock at that moment, cut off to what it keeps.
    """
    kept = _WHOLE_S if written == int(written) else _TICK_S
    return written - after, written + kept - before


_WHOLE_S = 2.0  # S3 keeps whole seconds, FAT every second one
_TICK_S = 0.01  # how often the kernel's clock for time stamps moves


def clock(bounds: tuple[float, float], *, is_bucket: bool) -> Check:
    """Whether this node and the store agree on the time."""
    least, most = bounds
    if least <= 0 <= most:
        return ok(Topic.CLOCK, f"within {span(max(-least, most))} of the store's")
    off, side = (least, "behind") if least > 0 else (-most, "ahead of")
    found = f"this node's is {span(off)} or more {side} the store's"
    if off < SKEW_S_WARN:
        return ok(Topic.CLOCK, found)
    refused = "S3 refuses requests from 15 min on, and " if is_bucket else ""
    advice = f"Set the clocks (NTP): {refused}`log` shows wrong ages. All else compares no clocks."
    return warn(Topic.CLOCK, found, advice)


def latency(took: Mapping[str, Sequence[float]]) -> Check:
    """How long each call takes."""
    middle = {what: median(seconds) for what, seconds in took.items()}
    each = (
        f"{what} {span(middle[what])} (longest {span(max(seconds))})"
        for what, seconds in took.items()
    )
    found = ", ".join(each)
    usual = [middle[what] for what in _USUAL if what in middle]
    if max(usual) < SLOW_S_WARN:
        return ok(Topic.LATENCY, found)
    return warn(Topic.LATENCY, found, "The store is slow: publications and scans will take long.")


_USUAL = ("look", "list", "create")  # what a job does again and again


def visibility(trips: Sequence[float]) -> Check:
    """How long a name takes to be seen on another node and answered by one from there."""
    longest = max(trips)
    found = (
        f"a name and the answer to it were seen within {span(median(trips))}, at most "
        f"{span(longest)}, in {len(trips)} rounds: so each way takes no longer"
    )
    if longest < TRIP_S_WARN:
        return ok(Topic.VISIBILITY, found)
    advice = (
        "A resolve on another node may answer with an older save for that long. NFS: mount without"
        " nocto, with a lower acdirmax or actimeo, and with lookupcache=positive; Lustre and GPFS: "
        "see the load of their servers."
    )
    return warn(Topic.VISIBILITY, found, advice)


@dataclass(frozen=True, slots=True)
class Late:
    """How long after a change a listing showed it.

    Attributes:
        seconds: None when it still did not, at the end.
        waited: How long it was waited for.
    """

    seconds: float | None
    waited: float

    def __str__(self) -> str:
        return f"{span(self.waited if self.seconds is None else self.seconds)} later"


def span(seconds: float) -> str:
    """A duration for people: ``1.2 ms``, ``14 s``, ``55 min``, ``3 days``."""
    for unit, size in (("days", 172_800.0), ("h", 7200.0), ("min", 120.0)):
        if seconds >= size:
            return f"{seconds / _UNIT_S[unit]:.0f} {unit}"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.{1 if seconds >= _MS else 3}f} ms"


_MS = 0.001
_UNIT_S = {"days": 86_400.0, "h": 3600.0, "min": 60.0}
