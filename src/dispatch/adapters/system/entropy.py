"""The machine's randomness."""

from __future__ import annotations

import os

_TOKEN_BYTES = 8  # 2^64 values: no two of a root's removals ever share one


def token() -> bytes:
    """Fresh random bytes, for a name that nobody else has."""
    return os.urandom(_TOKEN_BYTES)
