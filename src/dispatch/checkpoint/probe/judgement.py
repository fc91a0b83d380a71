"""What measurements of a root mean: pure functions from what was found to a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.checkpoint.probe.check import Check, Topic, fail, failed_by, not_made, ok, warn
from dispatch.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dispatch.checkpoint.entry import Entry
    from dispatch.checkpoint.probe.timing import Late
    from dispatch.model.access import Access


_HOLDS = (
    "What is published holds: a name is its whole content, so nothing is lost or overwritten. "
    "Claims don't hold: two executions could get one epoch."
)
_USE_ANOTHER = "Use a store that honours If-None-Match, as S3 does."
_OLD_NFS = "Mount it as NFSv3 or later, or use another file system."


def unopened(error: DispatchError) -> list[Check]:
    """All checks of a root that could not even be opened."""
    return [
        failed_by(Topic.REACHABLE, error),
        *(not_made(topic, "the root can't be reached") for topic in _OF_EVERY_ROOT),
    ]


_OF_EVERY_ROOT = (
    Topic.LISTABLE,
    Topic.WRITABLE,
    Topic.SYNC,
    Topic.EXCLUSIVE,
    Topic.RACE,
    Topic.LISTING,
    Topic.REMOVAL,
    Topic.CLAIMS,
    Topic.CLOCK,
)


def proxy(access: Access) -> Check:
    """Through which proxy the store is asked."""
    return ok(Topic.PROXY, access.proxy or "none; those of the environment are never used")


def listable(count: int, latest: Entry | None, seconds: float) -> Check:
    """What a job's `resolve` would find."""
    if latest is None:
        return ok(Topic.LISTABLE, "nothing is published yet", seconds)
    noun = "publication" if count == 1 else "publications"
    return ok(Topic.LISTABLE, f"{count} {noun}, the latest of step {latest.step}", seconds)


def not_writable(error: DispatchError) -> Check:
    """The first creation failed."""
    advice = ""
    if error.kind == "condition-refused":
        advice = (
            "The store refuses the condition (If-None-Match) of every creation: nothing can be "
            "published or claimed. What was published otherwise holds, and can be resolved. "
        ) + _USE_ANOTHER
    return failed_by(Topic.WRITABLE, error, advice)


def sync(error: DispatchError | None, *, is_bucket: bool) -> Check:
    """Whether a creation survives a power loss."""
    if error is None:
        found = "the store answers for it" if is_bucket else "folders can be synced"
        return ok(Topic.SYNC, found)
    advice = "A publication would be reported as not durable. Keep checkpoints on a file system "
    return failed_by(Topic.SYNC, error, advice + "that can sync folders.")


def second_creation(*, is_new: bool, seconds: float, is_bucket: bool) -> Check:
    """The answer to creating a name that is there."""
    if not is_new:
        return ok(Topic.EXCLUSIVE, "a second creation was refused", seconds)
    if is_bucket:
        found = "a second creation succeeded: the store ignores the condition (If-None-Match)"
        return fail(Topic.EXCLUSIVE, found, f"{_HOLDS} {_USE_ANOTHER}", seconds)
    found = "a second creation succeeded: exclusive creation (O_EXCL) is ignored"
    return fail(Topic.EXCLUSIVE, found, f"{_HOLDS} {_OLD_NFS}", seconds)


def second_creation_refused_otherwise(error: DispatchError) -> Check:
    """A second creation was answered with an error instead of "it is there"."""
    advice = ""
    if error.kind == "condition-refused":
        advice = (
            "The store refuses a second creation, but not as S3 does (with 412). What is published "
            "holds: nothing is lost or overwritten. Publishing a save again fails instead of "
            "finding it published, and claims can't be made. "
        ) + _USE_ANOTHER
    return failed_by(Topic.EXCLUSIVE, error, advice)


