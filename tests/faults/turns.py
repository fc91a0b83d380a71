"""Two processes that take turns at given calls, the same way each time.

The first runs up to a call of its own, then the second up to a call of its own, then the first to
its end, then the second. Each has a thread, of which only one ever runs.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from dispatch.testing.calls import Rule
from tests.faults.scenarios import Moment

PATIENCE_S = 60.0  # a process that waits this long has a bug
Process = Callable[[Rule], object]
"""Runs wholly, with a rule for its calls."""


def take_turns(first: Process, second: Process, first_call: int, second_call: int) -> bool:
    """Run both; whether each came to its call."""
    is_first_done, is_second_waiting = Event(), Event()
    failures: list[BaseException] = []

    def let_first_go_on() -> None:
        is_second_waiting.set()
        assert is_first_done.wait(PATIENCE_S)

    turn_back = Moment(second_call, let_first_go_on)

    def run_second() -> None:
        try:
            second(turn_back)
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            failures.append(error)
        is_second_waiting.set()

    thread = Thread(target=run_second)

    def let_second_run() -> None:
        thread.start()
        assert is_second_waiting.wait(PATIENCE_S)

    turn = Moment(first_call, let_second_run)
    try:
        first(turn)
    finally:
        is_first_done.set()
        if turn.is_past:
            thread.join(PATIENCE_S)
    if failures:
        raise failures[0]
    return turn.is_past and turn_back.is_past
