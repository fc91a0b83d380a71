"""`publish retract`: taking back a mistake."""

from __future__ import annotations

import os

from dispatch.checkpoint.entry import parse_entry_name
from dispatch.cli import exitcodes
from dispatch.cli.publish import wiring
from dispatch.cli.publish.output import json_text
from dispatch.cli.publish.progress import Progress
from dispatch.errors import InvalidInputError, MalformedError, NotFoundError
from dispatch.model.number import parse_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dispatch.checkpoint.entry import Entry
    from dispatch.checkpoint.log import Log
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Json, Output

_STDIN = 0
_ANSWER_BYTES_MAX = 1024


def run(arguments: Arguments, output: Output) -> int:
    """Remove one entry, or one claim, after asking."""
    if arguments.has("claim"):
        return _retract_claim(arguments, output)
    name = os.fsdecode(arguments.operands[0])
    try:
        entry = parse_entry_name(name)
    except MalformedError as error:
        message = f"{name!r} is not an entry's name"
        hint = "`publish log -json` shows the names; anything else in pub/ is moved away by hand."
        raise InvalidInputError(message, hint=hint) from error
    log = wiring.open_log(arguments)
    with wiring.listing(log, output):
        entries = log.entries()
    if entry not in entries:
        message = f"{name!r} is not published"
        raise NotFoundError(message, kind="entry-missing", hint="`publish log` lists them.")
    before = entries[-1]
    entries.remove(entry)
    after = entries[-1] if entries else None
    output.say(f"step {entry.step} of epoch {entry.epoch}: {log.location(entry)}")
    output.say(f"resolve answers         {_show(log, before)}")
    output.say(f"resolve would answer    {_show(log, after)}")
    if not arguments.has("yes") and not _confirmed(output):
        output.say("nothing was retracted", "error")
        return exitcodes.FAILED
    log.retract(entry)
    after = log.resolve()
    output.say(f"retracted; it answers   {_show(log, after)}")
    if output.is_json:
        output.document(
            {
                "retracted": wiring.document_of(log, entry),
                "before": wiring.document_of(log, before),
                "after": None if after is None else wiring.document_of(log, after),
            }
        )
    return exitcodes.OK


def _retract_claim(arguments: Arguments, output: Output) -> int:
    from dispatch.checkpoint.claims import read_claims

    epoch = parse_number("-claim", arguments.text("claim") or "")
    log = wiring.open_log(arguments)
    with Progress("listing claims", output):
        before = read_claims(log.store)
        attempt, resume = log.claim_of(epoch)
    after = max((claimed for claimed in before.epochs if claimed != epoch), default=None)
    output.say(f"epoch {epoch} belongs to attempt {attempt!r}, which resumes from {resume or '-'}")
    output.say(f"greatest claimed epoch  {_show_epoch(before.greatest)}")
    output.say(f"it would be             {_show_epoch(after)}")
    if not arguments.has("yes") and not _confirmed(output):
        output.say("nothing was retracted", "error")
        return exitcodes.FAILED
    log.retract_claim(epoch)
    now = read_claims(log.store).greatest
    output.say(f"retracted; it is        {_show_epoch(now)}")
    if output.is_json:
        retracted: Json = {"epoch": epoch, "attempt": json_text(attempt), "resume": resume}
        output.document({"retracted": retracted, "before": before.greatest, "after": now})
    return exitcodes.OK


def _show_epoch(epoch: int | None) -> str:
    return "none" if epoch is None else str(epoch)


def _show(log: Log, entry: Entry | None) -> str:
    if entry is None:
        return "nothing (training would start from scratch)"
    return f"{log.location(entry)} (step {entry.step} of epoch {entry.epoch})"


def _confirmed(output: Output) -> bool:
    """Whether a person at a terminal says yes.

    Raises:
        InvalidInputError: There is no terminal to ask on.
    """
    if not os.isatty(_STDIN):
        message = "there is no terminal to ask on"
        raise InvalidInputError(message, hint="Give -yes when you are sure.")
    output.say("retract it? Type yes:")
    return os.read(_STDIN, _ANSWER_BYTES_MAX).strip().lower() in {b"y", b"yes"}
