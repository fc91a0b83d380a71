"""`publish publish`: one save, by hand."""

from __future__ import annotations

import os

from dispatch.checkpoint.entry import parse_step
from dispatch.cli import exitcodes
from dispatch.cli.publish import environment, wiring
from dispatch.cli.publish.progress import Progress
from dispatch.errors import AlreadyPublishedError, DispatchError, InvalidInputError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output


def run(arguments: Arguments, output: Output) -> int:
    """Publish the save that the operands name."""
    spelled, step_text = arguments.operands
    if not spelled:
        message = "SAVE is empty"
        raise InvalidInputError(message)
    attempt = environment.attempt_if_any(arguments)
    epoch = environment.epoch(arguments)
    step = parse_step(os.fsdecode(step_text))
    log = wiring.open_log(arguments)
    save = environment.absolute(spelled)
    with Progress(f"publishing {os.fsdecode(save)}", output):
        if attempt is not None:
            wiring.refuse_if_taken(log.store, epoch, attempt, output)
        try:
            entry = log.publish(epoch, step, save, sync=arguments.has("sync"))
            is_new = True
        except AlreadyPublishedError as error:
            entry, is_new = error.entry, False
    if is_new:
        wiring.say_published(log, entry, output)
    else:
        message = f"already published, step {step}: {log.location(entry)}"
        fields = {"event": "already-published", **wiring.document_of(log, entry)}
        output.say(message, fields=fields)
    try:
        wiring.say_if_overtaken(log.resolve(), epoch, output)
    except DispatchError as error:
        wiring.warn_unreadable(f"{error}. {error.hint}".rstrip(". "), output)
    if output.is_json:
        output.document({"created": is_new, **wiring.document_of(log, entry)})
    return exitcodes.OK
