"""What `publish run` puts into the command: ``{out}``, ``{attempt}`` and ``{resume}``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dispatch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# These words alone: JSON, templates and the shell have braces of their own. In two pairs of braces
# a word stands for itself in one.
_WORD = re.compile(rb"\{\{(out|attempt|resume)\}\}|\{(out|attempt|resume)\}")
_RESUME = b"{resume}"
_NOT_OF_A_FLAG = {b"", b".", *(b"%d" % digit for digit in range(10))}  # dashes alone; a number


def check(command: Sequence[bytes]) -> None:
    """Refuse what `substitute` has no meaning for.

    Raises:
        InvalidInputError: ``{resume}`` is the command itself, or only a part of an argument.
    """
    for place, argument in enumerate(command):
        count = sum(match[2] == b"resume" for match in _WORD.finditer(argument))
        is_whole = argument == _RESUME or _is_flag_with_resume(argument)
        if count > is_whole or (count and not place):
            what = "only a part of the argument" if place else "in the name of the command,"
            message = f"{{resume}} is {what} {os.fsdecode(argument)!r}"
            hint = (
                "Give it alone or as --flag={resume}, which can be dropped when there is nothing "
                "to resume from; or read DISPATCH_RESUME; {{resume}} stands for the text itself."
            )
            raise InvalidInputError(message, hint=hint)


def substitute(
    command: Sequence[bytes], *, out: bytes, attempt: bytes, resume: bytes | None
) -> list[bytes]:
    """The command as it is to run. `check` has passed it.

    Args:
        command: Its words.
        out: For each ``{out}``: where this execution writes.
        attempt: For each ``{attempt}``.
        resume: For ``{resume}``; None drops that argument, and the flag whose value it is.
    """
    values = {b"out": out, b"attempt": attempt, b"resume": resume or b""}

    def replace(match: re.Match[bytes]) -> bytes:
        return b"{%b}" % match[1] if match[1] else values[match[2]]

    words = command if resume is not None else list(_without_resume(command))
    return [_WORD.sub(replace, word) for word in words]


def _without_resume(command: Sequence[bytes]) -> Iterator[bytes]:
    for place, argument in enumerate(command):
        is_whole = argument == _RESUME
        takes_it = place and _RESUME in command[place + 1 : place + 2] and _is_flag(argument)
        if not (is_whole or takes_it or _is_flag_with_resume(argument)):
            yield argument


def _is_flag(argument: bytes) -> bool:
    """Whether the next argument may be its value. ``-``, ``--`` and ``-1`` are no flags."""
    name = argument.lstrip(b"-")
    return name != argument and b"=" not in argument and name[:1] not in _NOT_OF_A_FLAG


def _is_flag_with_resume(argument: bytes) -> bool:
    flag, _, value = argument.partition(b"=")
    return value == _RESUME and _is_flag(flag)
