"""Which publications a prune keeps, and which folders it may take: pure functions (format §7)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dispatch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dispatch.checkpoint.entry import Entry

EXEC, PUB, RUNS, FATES = b"exec", b"pub", b"runs", b"fates"


def kept(entries: Sequence[Entry], keep: int, keep_every: int | None = None) -> set[Entry]:
    """The publications that stay.

    Args:
        entries: All publications, ascending.
        keep: How many of the latest stay, at least 1: so the latest always stays.
        keep_every: Also, for each step that this number (at least 1) divides, the entry of the
            greatest epoch (and of the greatest path, where two have that epoch).

    Raises:
        InvalidInputError: A number is below 1.
    """
    for what, value in (("keep", keep), ("keep-every", keep_every)):
        if value is not None and value < 1:
            message = f"{what} {value} is below 1"
            raise InvalidInputError(message, hint="The latest publication is always kept.")
    stay = set(entries[-keep:])
    if keep_every is not None:
        stay.update({e.step: e for e in entries if e.step % keep_every == 0}.values())
    return stay


class Named:
    """The paths that publications name, asked whether a folder has to do with any of them."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._paths = {entry.path for entry in entries}
        self._above = {above for path in self._paths for above in _ancestors(path)}

    def overlaps(self, save: bytes) -> bool:
        """Whether a publication names ``save``, a path inside it, or a path that contains it."""
        return (
            save in self._paths
            or save in self._above
            or any(above in self._paths for above in _ancestors(save))
        )


def overlaps(save: str | bytes, entries: Iterable[Entry]) -> bool:
    """Whether any of ``entries`` names ``save``, a path inside it, or a path that contains it."""
    return Named(entries).overlaps(os.fsencode(save))


def is_protected(save: bytes) -> bool:
    """Whether no prune may remove ``save``, whatever names it.

    That is so for the root's own folders, and for anything in ``runs/`` and ``fates/``.
    """
    return save in {EXEC, PUB, RUNS, FATES} or save.startswith((RUNS + b"/", FATES + b"/"))


def parent(path: bytes) -> bytes:
    """The folder that holds ``path``; empty for the root."""
    return path.rpartition(b"/")[0]


def _ancestors(path: bytes) -> Iterable[bytes]:
    above = parent(path)
    while above:
        yield above
        above = parent(above)
