"""`publish claim`: making the epoch this execution's own."""

from __future__ import annotations

import os

from dispatch.checkpoint.execution import Execution
from dispatch.cli import exitcodes
from dispatch.cli.publish import environment, wiring
from dispatch.cli.publish.output import json_text
from dispatch.cli.publish.progress import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Json, Output


def run(arguments: Arguments, output: Output) -> int:
    """Claim the epoch; nobody else has it when this ends well."""
    attempt = environment.attempt(arguments)
    epoch = environment.epoch(arguments)
    log = wiring.open_log(arguments)
    with Progress(f"claiming epoch {epoch}", output):
        Execution(log.store, epoch, attempt).claim()
    fields: dict[str, Json] = {"event": "claimed", "epoch": epoch, "attempt": json_text(attempt)}
    output.say(f"epoch {epoch} belongs to attempt {os.fsdecode(attempt)!r}", fields=fields)
    if output.is_json:
        output.document({"epoch": epoch, "attempt": json_text(attempt)})
    return exitcodes.OK
