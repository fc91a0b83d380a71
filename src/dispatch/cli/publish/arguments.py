"""Reading a command line: ``-name value``, ``--name value``, ``-name=value``, ``--name=value``.

Not argparse: it takes abbreviations, reads ``-name`` as a bundle of letters, and costs 9 ms.
"""

from __future__ import annotations

import os

from dispatch.errors import InvalidInputError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SECONDS_MAX = 1e9  # thirty years: what is longer is for ever, and overflows what waits
_UNITS_MS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
DURATION_FORM = "a number and a unit, such as 10s, 1m30s, 500ms or 2h"


class Flag:
    """One flag of a command.

    Attributes:
        name: Without dashes.
        value: What its value is called in the help; empty for a switch, which takes none.
        help: One or more sentences for the help.
        default: The value when it is not given; None when there is none.
        repeats: Whether it may be given again; its values are then joined by spaces.
    """

    __slots__ = ("default", "help", "name", "repeats", "value")

    def __init__(
        self,
        name: str,
        value: str,
        help_text: str,
        default: str | None = None,
        *,
        repeats: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.help = help_text
        self.default = default
        self.repeats = repeats


class Command:
    """One command: what it takes, and where it is.

    Attributes:
        name: As it is typed, and the module below `dispatch.cli.publish.commands`.
        summary: One line for the list of commands.
        details: A paragraph or more for its own help.
        flags: Its flags, in the order of the help.
        operands: What its operands are called.
        rest: What comes after ``--``, whatever it looks like; empty for a command without. It is
            then the operands.
        required: The flags that have to be given.
        example: A worked example: lines to type and what they print.
        instead: The flag that stands in the place of the operands; empty for none.
    """

    __slots__ = (
        "details",
        "example",
        "flags",
        "instead",
        "name",
        "operands",
        "required",
        "rest",
        "summary",
    )

    def __init__(
        self,
        name: str,
        *,
        summary: str,
        details: str,
        flags: Sequence[Flag],
        operands: Sequence[str] = (),
        rest: str = "",
        required: Sequence[str] = ("checkpoint",),
        example: str,
        instead: str = "",
    ) -> None:
        self.name = name
        self.summary = summary
        self.details = details
        self.flags = flags
        self.operands = operands
        self.rest = rest
        self.required = required
        self.example = example
        self.instead = instead


class Arguments:
    """What a command line gave.

    Attributes:
        operands: The arguments that are no flags, as bytes.
    """

    __slots__ = ("_values", "operands")

    def __init__(self, values: dict[str, bytes], operands: list[bytes]) -> None:
        self._values = values
        self.operands = operands

    def has(self, flag: str) -> bool:
        """Whether a switch was given."""
        return flag in self._values

    def path(self, flag: str) -> bytes | None:
        """A flag's value as it was typed; None when it was not given."""
        return self._values.get(flag)

    def text(self, flag: str) -> str | None:
        """A flag's value as text; None when it was neither given nor has a default."""
        value = self._values.get(flag)
        return None if value is None else os.fsdecode(value)

    def seconds(self, flag: str) -> float:
        """A flag's value as a duration over zero.

        Raises:
            InvalidInputError: It is no duration; the message says what form it should have.
        """
        seconds = self.seconds_if_any(flag)
        if not seconds:
            text = self.text(flag) or ""
            message = f"-{flag} {text!r} is not a duration over zero: {DURATION_FORM}"
            raise InvalidInputError(message)
        return min(seconds, _SECONDS_MAX)

    def seconds_if_any(self, flag: str) -> float | None:
        """A flag's value as a duration, which may be zero; None when it was not given.

        Raises:
            InvalidInputError: It is no duration; the message says what form it should have.
        """
        text = self.text(flag)
        if text is None:
            return None
        seconds = parse_duration(text)
        if seconds is None:
            message = f"-{flag} {text!r} is not a duration: {DURATION_FORM}"
            raise InvalidInputError(message)
        return seconds

    def count(self, flag: str) -> int | None:
        """A flag's value as a number of at least 1; None when it was not given.

        Raises:
            InvalidInputError: It is anything else.
        """
        text = self.text(flag)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and text.strip("0")):
            message = f"-{flag} {text!r} is not a whole number of at least 1"
            raise InvalidInputError(message)
        digits = text.lstrip("0")
        return int(digits) if len(digits) <= _COUNT_DIGITS_MAX else _COUNT_MAX


_COUNT_DIGITS_MAX = 18
_COUNT_MAX = 10**_COUNT_DIGITS_MAX  # more than any root holds; int() refuses thousands of digits


