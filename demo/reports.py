"""What the trainers tell the demo: events on stdout, and each save's lineage in its own state.

The standard library alone: the trainers run in other Pythons, too.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

SAVE_NAME = re.compile(r"checkpoint-(\d+)")
STATE_NAME = "trainer_state.json"
Event: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Link:
    """One execution in a save's lineage.

    Attributes:
        attempt: Its token.
        step: The step that it resumed at; 0 when it started from nothing.
    """

    attempt: str
    step: int


Lineage: TypeAlias = tuple[Link, ...]


def attempt_from_environment() -> str:
    """The token of the execution that this process is part of."""
    return os.environ.get("DISPATCH_ATTEMPT", "by-hand")


def link_to_log(step: int) -> Event:
    """What a trainer adds to its `log_history` when it starts at ``step``."""
    return {"attempt": attempt_from_environment(), "step": step}


def lineage_of(save: Path) -> Lineage | None:
    """The executions that trained a save, oldest first; None while it has no whole state."""
    try:
        state = json.loads((save / STATE_NAME).read_bytes())
        history = state["log_history"]
        return tuple(Link(e["attempt"], e["step"]) for e in history if "attempt" in e)
    except (OSError, ValueError, KeyError):
        return None


def step_of(save: Path) -> int | None:
    """The step in a save's name; None when it is no save's name."""
    match = SAVE_NAME.fullmatch(save.name)
    return int(match[1]) if match else None


def saves_in(folder: Path) -> list[Path]:
    """The saves directly in a folder, complete or not, by step."""
    found = ((step_of(path), path) for path in folder.glob("checkpoint-*"))
    return [path for _, path in sorted((step, path) for step, path in found if step is not None)]


def emit(event: str, **fields: object) -> None:
    """Tell the demo that something happened."""
    print(json.dumps({"event": event, **fields}), flush=True)


def read_events(log: Path) -> list[Event]:
    """All events in a trainer's output, oldest first; other lines are passed over."""
    lines = log.read_bytes().splitlines(keepends=True)
    return [
        json.loads(line) for line in lines if line.startswith(b'{"event"') and line[-1:] == b"\n"
    ]


def report_removals() -> None:
    """From now on tell the demo of each save that this process removes, and whose it was."""

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if event == "shutil.rmtree":
            save = Path(os.fsdecode(arguments[0]))  # type: ignore[arg-type]  # rmtree's own first
            if SAVE_NAME.fullmatch(save.name):
                links = [(link.attempt, link.step) for link in lineage_of(save) or ()]
                emit("removed", save=save.name, lineage=links)

    sys.addaudithook(listen)
