"""What is compared: job scripts, moments at which a replacement starts, and what is drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random

SEED = 4

HEAD = """\
trap : TERM    # the scheduler signals this shell too; it must outlive the trainer
"""

BARE = """\
python train.py --output_dir "$CKPT" ${RESTARTED:+--resume_from_checkpoint True}
"""

LINES = """\
RESUME=$(publish resolve -checkpoint "$CKPT") || exit 1
OUT=$CKPT/exec/$DISPATCH_ATTEMPT
publish watch -checkpoint "$CKPT" -framework hf &
WATCH=$!
python train.py --output_dir "$OUT" ${RESUME:+--resume_from_checkpoint "$RESUME"}
STATUS=$?
kill -TERM "$WATCH"; wait "$WATCH"
"""

LAST_LOOK = """\
publish watch -checkpoint "$CKPT" -framework hf -once
"""

PRUNE = """\
publish prune -checkpoint "$CKPT" -keep 3
exit $STATUS
"""

RUN = """\
publish run -checkpoint "$CKPT" -framework hf -keep 3 -- \\
    python train.py --output_dir {out} --resume_from_checkpoint {resume}
"""


class Script(Enum):
    """A job script; its value is what the page calls it."""

    BARE = "no publications"
    LINES = "shell script"
    LAST_LOOK = "shell script, `-once` behind it"
    RUN = "`publish run`"

    def text(self) -> str:
        """What `bash` is given; the root is in ``$CKPT``."""
        match self:
            case Script.BARE:
                return HEAD + BARE
            case Script.LINES:
                return HEAD + LINES + PRUNE
            case Script.LAST_LOOK:
                return HEAD + LINES + LAST_LOOK + PRUNE
            case Script.RUN:
                return HEAD + RUN


class Moment(Enum):
    """When the replacement starts; its value is what the page calls it."""

    AT_ONCE = "at once"
    AFTER_THE_END = "after the end"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How long things take.

    Attributes:
        step_seconds: A step of training, at least.
        save_steps: From one save to the next.
        last_save_seconds_max: The save on SIGTERM, at most.
        kill_wait_seconds: From SIGTERM to SIGKILL.
        pause_seconds: Before a replacement that failed is started again.
    """

    step_seconds: float = 0.1
    save_steps: int = 100
    last_save_seconds_max: float = 25.0
    kill_wait_seconds: float = 30.0
    pause_seconds: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One preemption that is to be made.

    Attributes:
        number: Which of the drawn ones it is.
        script: The job's.
        moment: When the replacement starts.
        signal_seconds: From the first save to SIGTERM.
        last_save_seconds: How long the save on SIGTERM takes.
    """

    number: int
    script: Script
    moment: Moment
    signal_seconds: float
    last_save_seconds: float


def plans(count: int, scale: Scale, seed: int = SEED) -> Iterator[Plan]:
    """Yield ``count`` preemptions for each script and moment: the same draws for all of them.

    Those of one draw come together, so that whatever else the machine does falls on all.
    """
    chance = Random(seed)
    for number in range(count):
        signal_seconds = chance.uniform(0, scale.save_steps * scale.step_seconds)
        last_save_seconds = chance.uniform(0, scale.last_save_seconds_max)
        for moment in Moment:
            for script in Script:
                yield Plan(
                    number=number,
                    script=script,
                    moment=moment,
                    signal_seconds=signal_seconds,
                    last_save_seconds=last_save_seconds,
                )
