"""Requests with our own retries, under one deadline for each operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dispatch.adapters.s3.answers import (
    FOREIGN,
    Answer,
    IncompleteAnswerError,
    classify,
    conceal,
)
from dispatch.adapters.s3.translation import fault_in, translate
from dispatch.errors import CredentialsError, DispatchError, UnavailableError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from dispatch.adapters.s3.location import Location
    from dispatch.ports.credentials import Keys
    from dispatch.ports.waiting import Clock

OPERATION_S = 80.0  # with a last try of 35 s it ends, and says why, within a watch's 2 minutes
PAUSE_S, PAUSE_S_MAX = 0.1, 5.0  # between tries, doubled each time, less a jitter of up to half


class Absent(Exception):  # noqa: N818 - an answer, not an error
    """There is no such key."""


class Exists(Exception):  # noqa: N818 - an answer, not an error
    """There is such a key already."""


@dataclass(frozen=True, slots=True)
class _Failure:
    answer: Answer
    error: DispatchError


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What requests are given of the world around them.

    Attributes:
        clock: For the deadline and the pauses.
        now: The wall clock in seconds since 1970, to tell a skew.
        fraction: A random number from 0 up to 1, so that those who failed together don't come
            back together.
        quiet: Around each call of botocore, which logs what it sends.
    """

    clock: Clock
    now: Callable[[], float]
    fraction: Callable[[], float]
    quiet: Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one root.

    Attributes:
        client: A botocore client whose every call is one request.
        keys: What it signs with, told when the store says they have expired.
        location: The bucket and prefix.
        around: Clocks, chance, silence.
    """

    client: Any
    keys: Keys
    location: Location
    around: Surroundings

    def call(self, action: str, path: bytes, **parameters: object) -> dict[str, Any]:
        """One operation on the key of ``path``; see `do`."""
        return self.call_on_key(action, self.location.key(path), **parameters)

    def call_on_key(self, action: str, key: str, **parameters: object) -> dict[str, Any]:
        """One operation on a whole key; see `do`."""
        method = getattr(self.client, action)
        bucket = self.location.bucket

        def request() -> dict[str, Any]:
            answer: dict[str, Any] = method(Bucket=bucket, Key=key, **parameters)
            return require_whole(action, answer)

        return self.do(f"{operation(action)} s3://{bucket}/{key}", request, action)

    def do(self, what: str, request: Callable[[], dict[str, Any]], action: str) -> dict[str, Any]:
        """What ``request`` answers, tried again while that can help.

        What is raised has neither a cause nor a context: those hold the headers that were sent.

        Raises:
            Absent: The key is not there.
            Exists: The condition that it is not there failed.
            UnknownOutcomeError: The deadline passed, and a try may have had its effect.
            UnavailableError: The deadline passed, or the store answered with a fault.
            DispatchError: Any other answer, by `dispatch.adapters.s3.translation`.
        """
        effort = _Effort(self, action)
        while isinstance(outcome := self._try(what, request), _Failure):
            effort.go_on_after(outcome)
        return outcome

    def _try(self, what: str, request: Callable[[], dict[str, Any]]) -> dict[str, Any] | _Failure:
        """One try. What botocore raises ends here: it and the frames that it passed hold secrets.

        Raises:
            CredentialsError: There are no keys.
            RuntimeError: A fault in botocore, told by its places alone.
        """
        sent = self.keys.current()
        outcome: dict[str, Any] | _Failure | Exception
        try:
            with self.around.quiet():
                outcome = request()
            conceal(outcome, sent.session_token)
        except FOREIGN as error:
            conceal(error, sent.session_token)
            region = str(self.client.meta.region_name)
            translated = translate(error, what, region, self.around.now())
            outcome = _Failure(classify(error), translated)
        except DispatchError as error:  # of the keys, which are asked for again to sign
            outcome = error.with_traceback(None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may hold what was sent
            outcome = fault_in(error, what)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


_SURE = frozenset({"wrong-region", "clock-skew"})  # told by the headers of a HEAD's answer
_CHANGES = frozenset({"put_object", "delete_object", "delete_objects"})
_OF_A_KEY = frozenset({"delete_object", "get_object", "head_object"})  # what can be absent


class _Effort:
    """The tries of one operation.

    Args:
        requests: Whose it is.
        action: What each try does.
    """

    __slots__ = ("_action", "_deadline", "_has_renewed", "_may_have_happened", "_pause", "_r")

    def __init__(self, requests: Requests, action: str) -> None:
        self._r = requests
        self._action = action
        self._deadline = requests.around.clock.monotonic() + OPERATION_S
        self._pause = PAUSE_S
        self._has_renewed = False
        self._may_have_happened = False

    def go_on_after(self, failure: _Failure) -> None:
        """Return when it is time for the next try; else raise, see `Requests.do`."""
        match failure.answer:
            case Answer.ABSENT if self._action in _OF_A_KEY:
                raise Absent
            case Answer.EXISTS if self._action == "put_object":
                raise Exists
            case Answer.CONFLICT | Answer.NEVER_SENT | Answer.UNKNOWN:
                is_unknown = failure.answer is Answer.UNKNOWN
                self._may_have_happened |= is_unknown and self._action in _CHANGES
                self._wait(failure.error)
            case _:
                if self._has_renewed or not self._can_renew(failure):
                    raise failure.error
                self._renew_after(failure)

    def _can_renew(self, failure: _Failure) -> bool:
        """Whether other keys could help: these have ended, are unknown, or may have ended."""
        if failure.answer is not Answer.MAYBE_EXPIRED or failure.error.kind in _SURE:
            return failure.answer is Answer.EXPIRED
        keys = self._r.keys.current()
        are_refused = failure.error.kind == "credentials-refused"  # a HEAD's answer doesn't say so
        return are_refused or keys.session_token is not None or keys.expires_at is not None

    def _renew_after(self, failure: _Failure) -> None:
        """Renew the keys, once; wait when their source can't be reached."""
        refusal = _renew(self._r.keys)
        if refusal is None:
            self._has_renewed = True
        elif refusal.kind == "credentials-unreachable":
            self._wait(refusal)
        elif refusal.kind == "credentials-expired" and failure.answer is Answer.MAYBE_EXPIRED:
            raise failure.error  # the same keys again: they may well be valid, and lack a right
        else:
            raise refusal

    def _wait(self, last: DispatchError) -> None:
        around = self._r.around
        pause = self._pause * (1 - around.fraction() / 2)
        if around.clock.monotonic() + pause > self._deadline:
            error = _gave_up(last, may_have_happened=self._may_have_happened)
            raise error
        around.clock.sleep(pause)
        self._pause = min(2 * self._pause, PAUSE_S_MAX)


