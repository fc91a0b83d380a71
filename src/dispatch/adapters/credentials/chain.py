"""`Keys` from an ordered list of sources, for weeks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch.ports.credentials import Credentials, CredentialSource

RENEW_BEFORE_S = 900.0  # a quarter of an hour of outage of whatever gives the keys is survived
RENEW_BEFORE_SHARE = 0.25  # of the time left, for keys that don't live that long
RETRY_S = 30.0  # between two renewals that failed or gave nothing new
GRACE_S = 60.0  # how long a file that changed may stay unusable, when the keys have no known end

_NS = 1e9


@dataclass(frozen=True, slots=True)
class _Held:
    """The keys in hand.

    Attributes:
        source: Who gave them, and is asked for the next.
        credentials: The keys.
        renew_at: From when on they are to be renewed, in seconds since 1970.
        asked_at: When the source was asked last.
        failing_since: Since when it has given none, or None.
    """

    source: CredentialSource
    credentials: Credentials
    renew_at: float
    asked_at: float
    failing_since: float | None = None


class Chain:
    """`dispatch.ports.credentials.Keys` from the first source that isn't absent.

    Keys with an end are renewed a quarter of an hour before it (earlier ends: when a quarter of
    their time is left), those in files when the files change. A renewal that fails is tried
    again, every 30 s at most, until the keys have ended or, when no end is known, for 60 s.
    """

    __slots__ = ("_held", "_now_ns", "_sources")

    def __init__(self, sources: Sequence[CredentialSource], now_ns: Callable[[], int]) -> None:
        self._sources = tuple(sources)
        self._now_ns = now_ns
        self._held: _Held | None = None

    def current(self) -> Credentials:
        return self._current().credentials

    def source(self) -> str:
        return self._current().source.name

    def renew(self) -> Credentials:
        held, now = self._held, self._now()
        if held is None:
            return self.current()
        fresh = _load(held.source)
        old = held.credentials
        if _same_keys(fresh, old) or _has_ended(fresh, now):
            raise _expired(held.source, old)
        return self._hold(held.source, fresh, now).credentials

    def _current(self) -> _Held:
        held, now = self._held, self._now()
        if held is None:
            return self._hold(*self._first(), now)
        return self._renewed(held, now) if self._is_due(held, now) else held

    def _now(self) -> float:
        return self._now_ns() / _NS

    def _first(self) -> tuple[CredentialSource, Credentials]:
        tried = []
        for source in self._sources:
            outcome = source.load()
            if not isinstance(outcome, Absent):
                if _has_ended(outcome, self._now()):
                    raise _expired(source, outcome)
                return source, outcome
            tried.append(f"{source.name}: {outcome.why}")
        message = f"no credentials for the store; tried {'; '.join(tried)}"
        raise CredentialsError(message, hint="Name a source with -creds.")

    def _hold(self, source: CredentialSource, credentials: Credentials, now: float) -> _Held:
        renew_at = math.inf
        if credentials.expires_at is not None:
            left = credentials.expires_at - now
            renew_at = credentials.expires_at - min(RENEW_BEFORE_S, left * RENEW_BEFORE_SHARE)
        self._held = _Held(source, credentials, renew_at, now)
        return self._held

    def _is_due(self, held: _Held, now: float) -> bool:
        if held.failing_since is None and now < held.renew_at:
            return held.source.has_changed()
        just_asked = held.asked_at <= now < held.asked_at + RETRY_S
        return not just_asked or _has_ended(held.credentials, now) or held.source.has_changed()

    def _renewed(self, held: _Held, now: float) -> _Held:
        try:
            fresh = _load(held.source)
        except CredentialsError as error:
            failure = error
        else:
            if not _has_ended(fresh, now):
                return self._take(held, fresh, now)
            failure = _expired(held.source, fresh)
        since = now if held.failing_since is None else min(held.failing_since, now)
        end = held.credentials.expires_at
        if now >= (since + GRACE_S if end is None else end):
            raise failure.with_traceback(None)
        self._held = _Held(held.source, held.credentials, held.renew_at, now, since)
        return self._held

    def _take(self, held: _Held, fresh: Credentials, now: float) -> _Held:
        """Hold what the source gave; the same keys again are asked for later, not at once."""
        if fresh != held.credentials:
            return self._hold(held.source, fresh, now)
        self._held = _Held(held.source, fresh, held.renew_at, now)
        return self._held


def _load(source: CredentialSource) -> Credentials:
    """What the source gives.

    Raises:
        CredentialsError: It is broken, or no longer there.
    """
    outcome = source.load()
    if isinstance(outcome, Absent):
        message = f"{source.name}: it gave credentials before, and is gone now: {outcome.why}"
        raise CredentialsError(message)
    return outcome


def _has_ended(credentials: Credentials, now: float) -> bool:
    return credentials.expires_at is not None and now >= credentials.expires_at


def _same_keys(one: Credentials, other: Credentials) -> bool:
    """Whether they sign alike, whatever they say of their end."""
    return (
        one.access_key_id == other.access_key_id
        and one.secret_access_key == other.secret_access_key
        and one.session_token == other.session_token
    )


def _expired(source: CredentialSource, credentials: Credentials) -> CredentialsError:
    message = (
        f"{source.name}: the credentials with access key id {credentials.access_key_id} "
        "have expired, and it gives no others"
    )
    hint = "Renew them where this source takes them from."
    return CredentialsError(message, kind="credentials-expired", hint=hint)