def race(outcomes: Sequence[tuple[object, float]], *, is_bucket: bool) -> Check | None:
    """Who won, of several that created one name at once, with when each was answered.

    Returns:
        None when nobody did and nobody failed: the winner's answer was lost on the way.
    """
    racers, slowest = len(outcomes), max(seconds for _, seconds in outcomes)
    winners = sum(outcome is True for outcome, _ in outcomes)
    if winners > 1:
        found = f"{winners} of {racers} creations of one name at once succeeded"
        advice = f"{_HOLDS} {_USE_ANOTHER if is_bucket else _OLD_NFS}"
        return fail(Topic.RACE, found, advice, slowest)
    errors = [outcome for outcome, _ in outcomes if isinstance(outcome, Exception)]
    if errors:
        first = errors[0]
        shown = "no answer in time" if isinstance(first, TimeoutError) else str(first)
        found = f"{len(errors)} of {racers} creations of one name at once failed: {shown}"
        advice = first.hint if isinstance(first, DispatchError) else "Raise -timeout."
        return fail(Topic.RACE, found, advice, slowest)
    if not winners:
        return None
    return ok(Topic.RACE, f"1 of {racers} creations of one name at once succeeded", slowest)


def no_winner(rounds: int) -> Check:
    """`race` gave no verdict, again and again."""
    found = f"in {rounds} rounds nobody created the name, and yet it was there"
    return warn(Topic.RACE, found, "Answers are lost on the way: try again, and see the network.")


def seen(names: int, late: Late | None, seconds: float) -> Check:
    """Whether each of so many names was in a listing right after its creation."""
    if late is None:
        found = f"each of {names} names was in a listing right after its creation"
        return ok(Topic.LISTING, found, seconds)
    came = f"it was still missing {late}" if late.seconds is None else f"it came {late}"
    return fail(Topic.LISTING, f"a name was not in a listing after its creation; {came}", _STALE)


def unseen(names: int, late: Late | None, seconds: float) -> Check:
    """Whether none of so many names was in a listing right after its removal."""
    if late is None:
        found = f"none of {names} names was in a listing after its removal"
        return ok(Topic.REMOVAL, found, seconds)
    went = f"it was still there {late}" if late.seconds is None else f"it went {late}"
    return fail(Topic.REMOVAL, f"a name was in a listing after its removal; {went}", _STALE)


_STALE = (
    "A resolve could answer with an older save, or with none: use another store, or turn off what "
    "caches its listings."
)


def claims(values: Sequence[str | None], first: str, *, is_bucket: bool) -> Check:
    """The answers to a first claim, to a second one of another value, and to reading it."""
    if list(values) == [first] * len(values):
        how = "a conditional PUT" if is_bucket else "a symbolic link"
        return ok(Topic.CLAIMS, f"by {how}; a second claim was given the first one's value")
    found = f"{first!r} was claimed first, and the answers are {', '.join(map(repr, values))}"
    return fail(Topic.CLAIMS, found, _HOLDS)


def no_claims(error: DispatchError) -> Check:
    """A claim was answered with an error."""
    advice = ""
    if error.kind in {"no-links", "condition-refused"}:
        advice = f"{error.hint} Everything but claims works without them."
    return failed_by(Topic.CLAIMS, error, advice)


def no_time() -> Check:
    """The name is not there when it is looked at."""
    return fail(Topic.CLOCK, "a name that was created is not there when it is looked at", _STALE)


def clean(left: Sequence[str], root: str, *, is_unsure: bool) -> Check:
    """Whether the probe left anything behind."""
    if left:
        found = f"left behind in {root}: {'; '.join(left)}"
        return fail(Topic.CLEAN, found, "Delete it by hand; no other program uses it.")
    if is_unsure:
        found = "nothing is left, but what had no answer may be made yet"
        return warn(Topic.CLEAN, found, f"Look for .probe-… in {root} when the store is well.")
    return ok(Topic.CLEAN, "nothing is left behind")


def others(folders: Collection[str]) -> Check:
    """Folders of other probes."""
    if not folders:
        return ok(Topic.OTHERS, "no folder of another")
    advice = "Delete what no running probe uses: one that was killed could not."
    return warn(Topic.OTHERS, f"there are {', '.join(sorted(folders))}", advice)
