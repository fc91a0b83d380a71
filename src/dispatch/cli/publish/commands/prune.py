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
        result = log.prune(keep, keep_every, dry_run=is_dry, progress=shown.say)
    for folder in result.skipped:
        left = "would leave" if is_dry else "left"
        level = "error" if folder.failed else "info"
        message = f"{left} {folder.location}: {folder.reason}"
        fields = {"event": "left", "folder": json_text(folder.location), "reason": folder.reason}
        output.say(message, level, fields)
    _answer(result, arguments, output)
    return exitcodes.FAILED if any(folder.failed for folder in result.skipped) else exitcodes.OK


def _answer(result: PruneResult, arguments: Arguments, output: Output) -> None:
    if output.is_json:
        output.document(
            {
                "dry_run": arguments.has("dry-run"),
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
