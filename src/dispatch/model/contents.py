"""What is in a save at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Contents:
    """Every name in a save, as one look found it.

    Attributes:
        states: Each name, its path relative to the save, with the state of the file: a value
            that stays equal unless the file changes (size and stamps), and None for whatever is
            no regular file: a folder, a pipe, a link to nothing.
        unchanged_s: For how many seconds at least nothing of it has changed, where the clock that
            gave the stamps is the one that tells the time; None where two clocks would have to be
            compared.
    """

    states: Mapping[bytes, object | None]
    unchanged_s: float | None = None

    def files(self) -> list[bytes]:
        """The paths of the regular files, in no particular order."""
        return [path for path, state in self.states.items() if state is not None]