def parse_duration(text: str) -> float | None:
    """Seconds, or None: parts of a number and a unit (h, m, s, ms), each unit once, in order."""
    rest, total, allowed = text, 0.0, list(_UNITS_MS)
    while rest:
        number = rest[: len(rest) - len(rest.lstrip("0123456789."))]
        rest = rest[len(number) :]
        unit = rest[: len(rest) - len(rest.lstrip("hms"))]
        rest = rest[len(unit) :]
        if unit not in allowed or not _is_decimal(number):
            return None
        allowed = allowed[allowed.index(unit) + 1 :]
        total += float(number) * _UNITS_MS[unit] / 1000
    return total if text else None


def _is_decimal(number: str) -> bool:
    whole, dot, part = number.partition(".")
    return whole.isdigit() and (not dot or part.isdigit()) and len(number) < _COUNT_DIGITS_MAX


def parse(command: Command, arguments: list[bytes]) -> Arguments:
    """What ``arguments`` give ``command``.

    Raises:
        InvalidInputError: An unknown flag (the nearest one is suggested), one given twice or
            without its value, a missing one, too many or too few operands, or nothing after
            ``--`` where something has to be.
    """
    known = {flag.name: flag for flag in command.flags}
    given: dict[str, bytes] = {}
    operands: list[bytes] = []
    see_help = _see_help(command.name)
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == b"--":
            operands += rest
            break
        if argument.startswith(b"-") and argument != b"-":
            hint = f"Those of the {command.rest} come after `--`." if command.rest else see_help
            flag, value = _flag_and_value(argument, rest, known, hint)
            if flag.name in given and flag.repeats:
                value = given[flag.name] + b" " + value
            elif flag.name in given:
                message = f"-{flag.name} is given twice"
                raise InvalidInputError(message)
            given[flag.name] = value
        elif command.rest:
            message = f"{command.name} takes its {command.rest} after `--`, which is missing"
            message += f" before {os.fsdecode(argument)!r}"
            raise InvalidInputError(message, hint=see_help)
        else:
            operands.append(argument)
    _require(command, given, operands)
    defaults = {f.name: f.default.encode() for f in command.flags if f.default is not None}
    return Arguments(defaults | given, operands)


def _flag_and_value(
    argument: bytes, rest: list[bytes], known: dict[str, Flag], see_help: str
) -> tuple[Flag, bytes]:
    """The flag that ``argument`` is, with its value, which may be taken from ``rest``."""
    dashes = 2 if argument.startswith(b"--") else 1
    name, equals, value = argument[dashes:].partition(b"=")
    flag = known.get(os.fsdecode(name))
    if flag is None:
        message = f"unknown flag {os.fsdecode(argument.partition(b'=')[0])!r}"
        raise InvalidInputError(message, hint=_nearest(os.fsdecode(name), known, "-", see_help))
    if equals and not flag.value:
        message = f"-{flag.name} takes no value"
        raise InvalidInputError(message)
    if flag.value and not equals:
        if not rest:
            message = f"-{flag.name} needs a value: -{flag.name} {flag.value}"
            raise InvalidInputError(message)
        value = rest.pop(0)
    return flag, value


def _require(command: Command, given: dict[str, bytes], operands: list[bytes]) -> None:
    for name in command.required:
        if name not in given:
            message = f"{command.name} needs -{name}"
            raise InvalidInputError(message, hint=_see_help(command.name))
    if command.rest and not operands:
        message = f"{command.name} needs a {command.rest} after `--`"
        raise InvalidInputError(message, hint=_see_help(command.name))
    names = () if command.instead in given else command.operands
    if not command.rest and len(operands) != len(names):
        expected = " ".join(names) or "no operands"
        from dispatch.model.shown import shown  # start-up time: only errors need it

        these = " ".join(map(shown, map(os.fsdecode, operands))) or "none"
        other = f" or -{command.instead}" if names and command.instead else ""
        message = f"{command.name} takes {expected}{other}; given: {these}"
        raise InvalidInputError(message, hint=_see_help(command.name))


def refuse_unknown_command(text: str, names: Iterable[str]) -> None:
    """Suggest the nearest command where ``text`` is none of ``names``.

    Raises:
        InvalidInputError: It is none of them.
    """
    if text not in names:
        from dispatch.model.shown import shown

        is_flag = text.startswith("-")
        hint = "The command comes first, then its flags." if is_flag else _nearest(text, names, "")
        raise InvalidInputError(f"unknown command {shown(text)}", hint=hint)


def _nearest(
    text: str, names: Iterable[str], dash: str, otherwise: str = "See `publish -help`."
) -> str:
    from difflib import get_close_matches

    near = get_close_matches(text, list(names), n=1, cutoff=0.5)
    return f"Did you mean {dash}{near[0]}?" if near else otherwise


def _see_help(name: str) -> str:
    return f"See `publish {name} -help`."
