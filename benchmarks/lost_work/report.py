"""The page that the lost steps are written to."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from benchmarks.lost_work.outcome import Outcome, Summary, summary
from benchmarks.lost_work.scenario import Moment, Scale, Script
from demo.small_trainer import LOAD_SECONDS

COLUMNS = (
    "job script",
    "mean",
    "median",
    "most",
    "unused",
    "unpublished",
    "failed (starts)",
    "never",
    "wrong",
    "idle",
)

HEAD = """\
<!-- Written by `make bench-lost-work`. Edits are lost. -->

# Lost work

How many steps have to be trained again after a preemption, by what the job script does about its
saves. Measured with real processes in real time; nothing is simulated.

## What was measured

- A small trainer with the layout and the order of writing of Hugging Face Trainer trains at
  {step_seconds:g} s a step and saves every {save_steps} steps.
- Within {interval:g} s of its first save, at a moment that is drawn, SIGTERM goes to every
  process of the job, as Slurm sends it: to the shell, the watcher and the trainer. The trainer
  finishes its step and saves once more, which takes from 0 to {last_save_seconds_max:g} s, drawn
  too. Then it ends. {kill_wait_seconds:g} s after SIGTERM, what is left gets SIGKILL.
- The replacement runs the same script as the next execution. It starts either at once, when the
  scheduler has sent SIGTERM and calls the job ended, or after the last process has ended. One
  that fails is followed by another {pause_seconds:g} s later.
- Steps lost: the step of the save on SIGTERM, which is the last step that was trained, less the
  step that the replacement resumed at.

{count} preemptions for each row. The draws are the same for all rows. `publish` is that of the
installed wheel, with its defaults: it looks every 10 s.

