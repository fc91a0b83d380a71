"""From a command line to an exit status."""

from __future__ import annotations

import os

from dispatch.cli import exitcodes
from dispatch.cli.publish import start
from dispatch.cli.publish.arguments import Command, parse, refuse_unknown_command
from dispatch.cli.publish.catalog import COMMANDS
from dispatch.cli.publish.output import AnswerError, Output
from dispatch.errors import DispatchError, InvalidInputError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.cli.publish.arguments import Arguments

_HELP = frozenset({b"-help", b"--help", b"-h"})
_VERSION = frozenset({b"-version", b"--version"})
_JSON = frozenset({b"-json", b"--json"})
_DEBUG = frozenset({b"-debug", b"--debug"})
REPORT = "Please report it with the output of the same command and -debug."


def run(arguments: list[bytes]) -> int:
    """Run `publish` with ``arguments`` (without the program's name); its exit status."""
    flags = arguments[: arguments.index(b"--")] if b"--" in arguments else arguments
    output = Output(is_json=not _JSON.isdisjoint(flags))
    doing = "reading the command line"
    try:
        command, rest = _command(arguments)
        if command is None or not _HELP.isdisjoint(flags):
            return _explain(command, rest, output)
        doing = f"running {command.name}"
        if command.name != "watch":
            start.die_of_signals()
        status = _load(command)(parse(command, rest), output)
        if not command.rest:  # what runs a command answers nothing: stdout is that command's
            output.close()
    except DispatchError as error:
        output.say(_with_hint(error), "error", {"kind": error.kind})
        return exitcodes.of_error(error)
    except AnswerError as error:
        output.say(f"the answer could not be written to stdout: {error}", "error")
        return exitcodes.FAILED
    except BaseException as error:  # noqa: BLE001 - no traceback ever reaches a user
        if not _DEBUG.isdisjoint(flags):
            _show_traceback(output)
        output.say(f"fault while {doing}: {error!r}. {REPORT}", "error", {"kind": "fault"})
        return exitcodes.FAILED
    return status


def _command(arguments: list[bytes]) -> tuple[Command | None, list[bytes]]:
    """The command and its arguments; no command where help or the version is asked for.

    Raises:
        InvalidInputError: There is no command, or an unknown one.
    """
    rest = [argument for argument in arguments if argument not in _JSON | _DEBUG]
    if not rest:
        message = "no command is given"
        raise InvalidInputError(message, hint=f"One of: {', '.join(COMMANDS)}.")
    if rest[0] in _HELP | _VERSION:
        return None, rest
    name = os.fsdecode(rest[0])
    refuse_unknown_command(name, COMMANDS)
    at = arguments.index(rest[0])
    return COMMANDS[name], arguments[:at] + arguments[at + 1 :]


def _explain(command: Command | None, rest: list[bytes], output: Output) -> int:
    from dispatch import __version__
    from dispatch.cli.publish import help as pages

    if command is not None:
        text = pages.of_command(command)
    elif rest[0] in _VERSION:
        text = f"publish {__version__}"
    else:
        text = pages.of_program()
    if output.is_json:
        output.document({"text": text})
    else:
        output.answer(text.encode() + b"\n")
    output.close()
    return exitcodes.OK


def _load(command: Command) -> Callable[[Arguments, Output], int]:
    module = __import__(f"dispatch.cli.publish.commands.{command.name}", fromlist=["run"])
    run_command: Callable[[Arguments, Output], int] = module.run
    return run_command


def _with_hint(error: DispatchError) -> str:
    return f"{error}. {error.hint}" if error.hint else str(error)


def _show_traceback(output: Output) -> None:
    from traceback import format_exc

    for line in format_exc().splitlines():
        output.say(line, "debug")
