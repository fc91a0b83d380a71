"""The publication log: how saves become visible, and which is the latest.

The names below are the public API; each is loaded when it is first used, so that a program pays
for what it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.checkpoint.choosing import Choice as Choice
    from dispatch.checkpoint.completion import FRAMEWORKS as FRAMEWORKS
    from dispatch.checkpoint.completion import Framework as Framework
    from dispatch.checkpoint.completion import parse_framework as parse_framework
    from dispatch.checkpoint.entry import Entry as Entry
    from dispatch.checkpoint.entry import latest as latest
    from dispatch.checkpoint.entry import parse_entry_name as parse_entry_name
    from dispatch.checkpoint.entry import parse_epoch as parse_epoch
    from dispatch.checkpoint.entry import parse_step as parse_step
    from dispatch.checkpoint.entry import valid_save as valid_save
    from dispatch.checkpoint.log import Log as Log
    from dispatch.checkpoint.look import Look as Look
    from dispatch.checkpoint.look import Verdict as Verdict
    from dispatch.checkpoint.opening import open_store as open_store
    from dispatch.checkpoint.prune import PruneResult as PruneResult
    from dispatch.checkpoint.prune import SkippedFolder as SkippedFolder
    from dispatch.checkpoint.retention import overlaps as overlaps
    from dispatch.checkpoint.watch import Watcher as Watcher

_HOMES = {
    "Choice": "choosing",
    "FRAMEWORKS": "completion",
    "Framework": "completion",
    "parse_framework": "completion",
    "Entry": "entry",
    "latest": "entry",
    "parse_entry_name": "entry",
    "parse_epoch": "entry",
    "parse_step": "entry",
    "valid_save": "entry",
    "Log": "log",
    "Look": "look",
    "Verdict": "look",
    "open_store": "opening",
    "PruneResult": "prune",
    "SkippedFolder": "prune",
    "overlaps": "retention",
    "Watcher": "watch",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 - one list, not two to keep equal


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