| job script | what it is |
|---|---|
| {bare} | one folder for all; the highest checkpoint is resumed from, as Trainer does |
| {lines} | [commands](../how-to/publish-from-a-job-script.md#in-single-commands), `trap : TERM` |
| {last_look} | the same with a last look after it, as that page has it for Slurm |
| {run} | [`publish run`](run.md) as the only line, behind the same `trap` |

Measured on {date}: {machine}.

{at_a_time} preemptions at a time used {used:.1f} of the processors; with all else on the machine
{busy:.1f} were busy. The first {save_steps} steps took {pace:.2f} times as long as they take at
least, in the median, and {pace_max:.2f} times at most.
"""

LEGEND = """\
## What the columns mean

- mean, median, most: steps lost.
- unused: saves on SIGTERM that were finished, and that the replacement didn't resume from.
- unpublished: those that were finished, and that nobody has published in the end either.
- failed: preemptions after which the replacement met a half-written save and failed; how many
  starts did, in all.
- never: preemptions after which the replacement failed although the old run had ended.
- wrong: replacements that resumed from what others than the old run had trained.
- idle: from SIGTERM until the replacement had loaded its save, in the median. Loading alone takes
  {load_seconds:g} s.
"""

WHY = """\
## Why the shell script loses what it loses

SIGTERM reaches the watcher too. It looks once more and ends, while the trainer still writes. When
the save is complete, nobody looks any more. So all since the last regular save is lost: half of
the time between two saves in the mean, nearly all of it at worst. With a save every half hour,
that is a quarter of an hour of every machine. The save stays on the disk, and since no
publication names it, no prune removes it.

A replacement that starts at once can also come before the watcher's last look. Then it doesn't
see what the watcher had still to publish, and loses one save more; from scratch it starts when
that was the first one. This is where a row shows more than {save_steps} steps lost.

A last look behind the training, `publish watch … -once`, publishes that save. This is enough when
the replacement starts after the last process has ended. It needs a shell that outlives the
signal, and that has time for one more program before SIGKILL.

## Why `publish run` loses what it still loses

`publish run` watches until the trainer has really ended, so the save on SIGTERM is published
however late it is complete. A replacement that starts after the end loses nothing.

A replacement that starts at once loses what the old run is still writing: a save can't be resumed
from before it is complete. The replacement can't wait for it either, since nobody can tell it
whether the old run still writes or is gone. What is complete when it starts it does find, also
where no watcher has published it yet: it publishes it itself, which is called adoption. So a save
on SIGTERM that takes less time than the start of the replacement is used.

At once, `publish run` thus loses hardly less than the script. But the late save isn't useless. It
is published under the old run's epoch: should the replacement end before it has published a save
of its own, the next execution resumes from the late one.

## Why no publications looks good here

Without publications no step is lost, because the replacement can't start before the save is
whole: it takes the highest folder, finds it half-written, and fails. Here it is started again
until that goes well, and stands idle meanwhile. A scheduler doesn't do so: to Slurm, a job that
failed is over. And this trainer ends with its save. With one that trains on, the two runs mix in
one folder, and the wrong one is resumed from: `make demo` shows it.

## What waiting costs

Waiting for the end loses no steps with `publish run`, and costs the time until the old run has
ended. Starting at once loses half of the time between two saves in the mean. Which is less
depends on how far apart saves are: they are close together here, so that the measurement takes
minutes and not days.
"""

TITLES = {
    Moment.AT_ONCE: "When the replacement starts at once",
    Moment.AFTER_THE_END: "When the replacement starts after the last process has ended",
}


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What the numbers depend on.

    Attributes:
        scale: How long things took.
        machine: What it was, for people.
        date: When.
        at_a_time: Preemptions at once.
        used: How many processors these used in the mean.
        busy: How many were busy in the mean, with whatever it was.
    """

    scale: Scale
    machine: tuple[str, ...]
    date: date
    at_a_time: int
    used: float
    busy: float


def page(conditions: Conditions, outcomes: Iterable[Outcome]) -> str:
    """Return the whole page in Markdown."""
    outcomes = list(outcomes)
    parts = [_head(conditions, outcomes)]
    for moment, title in TITLES.items():
        parts.append(f"## {title}\n\n{table(moment, outcomes)}")
    parts += [LEGEND.format(load_seconds=LOAD_SECONDS)]
    parts.append(WHY.format(save_steps=conditions.scale.save_steps))
    return "\n".join(parts)


def _head(conditions: Conditions, outcomes: list[Outcome]) -> str:
    scale = conditions.scale
    paces = [outcome.pace for outcome in outcomes]
    return HEAD.format(
        step_seconds=scale.step_seconds,
        save_steps=scale.save_steps,
        interval=scale.save_steps * scale.step_seconds,
        last_save_seconds_max=scale.last_save_seconds_max,
        kill_wait_seconds=scale.kill_wait_seconds,
        pause_seconds=scale.pause_seconds,
        count=1 + max(outcome.plan.number for outcome in outcomes),
        **{script.name.lower(): script.value for script in Script},
        date=conditions.date.isoformat(),
        machine="; ".join(conditions.machine),
        at_a_time=conditions.at_a_time,
        used=conditions.used,
        busy=conditions.busy,
        pace=statistics.median(paces),
        pace_max=max(paces),
    )


def table(moment: Moment, outcomes: Iterable[Outcome]) -> str:
    """Return the rows of one moment."""
    of_moment = [outcome for outcome in outcomes if outcome.plan.moment is moment]
    lines = [list(COLUMNS), ["---"] * len(COLUMNS)]
    for script in Script:
        of_script = [outcome for outcome in of_moment if outcome.plan.script is script]
        lines.append(row(script, summary(of_script)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def row(script: Script, found: Summary) -> list[str]:
    """Return the cells of one job script."""
    return [
        script.value,
        f"{found.mean:.1f}",
        f"{found.median:g}",
        str(found.most),
        f"{found.unused} of {found.saved}",
        "" if script is Script.BARE else f"{found.unpublished} of {found.saved}",
        f"{found.failed} ({found.failed_starts})",
        str(found.never),
        str(found.wrong_lineage),
        f"{found.idle_seconds:.1f} s",
    ]
