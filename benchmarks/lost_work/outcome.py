"""What became of preemptions, and what a number of them say together."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.lost_work.scenario import Plan


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one preemption.

    Attributes:
        plan: What was made.
        reached: The step that the old trainer finished after SIGTERM, and began to save.
        is_saved: Whether it finished that save before SIGKILL.
        is_published: Whether that save was published in the end.
        resumed: The step that the replacement resumed at; None when no start of it ever did.
        attempts: The executions that trained what it resumed from.
        old_attempt: The execution that was preempted.
        failed_starts: Starts of the replacement that failed before the one that went well.
        idle_seconds: From SIGTERM until the replacement had loaded its save.
        pace: How long the old trainer's first steps took, over how long they take at least.
    """

    plan: Plan
    reached: int
    is_saved: bool
    is_published: bool
    resumed: int | None
    attempts: tuple[str, ...]
    old_attempt: str
    failed_starts: int
    idle_seconds: float
    pace: float

    def lost(self) -> int:
        """The steps that have to be trained again; all, when the replacement never resumed."""
        return self.reached - (self.resumed or 0)

    def is_of_wrong_lineage(self) -> bool:
        """Whether it resumed from what others than the old execution alone had trained.

        From nothing at all is a loss, and no lineage.
        """
        return bool(self.resumed) and self.attempts != (self.old_attempt,)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the outcomes of one script and moment say together.

    Attributes:
        count: How many there were.
        mean: Steps lost.
        median: Steps lost.
        most: Steps lost.
        saved: Saves on SIGTERM that were finished.
        unused: Of these, those that the replacement didn't resume from.
        unpublished: Of these, those that nobody published.
        failed: Preemptions after which the replacement failed to start at first.
        failed_starts: How often it did, in all.
        never: Preemptions after which it never resumed.
        wrong_lineage: Resumes from a save that others than the old execution had trained.
        idle_seconds: Median.
    """

    count: int
    mean: float
    median: float
    most: int
    saved: int
    unused: int
    unpublished: int
    failed: int
    failed_starts: int
    never: int
    wrong_lineage: int
    idle_seconds: float


def summary(outcomes: Iterable[Outcome]) -> Summary:
    """Sum up the outcomes of one script and moment; there must be some."""
    outcomes = list(outcomes)
    lost = [outcome.lost() for outcome in outcomes]
    saved = [outcome for outcome in outcomes if outcome.is_saved]
    return Summary(
        count=len(outcomes),
        mean=statistics.mean(lost),
        median=statistics.median(lost),
        most=max(lost),
        saved=len(saved),
        unused=sum(outcome.resumed != outcome.reached for outcome in saved),
        unpublished=sum(not outcome.is_published for outcome in saved),
        failed=sum(outcome.failed_starts > 0 for outcome in outcomes),
        failed_starts=sum(outcome.failed_starts for outcome in outcomes),
        never=sum(outcome.resumed is None for outcome in outcomes),
        wrong_lineage=sum(outcome.is_of_wrong_lineage() for outcome in outcomes),
        idle_seconds=statistics.median(outcome.idle_seconds for outcome in outcomes),
    )
