"""Calls that begin at the same moment, each on a thread of its own."""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

from dispatch.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


def race(works: Sequence[Callable[[], T]], time_out: float) -> list[T | Exception]:
    """See `dispatch.ports.waiting.Race`. No thread keeps the process from ending."""
    outcomes: list[T | Exception] = [TimeoutError() for _ in works]
    start, calls = Event(), list(works)

    def run(place: int) -> None:
        start.wait()
        if not calls:
            return
        try:
            outcomes[place] = calls[place]()
        except Exception as error:  # noqa: BLE001 - the caller gets it
            outcomes[place] = error

    threads = [
        Thread(target=run, args=(place,), name="dispatch-race", daemon=True)
        for place in range(len(works))
    ]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as error:
        calls.clear()
        message = f"{len(works)} threads can't be had at once: {error}"
        raise UnavailableError(message, hint="Raise the limit of processes (ulimit -u).") from error
    finally:
        start.set()
    deadline = time.monotonic() + time_out
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return list(outcomes)
