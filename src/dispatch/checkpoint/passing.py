"""Saves that were passed over, and telling of each once, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

TOLD_AFTER_S = 600.0  # no save that we know of takes as long from its first file to its last


@dataclass(slots=True)
class _Waiting:
    """Why a save isn't published, since when that is so, and whether it was told."""

    reason: str
    since: float
    is_told: bool = False


@dataclass(slots=True)
class PassedOver:
    """The saves that are there and not published.

    Attributes:
        tell: Called once for each, with its name and the reason.
    """

    tell: Callable[[bytes, str], None]
    _waiting: dict[bytes, _Waiting] = field(default_factory=dict)

    def note(self, name: bytes, reason: str, now: float) -> None:
        """A save was passed over, at a moment in seconds from some fixed one."""
        waiting = self._waiting.get(name)
        if waiting is None:
            waiting = self._waiting[name] = _Waiting(reason, now)
        elif waiting.reason != reason:
            waiting.reason, waiting.since = reason, now
        if now - waiting.since >= TOLD_AFTER_S:
            self._tell(name, waiting)

    def forget(self, name: bytes) -> None:
        """A save was published after all."""
        self._waiting.pop(name, None)

    def forget_all_but(self, names: Container[bytes]) -> None:
        """Let go of those that are no longer there."""
        self._waiting = {name: w for name, w in self._waiting.items() if name in names}

    def tell_all(self) -> None:
        """Tell of those that were not told of yet."""
        for name in sorted(self._waiting):
            self._tell(name, self._waiting[name])

    def _tell(self, name: bytes, waiting: _Waiting) -> None:
        if not waiting.is_told:
            waiting.is_told = True
            self.tell(name, waiting.reason)
