"""What a probe says of a root: one value for each check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatch.errors import DispatchError


class State(Enum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


class Topic(Enum):
    """What a check is about, in the order of the checks."""

    CREDENTIALS = "credentials"
    PROXY = "proxy"
    REACHABLE = "reachable"
    LISTABLE = "listable"
    WRITABLE = "writable"
    SYNC = "folder sync"
    EXCLUSIVE = "exclusive creation"
    RACE = "race"
    LISTING = "listing"
    REMOVAL = "removal"
    CLAIMS = "claims"
    CLOCK = "clock"
    LATENCY = "latency"
    PEER = "peer"
    VISIBILITY = "visibility"
    CLEAN = "clean-up"
    OTHERS = "other probes"


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        topic: What it is about.
        state: How it came out.
        found: What was found, for a person, without a full stop.
        advice: What to do about it, or what still holds; empty where all is well.
        seconds: How long the call took that the check is about; None where there is none.
        kind: That of the error which the check met (`dispatch.errors.KINDS`), or empty.
        was_made: False when it could not be made, since another one failed.
    """

    topic: Topic
    state: State
    found: str
    advice: str = ""
    seconds: float | None = None
    kind: str = ""
    was_made: bool = True

    @property
    def holds(self) -> bool:
        """Whether a check that needs this one can be made."""
        return self.was_made and self.state is not State.FAIL


def ok(topic: Topic, found: str, seconds: float | None = None) -> Check:
    """All is well."""
    return Check(topic, State.OK, found, seconds=seconds)


def warn(topic: Topic, found: str, advice: str, seconds: float | None = None) -> Check:
    """It works, and somebody should know."""
    return Check(topic, State.WARN, found, advice, seconds)


def fail(topic: Topic, found: str, advice: str, seconds: float | None = None) -> Check:
    """It doesn't work."""
    return Check(topic, State.FAIL, found, advice, seconds)


def failed_by(topic: Topic, error: DispatchError, advice: str = "") -> Check:
    """It doesn't work, as the store itself said; ``advice`` instead of the error's own."""
    return Check(topic, State.FAIL, str(error), advice or error.hint, kind=error.kind)


def not_made(topic: Topic, why: str) -> Check:
    """It could not be looked at, so it is not known to be well."""
    return Check(topic, State.WARN, f"not checked: {why}", was_made=False)
