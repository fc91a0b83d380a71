"""`publish log`: the publications, for people."""

from __future__ import annotations

import time

from dispatch.checkpoint.listing import PUB
from dispatch.cli import exitcodes
from dispatch.cli.publish import wiring
from dispatch.cli.publish.output import raw
from dispatch.errors import InvalidInputError
from dispatch.model.epoch import Epoch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.checkpoint.entry import Entry
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_TWO = 2  # an age is shown in the next larger unit from two of it on


def run(arguments: Arguments, output: Output) -> int:
    """Print one line for each publication, newest first."""
    log = wiring.open_log(arguments)
    with wiring.listing(log, output) as shown:
        entries = log.entries()
        entries.reverse()
        shown.say(f"looking at the age of {len(entries)} publications")
        names = [entry.name() for entry in entries]
        found = log.store.written(PUB, names)
        ages = [found.get(name) for name in names]
    marks = [_mark(entry, entries[0]) for entry in entries]
    if output.is_json:
        output.document(
            [
                {
                    **wiring.document_of(log, entry),
                    "written": written,
                    "latest": mark == "latest",
                    "outranked": mark == "outranked",
                }
                for entry, written, mark in zip(entries, ages, marks, strict=True)
            ]
        )
    else:
        now = time.time()
        rows = [
            (_epoch(e), str(e.step), _show_age(written, now), mark, e.save)
            for e, written, mark in zip(entries, ages, marks, strict=True)
        ]
        output.answer(raw(_table(rows)))
    return exitcodes.OK


def _mark(entry: Entry, latest: Entry) -> str:
    if entry == latest:
        return "latest"
    return "outranked" if entry.step > latest.step else ""


def _epoch(entry: Entry) -> str:
    try:
        return str(Epoch.parse(entry.epoch))
    except InvalidInputError:
        return str(entry.epoch)  # made by hand: no submission has this epoch


def _show_age(written: float | None, now: float) -> str:
    if written is None:
        return "gone"
    age = max(0.0, now - written)
    for unit, seconds in (("d", _DAY), ("h", _HOUR), ("m", _MINUTE)):
        if age >= _TWO * seconds:
            return f"{age / seconds:.0f}{unit}"
    return f"{age:.0f}s"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        path = row[-1].replace("\n", "\\n")
        lines.append("  ".join([*cells, path]) + "\n")
    return "".join(lines)
