"""A watcher's scan against the listing of the folder, and against the same work done bare."""

import json
import os
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks import operations
from benchmarks.data import fill_with_saves
from benchmarks.machine import file_system
from benchmarks.measuring import Comparison, peak_memory
from benchmarks.publishing import Bare
from dispatch.checkpoint import Framework, Watcher, open_store

ATTEMPT = "exec/1.4101.0"
MARKER, MARK_OF_PARTIAL = "trainer_state.json", "checkpoint-is-incomplete.txt"
READ_SIZE = 1 << 20


def publish_bare(root: Path, bare: Bare, epoch: int) -> None:
    """Do what a first scan must: read each save's marker, list the save, and create its entry."""
    for name in os.listdir(root / ATTEMPT):  # noqa: PTH208 - bare
        save = f"{root}/{ATTEMPT}/{name}"
        handle = os.open(f"{save}/{MARKER}", os.O_RDONLY)
        json.loads(os.read(handle, READ_SIZE))
        os.close(handle)
        if MARK_OF_PARTIAL not in os.listdir(save):  # noqa: PTH208 - bare
            bare.create(f"{epoch:020d}-{name:0>80}")


def comparisons(root: Path, size: int) -> Iterator[Comparison]:
    """Yield scans of so many saves: all new, and all published."""
    fill_with_saves(root / ATTEMPT, size)
    log, bare, on = open_store(root), Bare(root), file_system(root)
    peaks = (
        peak_memory("scan_twice", str(root), ATTEMPT, "1"),
        peak_memory("names_of", f"{root}/{ATTEMPT}"),
    )
    ours, theirs = count(2), count(2)
    watchers: list[Watcher] = []

    def scan_new() -> object:
        # Under another epoch every save is a new one.
        watchers[:] = [Watcher(log, Framework.hf, ATTEMPT, next(ours))]
        return watchers[0].scan()

    yield Comparison(
        what="scan, all new",
        size=size,
        against="os.listdir; for each: read and decode, list, create, fsync of both folders",
        measured=scan_new,
        bare=lambda: publish_bare(root, bare, next(theirs)),
        is_warm=True,
        file_system=on,
        peaks=peaks,
    )
    yield Comparison(
        what="scan, all published",
        size=size,
        against="os.listdir",
        measured=watchers[0].scan,
        bare=partial(operations.names_of, f"{root}/{ATTEMPT}"),
        file_system=on,
        peaks=peaks,
    )
    log.close()
    bare.close()
