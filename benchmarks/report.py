"""The page that the numbers are written to."""

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.measuring import Result

UNITS_OF_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\N{MICRO SIGN}s"), (1e-9, "ns"))
MIB = 1 << 20

HEAD = """\
<!-- Written by `make bench`. Edits are lost. -->

# Performance

How much longer each thing takes than the least that the machine needs for it. Both are measured
in turn, in the same run. A time is the median of the rounds; a ratio is the median of the rounds'
own ratios, with their quartiles in parentheses. Memory is the peak of a process that does the
thing once, the interpreter included.

Measured on: {machine}.
"""

COLUMNS = ("", "n", "on", "time", "against", "its time", "ratio", "rounds", "memory", "its memory")


@dataclass(frozen=True)
class Section:
    """One table.

    Attributes:
        title: Its heading.
        note: What a reader must know.
        results: Its rows.
        left_out: Why there are none, where that is not for want of sizes.
    """

    title: str
    note: str
    results: list[Result]
    left_out: str = ""


def shown_seconds(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    for unit, name in UNITS_OF_TIME:
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.2f} ns"


def shown_ratio(result: Result) -> str:
    """Return a ratio and its spread."""
    low, middle, high = result.ratios()
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def line_of(result: Result) -> str:
    """Return one result for a terminal."""
    comparison = result.comparison
    size = f", {comparison.size:,}" if comparison.size > 1 else ""
    time, bare = (shown_seconds(seconds) for seconds in result.medians())
    return (
        f"{comparison.what}{size}, {comparison.file_system}: {time} against {bare}, "
        f"ratio {shown_ratio(result)}"
    )


def page(machine: Iterable[str], sections: Iterable[Section]) -> str:
    """Return the whole page in Markdown."""
    parts = [HEAD.format(machine="; ".join(machine))]
    parts += [
        f"## {section.title}\n\n{section.note}\n\n{section.left_out or _table(section.results)}"
        for section in sections
        if section.results or section.left_out
    ]
    return "\n".join(parts)


def _table(results: Iterable[Result]) -> str:
    rows = [_row(result) for result in results]
    # A column that no row has anything in is left out.
    columns = [
        number for number, title in enumerate(COLUMNS) if not title or any(r[number] for r in rows)
    ]
    lines = [[COLUMNS[number] for number in columns], ["---"] * len(columns)]
    lines += [[row[number] for number in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(result: Result) -> list[str]:
    comparison = result.comparison
    time, bare = (shown_seconds(seconds) for seconds in result.medians())
    memory, bare_memory = (f"{peak / MIB:.0f} MiB" if peak else "" for peak in comparison.peaks)
    return [
        comparison.what,
        f"{comparison.size:,}" if comparison.size else "",
        comparison.file_system,
        time,
        comparison.against,
        bare,
        shown_ratio(result),
        str(len(result.measured)),
        memory,
        bare_memory,
    ]
