"""Saves that nobody published: which are complete, and have settled, by the rules of a watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.checkpoint.look import Look
from dispatch.checkpoint.settling import settle_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.completion import Framework
    from dispatch.checkpoint.entry import Entry
    from dispatch.ports.store import SavesStore


def _at_once(_: float) -> None:
    """Nobody waits."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A complete save, as one look found it.

    Attributes:
        states: What is in it; None where that says nothing.
        settles_in: For how many seconds it has to look the same still.
    """

    states: object
    settles_in: float


@dataclass(frozen=True, slots=True)
class Saves:
    """What the saves of a job look like, for finding those that nobody published.

    Attributes:
        framework: Who writes them.
        inside: Where in an execution's folder they are; empty for directly in it.
        ranks: How many processes save; None: as each save shows.
        settle: For how many seconds one has to look the same; None: as it shows.
        sleep: Waits that long.
    """

    framework: Framework
    inside: bytes = b""
    ranks: int | None = None
    settle: float | None = None
    sleep: Callable[[float], None] = _at_once

    def look(self, store: SavesStore, entry: Entry) -> Seen | None:
        """Look at the save of ``entry``; None when it is not complete."""
        look = Look(store, entry.path, entry.step, self.ranks)
        verdict = self.framework.judge(look)
        if verdict.missing:
            return None
        settle = settle_s(self.settle, verdict)
        if not settle:
            return Seen(None, 0.0)
        contents = look.contents()
        return Seen(contents.states, max(0.0, settle - (contents.unchanged_s or 0.0)))

    def whole(self, store: SavesStore, lost: list[Entry]) -> list[Entry]:
        """Those of ``lost`` that are complete and have settled."""
        seen = {entry: found for entry in lost if (found := self.look(store, entry))}
        wait = max((found.settles_in for found in seen.values()), default=0.0)
        if not wait:
            return list(seen)
        self.sleep(wait)
        return [
            entry
            for entry, found in seen.items()
            if not found.settles_in
            or ((again := self.look(store, entry)) and again.states == found.states)
        ]
