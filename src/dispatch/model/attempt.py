"""The attempt: one execution's opaque token, usable as one path element."""

from __future__ import annotations

import os

from dispatch.errors import InvalidInputError


def is_attempt(text: str) -> bool:
    """Whether `parse_attempt` takes it."""
    token = os.fsencode(text)
    return token not in {b"", b".", b".."} and not any(
        byte in token for byte in (b"/", b"\0", b"\n")
    )


def parse_attempt(text: str, what: str = "attempt") -> bytes:
    """The token as bytes.

    Args:
        text: Not empty, not ``.`` or ``..``, without a slash, a NUL or a newline (format §3: a path
            that holds a newline could not be taken back by a shell).
        what: What the message calls it.

    Raises:
        InvalidInputError: It can't be one element of a path.
    """
    if not is_attempt(text):
        message = f"{what} {text!r} is not usable as one path element"
        raise InvalidInputError(
            message, hint="It may not be empty, '.' or '..', nor hold a slash, NUL or newline."
        )
    return os.fsencode(text)
