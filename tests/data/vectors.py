"""The vectors of the format, which every implementation of it has to pass (entry-names.json)."""

import json
from pathlib import Path
from typing import NamedTuple

_VECTORS = json.loads(Path(__file__).with_name("entry-names.json").read_text(encoding="utf-8"))


class NamedEntry(NamedTuple):
    """A publication and its one spelling."""

    epoch: int
    step: int
    path: bytes
    name: str


class EpochParts(NamedTuple):
    """The three parts of an epoch; the integer that they make, or why they make none."""

    generation: int
    submission: int
    restart: int
    integer: int
    why: str


ENTRIES = [
    NamedEntry(int(e["epoch"]), int(e["step"]), bytes.fromhex(e["path_hex"]), e["name"])
    for e in _VECTORS["entries"]
]
MALFORMED_NAMES: dict[str, str] = {m["name"]: m["why"] for m in _VECTORS["malformed_names"]}
INVALID_PATHS: dict[bytes, str] = {
    bytes.fromhex(p["path_hex"]): p["why"] for p in _VECTORS["invalid_paths"]
}
EPOCHS = [
    EpochParts(e["generation"], e["submission"], e["restart"], int(e["epoch"]), "")
    for e in _VECTORS["epochs"]
]
INVALID_EPOCHS = [
    EpochParts(e["generation"], e["submission"], e["restart"], -1, e["why"])
    for e in _VECTORS["invalid_epochs"]
]
MALFORMED_NUMBERS: list[str] = _VECTORS["malformed_numbers"]
