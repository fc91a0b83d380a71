"""Values that names hold: what may be one, whatever the store."""

from __future__ import annotations

import os

from dispatch.errors import MalformedError

VALUE_BYTES_MAX = 255  # a symbolic link's target has room for more on every file system


def parse_claimed(raw: bytes, shown: str) -> str:
    """The value that ``raw`` is, which was found at ``shown``.

    Raises:
        MalformedError: It can't be one that was claimed.
    """
    if not 1 <= len(raw) <= VALUE_BYTES_MAX or b"\0" in raw:
        error = no_claim(shown, f"not 1 to {VALUE_BYTES_MAX} bytes without NUL")
        raise error
    return os.fsdecode(raw)


def no_claim(shown: str, why: str) -> MalformedError:
    """The error to raise when what is at ``shown`` holds no value."""
    hint = "No program of ours makes such a thing; look at it, and move it away."
    return MalformedError(f"{shown} is no claim: it is {why}", kind="malformed-claim", hint=hint)
