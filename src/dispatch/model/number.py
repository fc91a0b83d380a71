"""Unsigned 64-bit integers as people and programs write them: decimal digits and nothing else."""

from __future__ import annotations

from dispatch.errors import InvalidInputError

UINT64_MAX = 2**64 - 1
_DIGITS_MAX = 20  # of 2^64-1


def parse_uint64(text: str) -> int | None:
    """The value of ASCII decimal digits (leading zeros allowed), or None.

    None for anything else: signs, spaces, other scripts' digits, underscores, and values over
    2^64-1 of any length (`int` itself takes most of these, and refuses long ones by an error).
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    if len(digits) > _DIGITS_MAX:
        return None
    value = int(digits or "0")
    return value if value <= UINT64_MAX else None


def parse_number(what: str, text: str) -> int:
    """`parse_uint64`, or an error that names ``what`` and shows the value.

    Raises:
        InvalidInputError: ``text`` is not a decimal number from 0 to 2^64-1.
    """
    value = parse_uint64(text)
    if value is None:
        message = f"{what} {text[:80]!r} is not a decimal number from 0 to {UINT64_MAX}"
        raise InvalidInputError(message)
    return value
