"""Waiting for a call no longer than a limit, by making it on another thread."""

from __future__ import annotations

import os
from _thread import get_ident

from dispatch.adapters.system.clock import SystemClock

TYPE_CHECKING = False  # a program that never waits should not pay for the imports
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from typing import TypeVar

    T = TypeVar("T")


# Python runs a signal's handler on the main thread alone, between two instructions. One that comes
# just before a wait, or is given to another thread, would be handled only when the wait ends.
_SLICE_S = 0.5


class ThreadPatience(SystemClock):
    """`dispatch.ports.waiting.Patience` by a worker thread, started at the first call.

    A call that outlives its limit keeps its thread: nothing can interrupt a hung file system.
    The thread ends when the call does, its answer is dropped, and the next call gets a new one.
    It never keeps the process from ending. Each calling thread has a worker of its own, and so
    has a process after a fork, which takes no threads along.
    """

    __slots__ = ("_workers",)

    def __init__(self) -> None:
        self._workers: dict[tuple[int, int], SimpleQueue[Callable[[], None] | None]] = {}

    def call(self, work: Callable[[], T], time_out: float) -> T:
        """See `dispatch.ports.waiting.Patience`."""
        from queue import SimpleQueue

        outcomes: SimpleQueue[Callable[[], T]] = SimpleQueue()

        def request() -> None:
            try:
                value = work()
            except BaseException as error:  # noqa: BLE001 - the caller raises it again
                failure = error

                def outcome() -> T:
                    raise failure

            else:

                def outcome() -> T:
                    return value

            outcomes.put(outcome)

        caller = os.getpid(), get_ident()
        if caller not in self._workers:
            self._workers[caller] = _start_worker()
        self._workers[caller].put(request)
        try:
            outcome = self._first_of(outcomes, time_out)
        except TimeoutError:
            self._workers.pop(caller).put(None)
            raise
        return outcome()

    def _first_of(self, outcomes: SimpleQueue[Callable[[], T]], time_out: float) -> Callable[[], T]:
        from queue import Empty

        deadline = self.monotonic() + time_out
        while (left := deadline - self.monotonic()) > _SLICE_S:
            try:
                return outcomes.get(timeout=_SLICE_S)
            except Empty:
                pass
        try:
            return outcomes.get(timeout=max(0.0, left))
        except Empty:
            raise TimeoutError from None


def _start_worker() -> SimpleQueue[Callable[[], None] | None]:
    from queue import SimpleQueue
    from threading import Thread

    requests: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def serve() -> None:
        while (request := requests.get()) is not None:
            request()

    Thread(target=serve, name="dispatch-store", daemon=True).start()
    return requests
