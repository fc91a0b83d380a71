"""When a framework's save is complete: one small rule each, read-only, inside the save (format §9).

A rule asks for what the save itself shows to be part of it, so that no legitimate save waits for
ever. What is absent, empty, cut short, being written or for another step means "not yet". Only a
failure to look (permission, I/O) is an error. docs/design/0012 says what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dispatch.checkpoint import dcp, trainer
from dispatch.checkpoint.look import Look, Verdict
from dispatch.errors import InvalidInputError
from dispatch.model.number import parse_uint64

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.ports.store import SavesStore

_STEP_DIGITS_MAX = 20  # of 2^64-1


@dataclass(frozen=True, slots=True)
class Framework:
    """How one framework lays out its saves, and when one is complete.

    Attributes:
        name: As the command line spells it.
        prefix: A save is a folder called this and the step in decimal digits, nothing else,
            directly in the execution's folder.
        judge: The rule: what one look at a save says. Raises what the store raises when looking
            fails.
        markers: The files in a save without all of which the rule never holds. Where a save can't
            be renamed, they are deleted before anything else of it.
    """

    name: str
    prefix: bytes
    judge: Callable[[Look], Verdict]
    markers: tuple[bytes, ...] = ()

    hf: ClassVar[Framework]
    dcp: ClassVar[Framework]

    def step_of(self, folder: bytes) -> int | None:
        """The step that a folder's name stands for; None when it is not a save's name."""
        if not folder.startswith(self.prefix):
            return None
        return parse_uint64(folder[len(self.prefix) :].decode("ascii", "replace"))

    def missing(
        self, store: SavesStore, save: bytes, step: int, ranks: int | None = None
    ) -> str | None:
        """What the save at a path lacks to be complete, as a clause; None when it is complete.

        Args:
            store: Where it is.
            save: Its path relative to the root.
            step: The step that it has to be of.
            ranks: How many processes save; None: as the save shows.
        """
        return self.judge(Look(store, save, step, ranks)).missing or None

    def room_for_steps(self, saves: bytes, path_bytes_max: int) -> int:
        """How many digits (0 to 20) the step of a save in ``saves`` may have.

        With one more its path would be longer than ``path_bytes_max``.
        """
        room = path_bytes_max - len(saves) - len(b"/" + self.prefix)
        return max(0, min(room, _STEP_DIGITS_MAX))


Framework.hf = Framework("hf", b"checkpoint-", trainer.judge, trainer.MARKERS)
Framework.dcp = Framework("dcp", b"step-", dcp.judge, dcp.MARKERS)
FRAMEWORKS = (Framework.hf, Framework.dcp)


def parse_framework(text: str) -> Framework:
    """The framework called ``text``.

    Raises:
        InvalidInputError: There is none; the message names those that are.
    """
    for framework in FRAMEWORKS:
        if framework.name == text:
            return framework
    names = ", ".join(framework.name for framework in FRAMEWORKS)
    message = f"framework {text!r} is not one of: {names}"
    raise InvalidInputError(message)
