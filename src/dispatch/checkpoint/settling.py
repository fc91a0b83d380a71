"""Which saves have looked the same for long enough; by whose clock, the caller says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from dispatch.checkpoint.look import Verdict
    from dispatch.model.contents import Contents

SETTLE_S = 5.0  # eight times what a rank was measured to be late by: docs/design/0012


def settle_s(asked: float | None, verdict: Verdict) -> float:
    """For how many seconds a complete save has to look the same: as asked for, or as it shows."""
    if asked is not None:
        return asked
    return SETTLE_S if verdict.may_grow else 0.0


@dataclass(slots=True)
class Settling:
    """What was seen of each save, and since when it has been the same."""

    _seen: dict[bytes, tuple[Contents, float]] = field(default_factory=dict)

    def left_s(
        self, save: bytes, contents: Contents, settle: float, *, began: float, ended: float
    ) -> float:
        """For how many seconds more a save has to look as it does now; 0: it has settled.

        Args:
            save: Which.
            contents: What a look has found in it.
            settle: For how many seconds it has to look the same in all.
            began: When that look began, in seconds from some fixed moment.
            ended: When it ended: what it found may be as old as the one, or as young as the other.
        """
        before, since = self._seen.get(save, (None, ended))
        if before is None or before.states != contents.states:
            since = ended
            self._seen[save] = contents, since
        return max(0.0, settle - max(began - since, contents.unchanged_s or 0.0))

    def forget_all_but(self, saves: Container[bytes]) -> None:
        """Let go of what is no longer waited for."""
        self._seen = {save: seen for save, seen in self._seen.items() if save in saves}