def _renew(keys: Keys) -> CredentialsError | None:
    """Renew the keys; what kept them from it, to be raised where no secret is in any frame."""
    try:
        keys.renew()
    except CredentialsError as error:
        return error.with_traceback(None)
    return None


def _gave_up(last: DispatchError, *, may_have_happened: bool) -> DispatchError:
    message = f"{last}, again and again for {OPERATION_S:g} s"
    if may_have_happened:
        hint = "It may have happened; to call again is safe."
        return UnknownOutcomeError(message, kind="outcome-unknown", hint=hint)
    if isinstance(last, CredentialsError):
        return CredentialsError(message, kind=last.kind, hint=last.hint)
    return UnavailableError(message, hint=last.hint)


_NEEDED = {
    "put_object": ("ETag",),
    "head_object": ("ETag", "ContentLength", "LastModified"),
    "get_object": ("ETag", "ContentLength", "LastModified", "Body"),
    "list_objects_v2": ("IsTruncated",),
}
"""What every whole answer has. One that was cut off inside its headers, or a login page of some
proxy, is success to botocore."""

_NO_CONTENT = 204


def require_whole(action: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a call, which is S3's and whole.

    Raises:
        IncompleteAnswerError: It is not.
    """
    missing = [name for name in _NEEDED.get(action, ()) if answer.get(name) is None]
    if missing:
        raise IncompleteAnswerError(f"without {', '.join(missing)}")
    status = answer["ResponseMetadata"]["HTTPStatusCode"]
    if action == "delete_object" and status != _NO_CONTENT:
        raise IncompleteAnswerError(f"status {status}, not {_NO_CONTENT}")
    return answer


def operation(action: str) -> str:
    """The name that policies know a method of the client by."""
    return "".join(map(str.capitalize, action.split("_")))
