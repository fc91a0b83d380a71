"""Calls that begin at the same moment."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from dispatch.adapters.system import racing
from dispatch.errors import UnavailableError


def test_each_answer_is_in_its_place_and_an_error_is_an_answer() -> None:
    def fail() -> int:
        raise ValueError("no")

    first, second, third = racing.race([lambda: 1, fail, lambda: 3], 60)
    assert (first, third) == (1, 3)
    assert isinstance(second, ValueError)


def test_all_are_under_way_at_once() -> None:
    """Each waits until all are there."""
    racers = 16
    barrier = threading.Barrier(racers, timeout=60)
    assert set(racing.race([barrier.wait] * racers, 60)) == set(range(racers))


def test_one_that_never_ends_is_left_behind_and_the_others_are_told() -> None:
    never = threading.Event()
    hung, well = racing.race([never.wait, lambda: True], 0.1)
    never.set()
    assert isinstance(hung, TimeoutError)
    assert well is True


def test_when_a_thread_is_not_to_be_had_no_call_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even those whose threads were."""
    made: list[int] = []
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def start_two(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    with pytest.raises(UnavailableError, match="4 threads") as caught:
        racing.race([partial(made.append, number) for number in range(4)], 60)
    assert "ulimit -u" in caught.value.hint
    for thread in started:
        thread.join(60)
    assert made == []
