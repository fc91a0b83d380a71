"""When a save of Hugging Face's Trainer is complete (``hf``).

`trainer_state.json` is written last by rank 0 and in place, without waiting for the other ranks.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from dispatch.checkpoint.look import Verdict, name_some, why_not_ranks

if TYPE_CHECKING:
    from dispatch.checkpoint.look import Look

_STATE = b"trainer_state.json"
_UNFINISHED = b"checkpoint-is-incomplete.txt"
MARKERS = (_STATE,)

# What weights are kept in, by any trainer that builds on this one; adapters have folders.
_WEIGHTS = re.compile(rb"\.(?:safetensors|bin|pt|pth|ckpt|h5|msgpack|npz|gguf|distcp)$")
_OPTIMIZER = re.compile(rb"optimizer|optim_states|^global_step")  # the last is DeepSpeed's folder
_NO_WEIGHTS = re.compile(
    rb"optimizer|optim_states|(?:^|/)(?:training_args|scheduler|scaler|rng_state)[^/]*$"
)
_SHARD = re.compile(rb"-\d+-of-\d+\.[a-z]+$")  # of no use without the index that names it
_INDEX = re.compile(rb"\.(?:safetensors|bin|h5|msgpack)\.index\.json$")
_SCHEDULER = b"scheduler.pt"
_RANDOM = re.compile(rb"rng_state_(\d+)\.pth")
_ONE_RANDOM = b"rng_state.pth"


def judge(look: Look) -> Verdict:
    """The rule of ``hf``. The save is listed after the state was read.

    So a rewrite that begins in between is seen by the mark that it sets first.
    """
    content = look.read(_STATE)
    if content is None:
        return Verdict("has no trainer_state.json")
    step = global_step(content)
    if step is None:
        return Verdict("has a trainer_state.json that is not whole")
    if step != look.step:
        return Verdict(f"has a trainer_state.json of step {step}")
    names = look.contents().states.keys()
    if _UNFINISHED in names:
        return Verdict(f"holds {_UNFINISHED.decode()}")
    files = set(look.contents().files())
    missing = _why_not_weights(look, files) or _why_not_training_state(files, look.ranks)
    return Verdict(missing, may_grow=any(map(_RANDOM.fullmatch, files)))


def global_step(content: bytes) -> int | None:
    """``global_step`` of a trainer state as Trainer itself would read it; None of anything else.

    Python's own limits are Trainer's too: what nests too deep or holds an integer of thousands
    of digits could not be resumed from.
    """
    state = _object(content)
    value = state.get("global_step")
    return value if type(value) is int else None


def _object(content: bytes) -> dict[str, object]:
    """The JSON object that ``content`` is; an empty one for anything else."""
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError, MemoryError):
        return {}
    return value if isinstance(value, dict) else {}


def _why_not_weights(look: Look, files: set[bytes]) -> str:
    indexes = sorted(filter(_INDEX.search, files))
    for index in indexes:
        named = _object(look.read(index) or b"").get("weight_map")
        if not isinstance(named, dict):
            return f"has a {os.fsdecode(index)} that is not whole"
        folder = index[: index.rfind(b"/") + 1]
        absent = {folder + str(name).encode(errors="replace") for name in named.values()} - files
        if absent:
            return f"lacks {name_some(absent)}, which {os.fsdecode(index)} names"
    weights = {path for path in filter(_WEIGHTS.search, files) if not _NO_WEIGHTS.search(path)}
    if not indexes and not any(not _SHARD.search(path) for path in weights):
        return "holds no weights"
    sharded = {_folder(path) for path in files if path.endswith(b".distcp")}
    whole = {_folder(path) for path in files if path.endswith(b".metadata")}
    return f"has no .metadata in {name_some(sharded - whole)}" if sharded - whole else ""


def _folder(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _why_not_training_state(files: set[bytes], ranks: int | None) -> str:
    """What is missing of optimizer and random states. ``save_only_model`` has neither."""
    found = {int(match[1]) for match in map(_RANDOM.fullmatch, files) if match}
    has_one, has_optimizer = _ONE_RANDOM in files, any(map(_OPTIMIZER.search, files))
    if not (found or has_one or has_optimizer or _SCHEDULER in files):
        return ""
    if not has_optimizer:
        return "has a random state or a scheduler, and no optimizer"
    if ranks == 1:
        return "" if has_one else "has no rng_state.pth"
    if not found and ranks is None:
        return ""
    return why_not_ranks("random state", found, ranks, 2)  # one process names its file otherwise
