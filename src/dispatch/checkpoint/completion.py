"""When a framework's save is complete: one small rule each, read-only, inside the save (format §9).

A marker that is absent, empty, cut short, being written or for another step means "not yet".
Only a failure to look (permission, I/O) is an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dispatch.errors import InvalidInputError
from dispatch.model.number import parse_uint64

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.ports.store import SavesStore

# A Trainer that logged a million steps writes about 100 MB; what is larger is no marker.
MARKER_BYTES_MAX = 256 * 1024 * 1024
_STEP_DIGITS_MAX = 20  # of 2^64-1
_HF_STATE = b"trainer_state.json"
_DCP_METADATA = b".metadata"


@dataclass(frozen=True, slots=True)
class Framework:
    """How one framework lays out its saves, and when one is complete.

    Attributes:
        name: As the command line spells it.
        prefix: A save is a folder called this and the step in decimal digits, nothing else,
            directly in the execution's folder.
        is_complete: The rule: whether the save at a path is complete for a step. Raises what the
            store raises when looking fails.
        markers: The files in a save without which the rule never holds. Where a save can't be
            renamed, they are deleted before anything else of it.
    """

    name: str
    prefix: bytes
    is_complete: Callable[[SavesStore, bytes, int], bool]
    markers: tuple[bytes, ...] = ()

    hf: ClassVar[Framework]
    dcp: ClassVar[Framework]

    def step_of(self, folder: bytes) -> int | None:
        """The step that a folder's name stands for; None when it is not a save's name."""
        if not folder.startswith(self.prefix):
            return None
        return parse_uint64(folder[len(self.prefix) :].decode("ascii", "replace"))

    def room_for_steps(self, saves: bytes, path_bytes_max: int) -> int:
        """How many digits (0 to 20) the step of a save in ``saves`` may have.

        With one more its path would be longer than ``path_bytes_max``.
        """
        room = path_bytes_max - len(saves) - len(b"/" + self.prefix)
        return max(0, min(room, _STEP_DIGITS_MAX))


def _hf_is_complete(store: SavesStore, save: bytes, step: int) -> bool:
    """Trainer writes ``trainer_state.json`` last and in place, so a reader can see it partial.

    The incomplete-mark is looked for after the state: looked for before, a rewrite that begins
    between the two looks would pass.
    """
    try:
        content = store.read(save, _HF_STATE, MARKER_BYTES_MAX)
        if content is None or _global_step(content) != step:
            return False
    except MemoryError:
        return False  # it does not decode within this process's limits
    return not store.has_name(save, b"checkpoint-is-incomplete.txt")


def _global_step(content: bytes) -> int | None:
    """``global_step`` of a trainer state as Trainer itself would read it; None of anything else.

    Python's own limits are Trainer's too: what nests too deep or holds an integer of thousands
    of digits could not be resumed from.
    """
    try:
        state = json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    value = state.get("global_step") if isinstance(state, dict) else None
    return value if type(value) is int else None


def _dcp_is_complete(store: SavesStore, save: bytes, _step: int) -> bool:
    """DCP renames ``.metadata`` into place last, after every rank's shards."""
    return store.has_file(save, _DCP_METADATA)


Framework.hf = Framework("hf", b"checkpoint-", _hf_is_complete, (_HF_STATE,))
Framework.dcp = Framework("dcp", b"step-", _dcp_is_complete, (_DCP_METADATA,))
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
