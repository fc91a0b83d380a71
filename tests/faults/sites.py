"""Which line of the POSIX store asks for an fsync, so that a test can take that line away."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import dispatch.adapters.posix
from dispatch.testing.calls import Call, Rule, SkipCall
from tests.faults.machines import ROOT

ADAPTER = Path(dispatch.adapters.posix.__file__).parent
WRAPPER = "_sync"
"""The store's functions of this name translate the errno; who calls them is what counts."""


class Site(NamedTuple):
    """Where an fsync is asked for.

    Attributes:
        function: The store's function.
        path: What it makes durable, relative to the root; empty for the root itself.
    """

    function: str
    path: str


def site_of(call: Call) -> Site:
    """Name the site of the fsync that is about to be made."""
    frame: FrameType | None = inspect.currentframe()
    while frame and not _is_site(frame):
        frame = frame.f_back
    assert frame, "an fsync that the store did not ask for"
    return Site(frame.f_code.co_name, call.path[len(ROOT) + 1 :].decode())


def _is_site(frame: FrameType) -> bool:
    code = frame.f_code
    return Path(code.co_filename).parent == ADAPTER and code.co_name != WRAPPER


def note_sites(into: set[Site]) -> Rule:
    """Note the site of every fsync."""

    def rule(call: Call) -> None:
        if call.method == "fsync":
            into.add(site_of(call))

    return rule


def without(*gone: Site) -> Rule:
    """Take the lines at these sites away: no fsync that they ask for is made."""

    def rule(call: Call) -> None:
        if call.method == "fsync" and site_of(call) in gone:
            raise SkipCall

    return rule


def functions_that_sync() -> Counter[str]:
    """Count the lines that ask for an fsync, by function, as the source has them."""
    counted: Counter[str] = Counter()
    for module in ADAPTER.glob("*.py"):
        for function in ast.walk(ast.parse(module.read_bytes())):
            if isinstance(function, ast.FunctionDef) and function.name not in {WRAPPER, "fsync"}:
                counted[function.name] += sum(map(_asks_for_fsync, ast.walk(function)))
    return +counted


def _asks_for_fsync(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in {"fsync", WRAPPER}
