"""Numbers are decimal digits and nothing else, whatever `int` would take."""

import pytest

from dispatch.errors import InvalidInputError
from dispatch.model.number import parse_number, parse_uint64
from tests.data.vectors import MALFORMED_NUMBERS

HOSTILE = [
    "\u0661",  # a digit of another script
    "\u00b2",  # a superscript, for which isdigit() is true
    "\uff11",  # a full-width digit
    "1_0",
    "1,0",
    "1\0",
    "\t1",
    "--1",
    "0b1",
    "NaN",
    "inf",
    "18446744073709551616",
    "99999999999999999999",
    "1" * 5000,  # int() refuses it with an error of its own
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("000", 0),
        ("7", 7),
        ("0006", 6),
        ("18446744073709551615", 2**64 - 1),
        ("0" * 5000 + "18446744073709551615", 2**64 - 1),
        ("0" * 5000, 0),
    ],
)
def test_decimal_digits_are_a_number(text: str, value: int) -> None:
    """Leading zeros count for nothing, however many."""
    assert parse_uint64(text) == value
    assert parse_number("step", text) == value


@pytest.mark.parametrize("text", MALFORMED_NUMBERS + HOSTILE)
def test_anything_else_is_none(text: str) -> None:
    """What is no number is None here, and an error that shows it there."""
    assert parse_uint64(text) is None
    with pytest.raises(InvalidInputError) as caught:
        parse_number("epoch", text)
    assert str(caught.value) == (
        f"epoch {text[:80]!r} is not a decimal number from 0 to 18446744073709551615"
    )
    assert caught.value.kind == "invalid-input"
