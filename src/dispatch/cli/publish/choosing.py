"""`publish resolve` with flags that choose: apart, since the plain answer has to be fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.checkpoint.choosing import Bounds
from dispatch.checkpoint.completion import parse_framework
from dispatch.cli import exitcodes
from dispatch.cli.publish import wiring
from dispatch.cli.publish.progress import Progress
from dispatch.errors import InvalidInputError
from dispatch.model.number import parse_number

if TYPE_CHECKING:
    from dispatch.checkpoint.completion import Framework
    from dispatch.checkpoint.entry import Entry
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Json, Output


def choose(arguments: Arguments, output: Output) -> int:
    """Print the location of the publication that the flags choose; nothing when there is none."""
    framework = _framework(arguments)
    bounds = bounds_of(arguments)
    log = wiring.open_log(arguments)

    def passed_over(entry: Entry, reason: str) -> None:
        wiring.say_passed_over(log.location(entry), reason, output)

    with Progress("choosing a publication", output):
        choice = log.choose(
            framework,
            fallback=arguments.has("fallback"),
            epoch_below=bounds.epoch_below,
            step_at_most=bounds.step_at_most,
            passed_over=passed_over,
        )
    entry = choice.entry
    if output.is_json:
        refused: list[Json] = [
            {**wiring.document_of(log, entry), "reason": reason}
            for entry, reason in choice.passed_over
        ]
        chosen = {"save": None} if entry is None else wiring.document_of(log, entry)
        output.document({**chosen, "passed_over": refused})
    elif entry is not None:
        output.answer(log.store.location(entry.path) + b"\n")
    return exitcodes.OK


def _framework(arguments: Arguments) -> Framework | None:
    """The framework to verify by.

    Raises:
        InvalidInputError: Of -verify and -framework one is missing, or -fallback is alone.
    """
    is_given = arguments.has("framework")
    if arguments.has("fallback") and not arguments.has("verify"):
        message = "-fallback needs -verify, which says what to fall back from"
        raise InvalidInputError(message)
    if arguments.has("verify") and not is_given:
        message = "-verify needs -framework, whose rule says when a save is complete"
        raise InvalidInputError(message)
    if is_given and not arguments.has("verify"):
        message = "-framework needs -verify: without it no save is looked at"
        raise InvalidInputError(message)
    return parse_framework(arguments.text("framework") or "") if is_given else None


def bounds_of(arguments: Arguments) -> Bounds:
    """Which publications ``-epoch-below`` and ``-step-at-most`` let be chosen.

    Raises:
        InvalidInputError: One of them is no number.
    """
    return Bounds(_number(arguments, "epoch-below"), _number(arguments, "step-at-most"))


def _number(arguments: Arguments, flag: str) -> int | None:
    text = arguments.text(flag)
    return None if text is None else parse_number(f"-{flag}", text)
