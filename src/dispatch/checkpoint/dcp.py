"""When a save of PyTorch DCP is complete (``dcp``).

DCP itself renames the metadata into place after all shards are down; who copies a save, or writes
its files in another order, doesn't.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dispatch.checkpoint.look import Verdict, name_some, why_not_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch.checkpoint.look import Look

_METADATA = b".metadata"
_FIRST_RANKS = b"__0.metadata"  # where each rank writes its own: use_collectives=False
MARKERS = (_METADATA, _FIRST_RANKS)

_OF_A_RANK = re.compile(rb"__(\d+)\.metadata")
_SHARD = re.compile(rb"__(\d+)_\d+\.distcp")
# A name as a pickle holds it, of protocol 2 or later: an opcode, its length in 1 or 4 bytes.
_PICKLED_SHARD = re.compile(rb"(?:\x8c(.)|X(.)\x00\x00\x00)(__\d+_\d+\.distcp)", re.DOTALL)
_PICKLE_BEGINS, _PICKLE_ENDS = b"\x80", b"."


def judge(look: Look) -> Verdict:
    """The rule of ``dcp``. The save is listed after its metadata was read.

    Whose save it is can't be told, so any may still grow.
    """
    content = look.read(_METADATA)
    files = set(look.contents().files())
    if _METADATA not in files:
        return Verdict(_why_not_by_rank(look, files), may_grow=True)
    if content is None:
        content = look.read(_METADATA)  # it came after the first try
    # What is too large to be read counts by being there.
    missing = "" if content is None else _why_not(content, _METADATA, files)
    return Verdict(missing, may_grow=True)


def shards_in(metadata: bytes) -> set[bytes]:
    """The shards that a pickled metadata names. It is searched and never unpickled.

    A tensor whose name is exactly a shard's would be taken for one.
    """
    return {
        match[3]
        for match in _PICKLED_SHARD.finditer(metadata)
        if (match[1] or match[2])[0] == len(match[3])
    }


def _why_not_by_rank(look: Look, files: set[bytes]) -> str:
    metadata = _numbers(_OF_A_RANK, files)
    if not metadata:
        return "has no .metadata"
    ranks_with_shards = max(_numbers(_SHARD, files), default=0) + 1
    why = why_not_ranks("metadata", metadata, look.ranks, ranks_with_shards)
    if why:
        return why
    for rank in sorted(metadata):
        name = b"__%d.metadata" % rank
        why = _why_not(look.read(name) or b"", name, files)
        if why:
            return why
    return ""


def _why_not(content: bytes, name: bytes, files: set[bytes]) -> str:
    is_pickle = content.startswith(_PICKLE_BEGINS)
    if not content or (is_pickle and not content.endswith(_PICKLE_ENDS)):
        return f"has a {name.decode()} that is not whole"
    absent = shards_in(content) - files if is_pickle else set()
    return f"lacks {name_some(absent)}, which {name.decode()} names" if absent else ""


def _numbers(pattern: re.Pattern[bytes], files: Iterable[bytes]) -> set[int]:
    return {int(match[1]) for match in map(pattern.fullmatch, files) if match}
