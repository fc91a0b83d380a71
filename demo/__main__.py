"""``python -m demo --trainer small``: see `make demo`.

Exit status: 0 when the guarantee held and the bare rule went wrong; 1 when not; 130 and the like
when a signal ended it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from demo import verdict
from demo.bare import BareScene
from demo.processes import DemoError, InterruptedDemoError, own_processes, trainer_command
from demo.published import KEEP, PublishedScene
from demo.scene import Setting
from demo.screen import BAD, BOLD, DIM, GOOD, NEW, OLD, Screen, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.processes import Processes

STEP_SECONDS = {"small": 0.1, "transformers": 0.2}
BOUND_SECONDS = {"small": 60.0, "transformers": 180.0}  # PyTorch's first import can take a minute
KILLED = 128  # and the number of the signal: what a shell says of a program that one ended

SMALL = """\
The trainer is the demo's own small one: real processes, with the folder layout
and the order of writing of Hugging Face Trainer. With the real Trainer:
make demo TRAINER=transformers"""
TRANSFORMERS = """\
The trainer is the real Hugging Face Trainer, with a tiny GPT-2 on the CPU. Each
run loads PyTorch first, which takes a while."""
STORY = """\
A training job is preempted. The scheduler says that it has ended, but its old
processes go on and save. Its replacement starts, overlaps with them, and is
restarted itself. What does each run resume from?"""
WITH_PUBLISH = """\
1. Each run writes its own folder, and `publish watch` publishes its saves.
   Beside what `publish resolve` says: what "the highest checkpoint folder
   wins" would say of the same saves. A ! marks what run 2 did not train."""
WITHOUT = """\
2. The same without: one output folder, Trainer's own resume and rotation.
   The highest checkpoint folder wins, and the oldest are deleted."""


@contextmanager
def temporary_folder(screen: Screen) -> Iterator[Path]:
    """A folder that is gone after the block, unless KEEP is set."""
    folder = Path(tempfile.mkdtemp(prefix="dispatch-demo-"))
    try:
        yield folder
    finally:
        if os.environ.get("KEEP", "0") in {"", "0"}:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            screen.say(f"kept: {folder}")


def heading(screen: Screen, words: str, *titles: str) -> None:
    """Print a scene's title and its columns'."""
    screen.say()
    title, _, explanation = words.partition("\n")
    screen.say(title, BOLD)
    screen.say(explanation)
    screen.say()
    styles = (OLD, NEW, "", "")
    cells = [Text(title, style) for title, style in zip(titles, styles, strict=True)]
    screen.columns(Text("  time"), *cells)


def play(trainer: str, folder: Path, processes: Processes, screen: Screen) -> bool:
    """Play both scenes; whether the one went right and the other wrong.

    Raises:
        DemoError: The demo could not be played to its end.
        InterruptedDemoError: A signal came.
    """
    command = trainer_command(trainer)
    pace = STEP_SECONDS[trainer], BOUND_SECONDS[trainer]
    screen.say(STORY)
    screen.say()
    screen.say(SMALL if trainer == "small" else TRANSFORMERS)

    heading(screen, WITH_PUBLISH, "run 1", "run 2, then run 3", "resolve says", "highest folder")
    published = PublishedScene(Setting(folder / "1", command, *pace), processes, screen)
    published.play()
    findings = verdict.findings_with_publish(published)

    heading(screen, WITHOUT, "run 1", "run 2, then run 3", "highest folder", "trained by")
    bare = BareScene(Setting(folder / "2", command, *pace), processes, screen)
    bare.play()

    screen.say()
    screen.say("Verdict, read from the trainer_state.json of the saves", BOLD)
    screen.say()
    verdict.show_side_by_side(screen, published, bare)
    screen.say()
    removed = published.prune().count("folder ")
    screen.say(f"  $ publish prune -keep {KEEP}: {removed} folders removed; then publish log:", DIM)
    for line in published.listing().splitlines():
        screen.say(f"    {line}", DIM)
    screen.say()
    findings.append(verdict.finding_after_prune(published, KEEP))
    verdict.show_findings(screen, findings)
    screen.say()
    holds = all(finding.holds for finding in findings)
    return conclude(screen, holds=holds, is_bare_rule_wrong=verdict.is_bare_rule_wrong(bare))


def conclude(screen: Screen, *, holds: bool, is_bare_rule_wrong: bool) -> bool:
    """Say the end of it; whether the demo showed what it is there for."""
    if holds:
        screen.say("  The guarantee held: no late save of the old run won.", GOOD)
    else:
        screen.say("  THE GUARANTEE DID NOT HOLD.", BAD)
    if is_bare_rule_wrong:
        screen.say("  The bare rule went wrong, as it does on clusters.", GOOD)
    else:
        screen.say("  The bare rule did not go wrong this time: nothing is shown.", BAD)
    return holds and is_bare_rule_wrong


def main() -> int:
    """Run the program; its exit status."""
    options = argparse.ArgumentParser(prog="make demo", allow_abbrev=False)
    options.add_argument("--trainer", choices=sorted(STEP_SECONDS), default="small")
    trainer = options.parse_args().trainer
    screen = Screen()
    try:
        with temporary_folder(screen) as folder, own_processes() as processes:
            return 0 if play(trainer, folder, processes, screen) else 1
    except InterruptedDemoError as interruption:
        name = str(interruption)
        screen.say(f"{name}: all processes of the demo were ended.")
        return KILLED + signal.Signals[name]
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except DemoError as error:
        screen.say(f"demo: {error}", BAD)
        return 1


if __name__ == "__main__":
    sys.exit(main())
