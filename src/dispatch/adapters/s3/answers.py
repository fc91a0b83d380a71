"""What an answer of S3 means: one table, which the tests are made from."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError as BotoConnectionError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ProxyConnectionError,
)

from dispatch.errors import (
    CredentialsError,
    DispatchError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class Answer(Enum):
    """What to do about a request that did not succeed."""

    ABSENT = "absent"
    EXISTS = "exists"
    CONFLICT = "conflict"
    EXPIRED = "expired"
    NEVER_SENT = "never-sent"
    UNKNOWN = "unknown"
    FAILED = "failed"


_BY_CODE = {
    "404": Answer.ABSENT,
    "NoSuchKey": Answer.ABSENT,
    "PreconditionFailed": Answer.EXISTS,
    "ConditionalRequestConflict": Answer.CONFLICT,
    "OperationAborted": Answer.CONFLICT,
    "ExpiredToken": Answer.EXPIRED,
    "ExpiredTokenException": Answer.EXPIRED,
    "TokenRefreshRequired": Answer.EXPIRED,
    "InternalError": Answer.UNKNOWN,
    "ServiceUnavailable": Answer.UNKNOWN,
    "SlowDown": Answer.UNKNOWN,
    "RequestTimeout": Answer.UNKNOWN,
    "Throttling": Answer.UNKNOWN,
}
_BY_STATUS = {409: Answer.CONFLICT, 412: Answer.EXISTS, 429: Answer.UNKNOWN}
_SERVER_FAULT = 500
_NOT_IMPLEMENTED = 501


def classify(error: BotoCoreError | ClientError) -> Answer:
    """What ``error`` means, whatever was asked."""
    if isinstance(error, ClientError):
        code, status = code_and_status(error)
        if code in _BY_CODE:
            return _BY_CODE[code]
        if status in _BY_STATUS:
            return _BY_STATUS[status]
        if status >= _SERVER_FAULT and status != _NOT_IMPLEMENTED:
            return Answer.UNKNOWN
        return Answer.FAILED
    if isinstance(error, (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)):
        return Answer.NEVER_SENT
    if isinstance(error, (HTTPClientError, BotoConnectionError)):
        return Answer.UNKNOWN
    return Answer.FAILED


def code_and_status(error: ClientError) -> tuple[str, int]:
    """S3's code (the status as text where there was no body) and the HTTP status."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return code, status


def translate(error: BotoCoreError | ClientError, what: str, now: float) -> DispatchError:
    """The error to raise for one that is not to be tried again.

    Args:
        error: What botocore raised.
        what: What was being done, with the action's and the key's name.
        now: This machine's wall clock, in seconds since 1970, to tell by how much it is off.
    """
    if not isinstance(error, ClientError):
        return UnavailableError(f"{what}: {_short(error)}", hint=_UNREACHABLE)
    code, status = code_and_status(error)
    headers: Mapping[str, str] = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = headers.get("x-amz-bucket-region") or error.response.get("Error", {}).get("Region")
    if code == "NoSuchBucket":
        hint = "It is never created here: is its name right, and the endpoint?"
        return NotFoundError(f"{what}: there is no such bucket", kind="root-missing", hint=hint)
    if region and code in _WRONG_REGION:
        message = f"{what}: the bucket is in region {region}"
        return UnavailableError(message, kind="wrong-region", hint=f"Use -region {region}.")
    if code == "RequestTimeTooSkewed":
        message = f"{what}: this machine's clock is off{_by_how_much(headers, now)}"
        return UnavailableError(message, kind="clock-skew", hint="Set the clock (NTP).")
    if code in _BAD_KEYS:
        return CredentialsError(f"{what}: {_BAD_KEYS[code]} ({code})", kind="credentials-refused")
    if status == _FORBIDDEN:
        hint = (
            "The keys lack the right to do this. Without the right to list the bucket, S3 says 403 "
            "also where it means 404."
        )
        return RefusedError(f"{what}: access denied ({code})", hint=hint)
    return UnavailableError(f"{what}: the store answered {status} {code}", hint=_probe(status))


_UNREACHABLE = "Is the endpoint right, and reachable from this node?"
_FORBIDDEN = 403
_WRONG_REGION = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301"}
)
_BAD_KEYS = {
    "ExpiredToken": "the keys have expired",
    "InvalidAccessKeyId": "the access key is unknown",
    "InvalidToken": "the session token is not valid",
    "SignatureDoesNotMatch": "the secret key is wrong",
}


def _probe(status: int) -> str:
    if status == _NOT_IMPLEMENTED:
        return "This store can't create a name exclusively; see `publish probe`."
    return ""


def _by_how_much(headers: Mapping[str, str], now: float) -> str:
    try:
        seconds = round(parsedate_to_datetime(headers.get("date", "")).timestamp() - now)
    except ValueError:
        return ""
    return f" by {abs(seconds)} s ({'behind' if seconds > 0 else 'ahead of'} the store)"


def _short(error: BotoCoreError) -> str:
    """The error's kind and first line; botocore's messages may hold a whole URL, never keys."""
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
