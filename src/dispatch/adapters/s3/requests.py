"""Requests with our own retries, under one deadline for each operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from dispatch.adapters.s3.answers import Answer, classify, translate
from dispatch.errors import UnavailableError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.adapters.s3.location import Location
    from dispatch.errors import DispatchError
    from dispatch.ports.credentials import Keys
    from dispatch.ports.waiting import Clock

_OPERATION_S = 120.0  # four read time-outs: the slowest loser of a race on SeaweedFS took 14 s
_PAUSE_S, _PAUSE_S_MAX = 0.1, 5.0  # between tries, doubled each time
_TRIED_AGAIN = frozenset({Answer.CONFLICT, Answer.NEVER_SENT, Answer.UNKNOWN})


class Absent(Exception):  # noqa: N818 - an answer, not an error
    """There is no such key."""


class Exists(Exception):  # noqa: N818 - an answer, not an error
    """There is such a key already."""


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one root.

    Attributes:
        client: A botocore client whose every call is one request.
        keys: What it signs with, told when the store says they have expired.
        location: The bucket and prefix.
        clock: For the deadline and the pauses.
        now: The wall clock in seconds since 1970, to tell a skew.
    """

    client: Any
    keys: Keys
    location: Location
    clock: Clock
    now: Callable[[], float]

    def call(self, action: str, path: bytes, **parameters: object) -> dict[str, Any]:
        """One operation on the key of ``path``; see `do`."""
        key = self.location.key(path)
        method = getattr(self.client, action)
        what = f"{action} {os_text(self.location.url(path))}"
        return self.do(what, lambda: method(Bucket=self.location.bucket, Key=key, **parameters))

    def do(self, what: str, request: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What ``request`` answers, tried again while that can help.

        Raises:
            Absent: The key is not there.
            Exists: The condition that it is not there failed.
            UnknownOutcomeError: The deadline passed, and a try may have had its effect.
            UnavailableError: The deadline passed, or the store answered with a fault.
            DispatchError: Any other answer, by `dispatch.adapters.s3.answers.translate`.
        """
        deadline = self.clock.monotonic() + _OPERATION_S
        pause, may_have_happened, has_renewed = _PAUSE_S, False, False
        while True:
            try:
                return request()
            except (BotoCoreError, ClientError) as error:
                answer = classify(error)
                if answer is Answer.ABSENT:
                    raise Absent from error
                if answer is Answer.EXISTS:
                    raise Exists from error
                if answer is Answer.EXPIRED and not has_renewed:
                    self.keys.renew()
                    has_renewed = True
                    continue
                if answer not in _TRIED_AGAIN:
                    raise translate(error, what, self.now()) from error
                may_have_happened |= answer is Answer.UNKNOWN
                if self.clock.monotonic() + pause > deadline:
                    raise self._gave_up(error, what, may_have_happened) from error
            self.clock.sleep(pause)
            pause = min(2 * pause, _PAUSE_S_MAX)

    def _gave_up(
        self, error: BotoCoreError | ClientError, what: str, may_have_happened: bool
    ) -> DispatchError:
        last = translate(error, what, self.now())
        message = f"{last}, again and again for {_OPERATION_S:g} s"
        if may_have_happened:
            return UnknownOutcomeError(message, kind="outcome-unknown", hint="Call again: it is safe.")
        return UnavailableError(message, hint=last.hint)


def os_text(path: bytes) -> str:
    """A path for a message."""
    return path.decode("utf-8", "surrogateescape")
