"""``python -m benchmarks [SIZE ...]``: measure, print, and write the page."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from benchmarks import bucket, listing, publishing, scanning, starting
from benchmarks.machine import describe, file_system
from benchmarks.measuring import Comparison, Effort, Result, compare
from benchmarks.report import Section, line_of, page

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "performance.md"
SIZES = ("1k", "100k", "1M")
FACTORS = {"k": 10**3, "M": 10**6}
SAVES_MAX = 100_000
"""Saves present at once: a run that keeps more has other worries."""

MEMORY = Path("/dev/shm")
"""Where Linux has a tmpfs, which shows what is ours when nothing waits for a disk."""

START = """\
From the start of a process to its end, with one publication. `python` is the same interpreter in
each row, in a virtual environment that holds nothing else."""

PUBLISH = """\
One publication. The bare calls have both folders open already; `publish` also opens `pub/` and
looks at the save before and after."""

READ = """\
Every name is checked whole, path included. A folder that changed less than two seconds ago is
listed until two listings agree, so twice the bare time is the least there. The plan of the prune
removes all but three, and looks for each save that it would delete; here none of them exists."""

SCAN = """\
One scan of a watcher over so many Trainer saves; when all are new, it publishes each."""

ON_S3 = """\
The requests go over plain http to a Ceph gateway on the same machine, whose objects are in memory:
over a network each takes longer, and what is ours stays the same. The bare calls are botocore's,
with the same settings: one try each, and no checksums."""


def size_of(text: str) -> int:
    """Return the number that ``1000``, ``1k`` or ``1M`` is."""
    return int(text.rstrip("kM")) * FACTORS.get(text[-1:], 1)


@contextmanager
def temporary_root(parent: Path) -> Iterator[Path]:
    """Yield an empty folder in ``parent`` that is removed at the end, whatever is in it."""
    root = Path(tempfile.mkdtemp(prefix="dispatch-benchmark-", dir=parent))
    try:
        yield root
    finally:
        shutil.rmtree(root)


def measure(comparisons: Iterable[Comparison], effort: Effort) -> Iterator[Result]:
    """Yield what comes of each comparison, and print it."""
    for comparison in comparisons:
        result = compare(comparison, effort)
        print(line_of(result), flush=True)
        yield result


def sections(
    sizes: list[int], effort: Effort, disk: Path, memory: Path | None
) -> Iterator[Section]:
    """Yield the tables of the page, one after the other."""
    fast = memory or disk
    with temporary_root(disk) as root:
        yield Section("Start", START, list(measure(starting.comparisons(root), effort)))
    results: list[Result] = []
    for parent in filter(None, (disk, memory)):
        with temporary_root(parent) as root:
            results += measure(publishing.comparisons(root), effort)
    yield Section("Publish", PUBLISH, results)
    results = []
    for size in sizes:
        with temporary_root(disk) as root:
            results += measure(listing.comparisons(root, size), effort)
    yield Section("Read the log", READ, results)
    results = []
    for size in sizes:
        if size <= SAVES_MAX:
            with temporary_root(fast) as root:
                results += measure(scanning.comparisons(root, size), effort)
    yield Section("Watch", SCAN, results)
    yield on_s3(sizes, effort, disk)


def on_s3(sizes: list[int], effort: Effort, disk: Path) -> Section:
    """Return the table of roots on S3, or the reason why there is none."""
    if missing := bucket.missing():
        reason = f"Not measured here: not installed are {', '.join(missing)}."
        print(f"S3: {reason}")
        return Section("S3", ON_S3, [], f"{reason}\n")
    with temporary_root(disk) as folder, bucket.gateway(folder) as server:
        return Section("S3", ON_S3, list(measure(bucket.comparisons(server, sizes), effort)))


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    default = Effort()
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("sizes", nargs="*", type=size_of, help="of logs and folders: 1k 100k 1M")
    options.add_argument("--page", type=Path, default=PAGE, help="what to write")
    options.add_argument(
        "--disk", type=Path, default=Path(tempfile.gettempdir()), help="a folder on it"
    )
    options.add_argument("--rounds", type=int, default=default.rounds_max, help="at most")
    options.add_argument(
        "--seconds",
        type=float,
        default=default.seconds,
        help="for one comparison, unless its first rounds take longer",
    )
    return options


def main(arguments: list[str] | None = None) -> int:
    """Measure what the command line says."""
    options = parser().parse_args(arguments)
    sizes = sorted(options.sizes or map(size_of, SIZES))
    effort = Effort(rounds_max=options.rounds, seconds=options.seconds)
    memory = MEMORY if MEMORY.is_dir() and file_system(MEMORY) == "tmpfs" else None
    start = perf_counter()
    found = list(sections(sizes, effort, options.disk, memory))
    machine = [*describe(), f"{file_system(options.disk)} on its disk"]
    options.page.write_text(page(machine, found), encoding="utf-8")
    print(f"wrote {options.page.name} after {perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
