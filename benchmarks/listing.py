"""`Log.resolve`, `Log.entries` and the plan of a prune against the listing of the folder."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks import operations
from benchmarks.data import fill_with_entries
from benchmarks.machine import file_system
from benchmarks.measuring import Comparison, peak_memory
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.checkpoint import open_store

QUIET_NS = 2_100_000_000
"""Since its last change, after which a folder counts as quiet (two seconds), and a little."""


def passes(root: Path) -> str:
    """Say how many listings it takes to trust one, now."""
    listdir = patch.object(OsFilesystem, "listdir", autospec=True, side_effect=OsFilesystem.listdir)
    with listdir as listings, open_store(root) as log:
        log.resolve()
    return "one pass" if listings.call_count == 1 else f"{listings.call_count} passes"


def wait_until_quiet(folder: Path) -> None:
    """Wait until the folder's last change is long ago."""
    status = folder.stat()
    age_ns = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    time.sleep(max(0, QUIET_NS - age_ns) / 1e9)


def comparisons(root: Path, size: int) -> Iterator[Comparison]:
    """Yield each way of reading a folder of so many publications."""
    pub = root / operations.PUB
    fill_with_entries(pub, size)
    on, shown = file_system(root), str(root)
    quiet, changed = partial(wait_until_quiet, pub), partial(os.utime, pub)
    bare, against = partial(operations.greatest_name, shown), "os.listdir and max"
    bare_peak = peak_memory("greatest_name", shown)
    for state, prepare in (("quiet", quiet), ("just changed", changed)):
        prepare()
        peaks = peak_memory("resolve", shown), bare_peak
        prepare()
        yield Comparison(
            what=f"resolve, folder {state} ({passes(root)})",
            size=size,
            against=against,
            measured=partial(operations.resolve, shown),
            bare=bare,
            prepare=prepare,
            rounds_min=7,
            file_system=on,
            peaks=peaks,
        )
    quiet()
    bare, against = partial(operations.sorted_names, shown), "os.listdir and sort"
    bare_peak = peak_memory("sorted_names", shown)
    for what, operation in (
        ("all entries", operations.entries),
        ("plan of a prune that keeps 3", operations.plan),
    ):
        yield Comparison(
            what=what,
            size=size,
            against=against,
            measured=partial(operation, shown),
            bare=bare,
            prepare=quiet,
            is_warm=operation is operations.plan,
            file_system=on,
            peaks=(peak_memory(operation.__name__, shown), bare_peak),
        )
