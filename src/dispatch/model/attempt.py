"""The attempt: one execution's opaque token, usable as one path element."""

from __future__ import annotations

import os

from dispatch.errors import InvalidInputError


def parse_attempt(text: str, what: str = "attempt") -> bytes:
    """The token as bytes.

    Args:
        text: Not empty, not ``.`` or ``..``, without a slash, a NUL or a newline (format §3: a path
            that holds a newline could not be taken back by a shell).
        what: What the message calls it.

    Raises:
        InvalidInputError: It can't be one element of a path.
    """
    token = os.fsencode(text)
    if token in {b"", b".", b".."} or b"/" in token or b"\0" in token or b"\n" in token:
        message = f"{what} {text!r} is not usable as one path element"
        raise InvalidInputError(
            message, hint="It may not be empty, '.' or '..', nor hold a slash, NUL or newline."
        )
    return token
