"""Becoming another program: where it is, and why that failed."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

_SHELL = b"/bin/sh"
_MISSING = {errno.ENOENT, errno.ENOTDIR}


class ExecuteError(OSError):
    """The command did not become a program; nothing of it ran.

    Attributes:
        is_missing: There is no such file; otherwise there is one that can't be executed.
    """

    def __init__(self, code: int, command: bytes, *, is_missing: bool) -> None:
        super().__init__(code, os.strerror(code).lower(), command)
        self.is_missing = is_missing


def candidates(command: bytes, environment: Mapping[bytes, bytes]) -> list[bytes]:
    """Where ``command`` may be, in order: itself when it has a slash, else along PATH."""
    if b"/" in command:
        return [command]
    if not command:
        return []
    folders = environment.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    return [os.path.join(folder or b".", command) for folder in folders]


def require(command: bytes, environment: Mapping[bytes, bytes]) -> None:
    """Refuse what can't become a program, before anything is done for it.

    Raises:
        ExecuteError: It is not there, or nobody may execute it.
    """
    paths = candidates(command, environment)
    if not any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
        refuse(errno.EACCES if any(map(os.path.exists, paths)) else errno.ENOENT, paths, command)


def execute(
    paths: Sequence[bytes], command: list[bytes], environment: Mapping[bytes, bytes]
) -> NoReturn:
    """Become the first of ``paths`` that can be executed, as execvp(3) chooses it.

    Raises:
        OSError: None can; what stood in the way of one that is there goes first.
    """
    refused: OSError | None = None
    for path in paths:
        try:
            os.execve(path, command, environment)  # noqa: S606 - a shell would read it anew
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # a script without its first line
                script = [_SHELL, path, *command[1:]]
                os.execve(_SHELL, script, environment)  # noqa: S606 - it is the shell
            if error.errno not in _MISSING and refused is None:
                refused = error
    raise refused or OSError(errno.ENOENT, os.strerror(errno.ENOENT))


def refuse(code: int, paths: Sequence[bytes], command: bytes) -> NoReturn:
    """Say why there is no command, given the errno of `execute`.

    ENOENT is also what a script gives whose interpreter is not there.

    Raises:
        ExecuteError: Always.
    """
    is_missing = code in _MISSING and not any(map(os.path.isfile, paths))
    raise ExecuteError(code, command, is_missing=is_missing)
