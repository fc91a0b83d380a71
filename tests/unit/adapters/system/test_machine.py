"""The machine's clock and its randomness: the only ones there are."""

import time

from dispatch.adapters.system.clock import wall_ns
from dispatch.adapters.system.entropy import fraction, token


def test_the_wall_clock_is_the_system_s() -> None:
    """In nanoseconds since 1970."""
    before = time.time_ns()
    assert before <= wall_ns() <= time.time_ns()


def test_a_token_is_eight_bytes_that_nobody_else_has() -> None:
    """It names what is being removed."""
    tokens = {token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert {len(drawn) for drawn in tokens} == {8}


def test_a_fraction_is_from_0_up_to_1_and_never_the_same() -> None:
    """So that those who failed together come back apart."""
    drawn = {fraction() for _ in range(100)}
    assert len(drawn) > 90
    assert all(0 <= number < 1 for number in drawn)
