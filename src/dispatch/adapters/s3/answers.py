"""What an answer of S3 means: one table, which the tests are made from."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
    SSLError,
)
from botocore.exceptions import (
    ConnectionError as BotoConnectionError,
)
from botocore.parsers import ResponseParserError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = frozenset({"Code", "Region", "x-amz-bucket-region"})
_PIECE_MIN = 8  # characters: a shorter piece of a secret gives nothing away, and may be a word


class IncompleteAnswerError(Exception):
    """An answer of success that lacks what each whole one has: it proves nothing."""


FOREIGN = (BotoCoreError, ClientError, ResponseParserError, ValueError, IncompleteAnswerError)
"""What a call of botocore raises. A malformed date in an answer is a bare `ValueError`."""


class Answer(Enum):
    """What to do about a request that did not succeed."""

    ABSENT = "absent"
    EXISTS = "exists"
    CONFLICT = "conflict"
    EXPIRED = "expired"
    MAYBE_EXPIRED = "maybe-expired"
    NEVER_SENT = "never-sent"
    UNKNOWN = "unknown"
    FAILED = "failed"


BY_CODE = {
    "404": Answer.ABSENT,  # of a HEAD, whose code is the status
    "NoSuchKey": Answer.ABSENT,
    "PreconditionFailed": Answer.EXISTS,
    "ConditionalRequestConflict": Answer.CONFLICT,
    "OperationAborted": Answer.CONFLICT,
    "ExpiredToken": Answer.EXPIRED,
    "ExpiredTokenException": Answer.EXPIRED,
    "TokenRefreshRequired": Answer.EXPIRED,
    # SeaweedFS says these of session tokens that have expired, too; a HEAD never says more.
    "InvalidAccessKeyId": Answer.MAYBE_EXPIRED,
    "InvalidToken": Answer.MAYBE_EXPIRED,
    "400": Answer.MAYBE_EXPIRED,
    "403": Answer.MAYBE_EXPIRED,
    "InternalError": Answer.UNKNOWN,
    "ServiceUnavailable": Answer.UNKNOWN,
    "SlowDown": Answer.UNKNOWN,
    "RequestTimeout": Answer.UNKNOWN,
    "Throttling": Answer.UNKNOWN,
}
"""By S3's code, which goes before the status."""

BY_STATUS = {409: Answer.CONFLICT, 412: Answer.EXISTS, 429: Answer.UNKNOWN}
NOT_IMPLEMENTED = 501
_SERVER_FAULT = 500
_NEVER_SENT = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)
_CUT_OFF = (HTTPClientError, BotoConnectionError, IncompleteReadError)
_CERTIFICATE = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER", "UNKNOWN_CA")
"""Of TLS: what no second try changes."""


def classify(error: Exception) -> Answer:
    """What ``error``, one of `FOREIGN`, means, whatever was asked."""
    if isinstance(error, ClientError):
        return _classify_refusal(*code_and_status(error))
    if isinstance(error, _NEVER_SENT):
        return Answer.NEVER_SENT
    if isinstance(error, SSLError) and is_certificate_error(error):
        return Answer.FAILED
    if isinstance(error, BotoCoreError) and not isinstance(error, _CUT_OFF):
        return Answer.FAILED  # nothing was sent: a setting is wrong
    return Answer.UNKNOWN


def _classify_refusal(code: str, status: int) -> Answer:
    if code in BY_CODE:
        return BY_CODE[code]
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status >= _SERVER_FAULT and status != NOT_IMPLEMENTED:
        return Answer.UNKNOWN
    return Answer.FAILED


def is_certificate_error(error: SSLError) -> bool:
    """Whether the other side is not to be trusted, or speaks no TLS at all."""
    return any(word in str(error).upper().replace(" ", "_") for word in _CERTIFICATE)


def code_and_status(error: ClientError) -> tuple[str, int]:
    """S3's code (the status as text where there was no body) and the HTTP status."""
    code = str(error.response.get("Error", {}).get("Code") or "")
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return code, status


def headers_of(error: ClientError) -> Mapping[str, str]:
    """The headers of an answer, by lower-case name."""
    headers: Mapping[str, str] = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return headers


def conceal(answer: Mapping[str, Any] | Exception, secret: str | None) -> None:
    """Take out of an answer what would be shown of it, where that repeats a secret that was sent.

    Args:
        answer: As botocore has parsed it, or what it raised.
        secret: The session token, the one secret that is sent.
    """
    parsed: Any = answer.response if isinstance(answer, ClientError) else answer
    if not secret or isinstance(parsed, Exception):
        return
    headers = parsed.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    for told in (headers, parsed.get("Error", {}), *parsed.get("Errors", ())):
        for name in _SHOWN & told.keys():
            word = str(told[name])
            if secret in word or (len(word) >= _PIECE_MIN and word in secret):
                told[name] = ""
