"""The attempt and the epoch: flags over the environment, and the error when they are missing."""

from __future__ import annotations

import os

from dispatch.errors import InvalidInputError
from dispatch.model.attempt import parse_attempt
from dispatch.model.number import parse_number

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.cli.publish.arguments import Arguments


def attempt(arguments: Arguments) -> bytes:
    """This execution's token, from ``-attempt`` or ``DISPATCH_ATTEMPT``.

    Raises:
        InvalidInputError: It is missing or malformed.
    """
    return parse_attempt(_required(arguments, "attempt"), _shown(arguments, "attempt"))


def attempt_if_any(arguments: Arguments) -> bytes | None:
    """The token, or None when there is none.

    Raises:
        InvalidInputError: It is there and malformed.
    """
    text = _value(arguments, "attempt")
    return None if text is None else parse_attempt(text, _shown(arguments, "attempt"))


def epoch(arguments: Arguments) -> int:
    """This execution's epoch, from ``-epoch`` or ``DISPATCH_EPOCH``.

    Raises:
        InvalidInputError: It is missing or malformed.
    """
    return _parse_epoch(arguments, _required(arguments, "epoch"))


def epoch_if_any(arguments: Arguments) -> int | None:
    """The epoch, or None when there is none.

    Raises:
        InvalidInputError: It is there and malformed.
    """
    text = _value(arguments, "epoch")
    return None if text is None else _parse_epoch(arguments, text)


def absolute(path: bytes) -> bytes:
    """``path`` from ``/`` on, links as they are spelled; ``..`` goes, unless after a link.

    An ``s3://`` URL stays as it is.

    Raises:
        InvalidInputError: It is relative, and the working directory was removed.
    """
    if path.startswith(b"s3://"):
        return path
    spelled = path if path.startswith(b"/") else os.path.join(_working_directory(), path)
    if b".." not in spelled.split(b"/"):
        return spelled
    clean = os.path.normpath(spelled)
    return clean if os.path.realpath(clean) == os.path.realpath(spelled) else spelled


def _working_directory() -> bytes:
    """The working directory as the shell spells it, links and all, when that is right."""
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


def variables() -> Mapping[str, str]:
    """All of the environment, for the settings of a store and for sources of its keys."""
    return os.environ


def is_in_slurm_job() -> bool:
    """Whether Slurm started this, and so signals every process of it itself."""
    return "SLURM_JOB_ID" in os.environ


def of_command(
    *, attempt: bytes, epoch: int, out: bytes, resume: bytes | None
) -> dict[bytes, bytes]:
    """The environment of a command: our own, and what it may want to know of its execution.

    ``DISPATCH_RESUME`` isn't set where there is nothing to resume from: what programs make of a
    missing variable (None) is what trainers take for that, and an empty path isn't.
    """
    given = {
        **inherited(),
        b"DISPATCH_ATTEMPT": attempt,
        b"DISPATCH_EPOCH": b"%d" % epoch,
        b"DISPATCH_OUT": out,
    }
    given.pop(b"DISPATCH_RESUME", None)  # of an execution that runs this one
    if resume is not None:
        given[b"DISPATCH_RESUME"] = resume
    return given


def inherited() -> dict[bytes, bytes]:
    """The variables that we were given. Python sets LC_CTYPE when no locale is (PEP 538)."""
    variables = dict(os.environb)
    try:
        with open("/proc/self/environ", "rb") as file:
            if b"\0LC_CTYPE=" not in b"\0" + file.read():
                variables.pop(b"LC_CTYPE", None)
    except OSError:
        pass
    return variables


def _parse_epoch(arguments: Arguments, text: str) -> int:
    return parse_number(_shown(arguments, "epoch"), text)


def _value(arguments: Arguments, name: str) -> str | None:
    given = arguments.text(name)
    return os.environ.get(_variable(name)) if given is None else given


def _required(arguments: Arguments, name: str) -> str:
    text = _value(arguments, name)
    if text is None:
        hint = f"Each execution has its own: export it in the job script, or use -{name}."
        raise InvalidInputError(f"{_variable(name)} is not set", hint=hint)
    return text


def _shown(arguments: Arguments, name: str) -> str:
    """Where the value came from, for a message."""
    return _variable(name) if arguments.text(name) is None else f"-{name}"


def _variable(name: str) -> str:
    return f"DISPATCH_{name.upper()}"
