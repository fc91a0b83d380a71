"""What the exit status of a program says; the table in docs/reference/cli.md is the same."""

from __future__ import annotations

from dispatch.errors import DispatchError, InvalidInputError, OvertakenError

OK = 0
FAILED = 1
USAGE = 2
UNFIT = 3
# 74 and 76 are EX_IOERR and EX_PROTOCOL of sysexits.h; the last two are the shells'.
UNPUBLISHED = 74
OVERTAKEN = 76
NOT_EXECUTABLE = 126
NOT_FOUND = 127

MEANINGS = {
    OK: "well",
    FAILED: "the operation failed, or its answer could not be written",
    USAGE: "the command line or the environment is wrong; nothing was written",
    UNFIT: "publications are there, and none was chosen that can be resumed from",
    UNPUBLISHED: "run: the command succeeded, but saves may have stayed unpublished",
    OVERTAKEN: "a newer execution, or another attempt, has the epoch: this one should end",
    NOT_EXECUTABLE: "run: the command can't be executed",
    NOT_FOUND: "run: the command was not found",
}


def of_error(error: DispatchError) -> int:
    """The status that ``error`` ends a program with."""
    if isinstance(error, OvertakenError):
        return OVERTAKEN
    if error.kind in {"save-unfit", "none-chosen"}:
        return UNFIT
    return USAGE if isinstance(error, InvalidInputError) else FAILED
