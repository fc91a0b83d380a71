"""Probing a root: whether it can be trusted, from this very node (docs/design/0009-probe.md).

A probe makes names in a folder of its own with the primitives that publishing uses, and judges
what came of it. `run` acts, `judgement` is pure.
"""

from __future__ import annotations

from dispatch.checkpoint.probe.check import Check, State, Topic
from dispatch.checkpoint.probe.judgement import unopened
from dispatch.checkpoint.probe.peers import parse_word
from dispatch.checkpoint.probe.root import Surroundings
from dispatch.checkpoint.probe.run import Probe
from dispatch.checkpoint.probe.timing import span

__all__ = [
    "Check",
    "Probe",
    "State",
    "Surroundings",
    "Topic",
    "parse_word",
    "span",
    "unopened",
]
