"""`publish resolve`: the save to resume from."""

from __future__ import annotations

from dispatch.cli import exitcodes
from dispatch.cli.publish import wiring

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output


def run(arguments: Arguments, output: Output) -> int:
    """Print the latest publication's location, or nothing."""
    log = wiring.open_log(arguments)
    with wiring.listing(log, output):
        entry = log.resolve()
    if output.is_json:
        output.document({"save": None} if entry is None else wiring.document_of(log, entry))
    elif entry is not None:
        output.answer(log.store.location(entry.path) + b"\n")
    return exitcodes.OK
