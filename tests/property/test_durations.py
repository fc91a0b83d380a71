"""Durations on the command line: a number and a unit, greatest first, each unit once."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dispatch.cli.publish.arguments import parse_duration

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_FORM = re.compile(rf"(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?")
_SECONDS = (Fraction(3600), Fraction(60), Fraction(1), Fraction(1, 1000))
NUMBER_LENGTH_MAX = 17  # characters: more are no duration that anybody means


def expected_seconds(text: str) -> Fraction | None:
    """Read a duration by a regular expression and exact fractions; None: it is none."""
    match = _FORM.fullmatch(text)
    if not match or not text or any(len(part or "") > NUMBER_LENGTH_MAX for part in match.groups()):
        return None
    parts = zip(match.groups(), _SECONDS, strict=True)
    return sum((Fraction(part) * unit for part, unit in parts if part), Fraction(0))


numbers = st.integers(0, 10**6).map(str) | st.from_regex(r"[0-9]{1,9}\.[0-9]{1,7}", fullmatch=True)
durations = st.tuples(*[st.none() | numbers] * 4).map(
    lambda parts: "".join(
        f"{number}{unit}"
        for number, unit in zip(parts, ("h", "m", "s", "ms"), strict=True)
        if number is not None
    )
)


@given(durations | st.text("0123456789.hms +-_e\u0661\n", max_size=12) | st.text(max_size=5))
@example("1m30s")
@example("1ms1s")
@example("1s1s")
@example("1e3s")
@example("10s\n")
@example("9" * 18 + "s")
def test_a_duration_is_the_sum_of_its_parts(text: str) -> None:
    """And anything else is none, a bare number among them."""
    expected = expected_seconds(text)
    seconds = parse_duration(text)
    assert (seconds is None) == (expected is None)
    if seconds is not None and expected is not None:
        assert seconds == pytest.approx(float(expected), rel=1e-12)


@given(st.integers(0, 10**12))
def test_whole_milliseconds_come_back_exactly(milliseconds: int) -> None:
    """However they are spread over the units."""
    rest, ms = divmod(milliseconds, 1000)
    rest, s = divmod(rest, 60)
    h, m = divmod(rest, 60)
    spread = parse_duration(f"{h}h{m}m{s}s{ms}ms")
    assert spread is not None
    assert round(spread * 1000) == milliseconds
    assert parse_duration(f"{milliseconds}ms") == milliseconds / 1000
