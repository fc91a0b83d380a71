"""`publish prune`: retention."""

from __future__ import annotations

from dispatch.cli import exitcodes
from dispatch.cli.publish import environment, wiring
from dispatch.cli.publish.output import json_text, raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dispatch.checkpoint.prune import PruneResult
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output


def run(arguments: Arguments, output: Output) -> int:
    """Remove what ``-keep`` and ``-keep-every`` do not keep."""
    epoch = environment.epoch_if_any(arguments)
    keep = arguments.count("keep") or 0
    keep_every = arguments.count("keep-every")
    is_dry = arguments.has("dry-run")
    log = wiring.open_log(arguments)
    if epoch is not None:
        with wiring.listing(log, output):
            latest = log.resolve()
        wiring.say_if_overtaken(latest, epoch, output)
    with wiring.listing(log, output) as shown:
        result = log.prune(keep, keep_every, epoch=epoch, dry_run=is_dry, progress=shown.say)
    say_held(result, output, "would be" if is_dry else "was")
    say_skipped(result, output, "would leave" if is_dry else "left")
    _answer(result, arguments, output)
    return exitcodes.FAILED if any(folder.failed for folder in result.skipped) else exitcodes.OK


def say_held(result: PruneResult, output: Output, was: str = "was") -> None:
    """A line when a claim kept a prune from removing anything."""
    if result.held is not None:
        fields = {"event": "held", "reason": result.held}
        output.say(f"nothing {was} removed: {result.held}", fields=fields)


def say_skipped(result: PruneResult, output: Output, left: str = "left") -> None:
    """A line for each folder that a prune left in place, and why."""
    for folder in result.skipped:
        level = "error" if folder.failed else "info"
        message = f"{left} {folder.location}: {folder.reason}"
        fields = {"event": "left", "folder": json_text(folder.location), "reason": folder.reason}
        output.say(message, level, fields)


def _answer(result: PruneResult, arguments: Arguments, output: Output) -> None:
    if output.is_json:
        output.document(
            {
                "dry_run": arguments.has("dry-run"),
                "held": result.held,
                "entries": [entry.name() for entry in result.entries],
                "folders": [json_text(location) for location in result.folders],
                "skipped": [
                    {"folder": json_text(s.location), "reason": s.reason, "failed": s.failed}
                    for s in result.skipped
                ],
            }
        )
    elif arguments.has("v") or arguments.has("dry-run"):
        lines = [f"entry {entry.name()}\n" for entry in result.entries]
        lines += [f"folder {location}\n" for location in result.folders]
        output.answer(raw("".join(lines)))
