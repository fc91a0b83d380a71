"""What the exit status of a program says; the table in docs/reference/cli.md is the same."""

from __future__ import annotations

from dispatch.errors import DispatchError, InvalidInputError

OK = 0
FAILED = 1
USAGE = 2

MEANINGS = {
    OK: "well",
    FAILED: "the operation failed, or its answer could not be written",
    USAGE: "the command line or the environment is wrong; nothing was written",
}


def of_error(error: DispatchError) -> int:
    """The status that ``error`` ends a program with."""
    return USAGE if isinstance(error, InvalidInputError) else FAILED
