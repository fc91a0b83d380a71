"""The verdict: what the saves' own states say about both scenes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from demo import reports
from demo.screen import BAD, BOLD, GOOD, Text

if TYPE_CHECKING:
    from demo.bare import BareScene
    from demo.published import PublishedScene
    from demo.scene import Run, Scene
    from demo.screen import Screen


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        claim: What should hold, for people.
        holds: Whether it does.
    """

    claim: str
    holds: bool


def is_lineage(lineage: reports.Lineage | None, *runs: Run) -> bool:
    """Whether exactly these executions trained a save, in this order."""
    attempts = [link.attempt for link in lineage or ()]
    return attempts == [run.attempt for run in runs]


def published_saves_of_run_2(scene: PublishedScene) -> list[Path]:
    """The folders of all that run 2 published."""
    epoch = scene.runs[1].epoch
    return [scene.location(entry) for entry in sorted(scene.entries) if entry.epoch == epoch]


def findings_with_publish(scene: PublishedScene) -> list[Finding]:
    """What the guarantee says, before the prune."""
    first, second, third = scene.runs
    saves = published_saves_of_run_2(scene)
    whole = [save for save in saves if is_lineage(reports.lineage_of(save), first, second)]
    newest = max(saves, key=lambda save: reports.step_of(save) or 0)
    return [
        Finding(
            "run 2 resumed from what `publish resolve` said: a save of run 1",
            is_lineage(second.lineage, first, second)
            and resumed_at(second) == reports.step_of(Path(scene.resolved[2]))
            and Path(scene.resolved[2]).parent == scene.out(first),
        ),
        Finding(
            f"run 1 published {scene.late} saves late, {scene.outranked} of them at higher steps "
            "than run 2's",
            scene.outranked > 0,
        ),
        Finding(
            "none of these was ever resolved once run 2 had published",
            bool(scene.after_run_2)
            and all(Path(save).parent != scene.out(first) for save in scene.after_run_2),
        ),
        Finding(
            f"each of the {len(saves)} saves that run 2 published is there, and is its own",
            bool(saves) and whole == saves,
        ),
        Finding(
            "run 3 resumed from run 2's newest save",
            is_lineage(third.lineage, first, second, third)
            and Path(scene.resolved[3]) == newest
            and resumed_at(third) == reports.step_of(newest),
        ),
    ]


def finding_after_prune(scene: PublishedScene, keep: int) -> Finding:
    """What the prune left."""
    save = Path(scene.resolve())
    lines = scene.listing().splitlines()
    return Finding(
        f"prune kept {keep} publications, and run 3's newest save is resolved",
        len(lines) == keep
        and save.parent == scene.out(scene.runs[2])
        and reports.step_of(save) == max(scene.runs[2].steps)
        and is_lineage(reports.lineage_of(save), *scene.runs),
    )


def is_bare_rule_wrong(scene: BareScene) -> bool:
    """Whether the old run's saves were taken for the newest, or the replacement lost any."""
    third = scene.runs[2]
    is_wrong_lineage = third.lineage is not None and not is_lineage(third.lineage, *scene.runs)
    return is_wrong_lineage or scene.lost_to[1] > 0 or bool(scene.crashes)


def resumed_at(run: Run) -> int | None:
    """The step that a run's own saves say it resumed at."""
    return run.lineage[-1].step if run.lineage else None


def show_findings(screen: Screen, findings: list[Finding]) -> None:
    """One line for each."""
    for finding in findings:
        mark = Text("  ok    ", GOOD) if finding.holds else Text("  WRONG ", BAD)
        screen.join(mark, Text(finding.claim))


def show_side_by_side(screen: Screen, published: PublishedScene, bare: BareScene) -> None:
    """What became of each run, in both scenes."""
    missing = [save for save in published_saves_of_run_2(published) if not save.exists()]
    by_whom = {(True, False): "by run 1's rotation", (False, True): "by its own rotation"}
    deleters = bare.lost_to[1] > 0, bare.lost_to[2] > 0
    lost = sum(bare.lost_to.values())
    rows = [
        ("", Text("with publish", BOLD), Text("highest folder wins", BOLD)),
        ("run 2 resumed from", _resumed(published, 1), _resumed(bare, 1)),
        ("run 3 resumed from", _resumed(published, 2), _resumed(bare, 2)),
        (
            "run 2's saves deleted",
            Text(str(len(missing)), BAD if missing else GOOD),
            Text(f"{lost}, {by_whom.get(deleters, 'by both rotations')}", BAD if lost else GOOD),
        ),
    ]
    for what, left, right in rows:
        wide = Text(f"{left.words:<27}", left.style)
        screen.join(Text(f"  {what:<22}"), wide, right)


def _resumed(scene: Scene, index: int) -> Text:
    """What a run resumed from: good when it is the save of all runs before it."""
    run = scene.runs[index]
    if run.lineage is None:
        return Text("crashed", BAD)
    attempts = [link.attempt for link in run.lineage[:-1]]
    numbers = " > ".join(str(r.number) for r in scene.runs if r.attempt in attempts)
    is_right = is_lineage(run.lineage, *scene.runs[: index + 1])
    return Text(f"run {numbers}, step {resumed_at(run)}", GOOD if is_right else BAD)
