"""The machine's randomness."""

from __future__ import annotations

import os

_TOKEN_BYTES = 8  # 2^64 values: no two of a root's removals ever share one
_FRACTION_BYTES = 6  # of the 53 bits of a float


def token() -> bytes:
    """Fresh random bytes, for a name that nobody else has."""
    return os.urandom(_TOKEN_BYTES)


def fraction() -> float:
    """A random number from 0 up to, and without, 1."""
    return int.from_bytes(os.urandom(_FRACTION_BYTES)) / (1 << 8 * _FRACTION_BYTES)
