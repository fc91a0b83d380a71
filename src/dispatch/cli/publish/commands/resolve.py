"""`publish resolve`: the save to resume from."""

from __future__ import annotations

from dispatch.cli import exitcodes
from dispatch.cli.publish import wiring

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output

_CHOOSING = ("verify", "framework", "fallback", "epoch-below", "step-at-most")


def run(arguments: Arguments, output: Output) -> int:
    """Print the location of the latest publication, or of the one that flags choose; or nothing."""
    if any(map(arguments.has, _CHOOSING)):
        # The plain answer is asked for at each start, and shall not pay for this.
        from dispatch.cli.publish.choosing import choose

        return choose(arguments, output)
    log = wiring.open_log(arguments)
    with wiring.listing(log, output):
        entry = log.resolve()
    if output.is_json:
        output.document({"save": None} if entry is None else wiring.document_of(log, entry))
    elif entry is not None:
        output.answer(log.store.location(entry.path) + b"\n")
    return exitcodes.OK
