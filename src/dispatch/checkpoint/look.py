"""One look at one save, which is all that a framework's rule is given, and what it answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch.model.contents import Contents
    from dispatch.ports.store import SavesStore

# A Trainer that logged a million steps writes about 100 MB, and the metadata of the largest DCP
# saves that we know of has no more; what is larger is not read.
FILE_BYTES_MAX = 256 * 1024 * 1024
_SHOWN = 3  # names in one reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says of a save.

    Attributes:
        missing: What it lacks to be complete, as a clause after "the save"; empty when it is
            complete as far as it shows.
        may_grow: Whether processes may still write to it that the one which wrote the marker
            did not wait for. Then it counts only once it has looked the same for a while.
    """

    missing: str = ""
    may_grow: bool = False


class Look:
    """One look at one save. Nothing is asked of the store before a rule wants to know it.

    Attributes:
        step: The step that the save has to be of.
        ranks: How many processes save; None: as the save shows.
    """

    __slots__ = ("_contents", "_save", "_store", "ranks", "step")

    def __init__(self, store: SavesStore, save: bytes, step: int, ranks: int | None = None) -> None:
        self._store = store
        self._save = save
        self._contents: Contents | None = None
        self.step = step
        self.ranks = ranks

    def read(self, file: bytes) -> bytes | None:
        """What ``file`` holds; None when it is no regular file, or too large to be read."""
        try:
            return self._store.read(self._save, file, FILE_BYTES_MAX)
        except MemoryError:
            return None  # for this process it is too large

    def contents(self) -> Contents:
        """Everything in the save, from one listing: made at the first call, then the same."""
        if self._contents is None:
            self._contents = self._store.contents(self._save)
        return self._contents


def name_some(paths: Iterable[bytes]) -> str:
    """The first of some paths, for a reason."""
    ordered = sorted(paths)
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(map(os.fsdecode, ordered[:_SHOWN])) + more


def why_not_ranks(what: str, found: set[int], ranks: int | None, least: int) -> str:
    """What is wrong with the ranks that left ``what`` in a save, as a clause; empty: nothing is.

    Args:
        what: For the clause.
        found: Their numbers.
        ranks: How many there have to be; None: all below the greatest, and ``least`` at least.
        least: See ``ranks``.
    """
    # Counted upwards, since a hostile name can hold a number of two hundred digits.
    absent = next(rank for rank in range(len(found) + 1) if rank not in found)
    beyond = [] if ranks is None else [rank for rank in found if rank >= ranks]
    if absent < (ranks or max(least, *found, 0)):
        return f"has no {what} of rank {absent}"
    return f"has a {what} of rank {min(beyond)}, of {ranks} ranks" if beyond else ""
