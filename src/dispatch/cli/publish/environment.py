"""The attempt and the epoch: flags over the environment, and the error when they are missing."""

from __future__ import annotations

import os

from dispatch.errors import InvalidInputError
from dispatch.model.attempt import parse_attempt
from dispatch.model.number import parse_number

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.cli.publish.arguments import Arguments

_HINT = "The scheduler's adapter sets it; by hand, use -{flag}."


def attempt(arguments: Arguments) -> bytes:
    """This execution's token, from ``-attempt`` or ``DISPATCH_ATTEMPT``.

    Raises:
        InvalidInputError: It is missing or malformed.
    """
    return parse_attempt(_value(arguments, "attempt"))


def epoch(arguments: Arguments) -> int:
    """This execution's epoch, from ``-epoch`` or ``DISPATCH_EPOCH``.

    Raises:
        InvalidInputError: It is missing or malformed.
    """
    text = _value(arguments, "epoch")
    return parse_number("-epoch" if arguments.text("epoch") is not None else "DISPATCH_EPOCH", text)


def epoch_if_any(arguments: Arguments) -> int | None:
    """The epoch, or None when there is none.

    Raises:
        InvalidInputError: It is there and malformed.
    """
    if arguments.text("epoch") is None and "DISPATCH_EPOCH" not in os.environ:
        return None
    return epoch(arguments)


def working_directory() -> bytes:
    """The working directory as the shell spells it, links and all, when that is right.

    Raises:
        InvalidInputError: It was removed.
    """
    try:
        here = os.getcwdb()
    except OSError as error:
        message = "the working directory no longer exists"
        raise InvalidInputError(message, hint="Give absolute paths.") from error
    spelled = os.environb.get(b"PWD", b"")
    try:
        is_right = os.path.samestat(os.stat(spelled), os.stat(here))
    except (OSError, ValueError):
        is_right = False
    return spelled if is_right and spelled.startswith(b"/") else here


def _value(arguments: Arguments, name: str) -> str:
    given = arguments.text(name)
    variable = f"DISPATCH_{name.upper()}"
    text = os.environ.get(variable) if given is None else given
    if text is None:
        message = f"{variable} is not set"
        raise InvalidInputError(message, hint=_HINT.format(flag=name))
    return text
