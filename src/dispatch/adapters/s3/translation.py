"""From what botocore raises to errors that say what to do; no word of a server is repeated.

A server's words can hold what it was sent, a session token too: only its code is shown.
"""

from __future__ import annotations

import traceback
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError, SSLError

from dispatch.adapters.s3.answers import (
    NOT_IMPLEMENTED,
    IncompleteAnswerError,
    code_and_status,
    headers_of,
)
from dispatch.errors import (
    CredentialsError,
    DispatchError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORBIDDEN = 403
_NOT_MODIFIED = 304
_CONDITIONAL = "PutObject"  # our only request with a condition, and each of them has it
_MOVED = frozenset({301, 307, 400})  # how S3 answers when a bucket is in another region
_SKEW_S_MAX = 900  # S3's own limit
_CODE_LETTERS_MAX = 64
_BAD_KEYS = {
    "ExpiredToken": "the keys have expired",
    "InvalidAccessKeyId": "the access key is unknown, or its session token is wrong or expired",
    "InvalidToken": "the session token is wrong or expired",
    "SignatureDoesNotMatch": "the secret key is wrong",
}
_PLACES_SHOWN = 4  # of a fault, from where it was raised outwards


def translate(error: Exception, what: str, region: str, now: float) -> DispatchError:
    """The error to raise for one that is not to be tried again.

    Args:
        error: One of `dispatch.adapters.s3.answers.FOREIGN`.
        what: What was being done: the action and the key.
        region: The one that requests are signed for.
        now: This machine's wall clock, in seconds since 1970, to tell by how much it is off.
    """
    if isinstance(error, ClientError):
        return _of_refusal(error, what, region, now)
    if isinstance(error, IncompleteAnswerError):
        return UnavailableError(f"the answer was cut off or no answer of S3: {what}: {error}")
    if isinstance(error, SSLError):
        hint = "Is the endpoint right? With certificates of one's own, use -ca-file."
        return UnavailableError(f"no trust in the store's certificate: {what}", hint=hint)
    if isinstance(error, BotoCoreError):
        hint = (
            "Are the endpoint and the proxy right, and reachable from this node? With -addressing "
            "virtual the bucket is a part of the host's name."
        )
        where = error.kwargs.get("endpoint_url") or error.kwargs.get("proxy_url") or ""
        at = f" from {where.partition('?')[0]}" if isinstance(where, str) and where else ""
        return UnavailableError(f"no answer{at}: {what} ({type(error).__name__})", hint=hint)
    return UnavailableError(f"the answer does not parse: {what} ({type(error).__name__})")


def fault_in(error: Exception, what: str) -> RuntimeError:
    """What nobody expected of botocore, by where it was raised.

    Its words, what it was raised from and the frames that it passed may hold what was sent.
    """
    passed = traceback.extract_tb(error.__traceback__)[: -_PLACES_SHOWN - 1 : -1]
    places = ", ".join(f"{place.filename}:{place.lineno} in {place.name}" for place in passed)
    return RuntimeError(f"{type(error).__name__} during {what}: raised at {places}")


def _of_refusal(error: ClientError, what: str, region: str, now: float) -> DispatchError:
    code, status = code_and_status(error)
    of_settings = _of_settings(error, what, region, now)
    if of_settings is not None:
        return of_settings
    if status == _FORBIDDEN or code == "400":
        return _of_denial(code, what)
    if status in {_NOT_MODIFIED, NOT_IMPLEMENTED} and what.startswith(_CONDITIONAL):
        message = f"the store answered {_answer(status, code)}: {what}"
        hint = "It is not one that creates a name exclusively as S3 does."
        return RefusedError(message, kind="condition-refused", hint=hint)
    if code in {"KeyTooLongError", "InvalidObjectName"}:
        return InvalidInputError(f"the key is too long for the store ({code}): {what}")
    return UnavailableError(f"the store answered {_answer(status, code)}: {what}")


def _answer(status: int, code: str) -> str:
    """A status, with S3's code where there is one."""
    return str(status) if code == str(status) else f"{status} {_shown(code)}"


def _of_settings(error: ClientError, what: str, region: str, now: float) -> DispatchError | None:
    """What is wrong with the bucket's name, the region, the clock or the keys; None: nothing."""
    code, _ = code_and_status(error)
    right_region = _right_region(error, region)
    skew = _skew(headers_of(error), now)
    if code == "NoSuchBucket":
        hint = "It is never created here: are its name and the endpoint right?"
        return NotFoundError(f"there is no such bucket: {what}", hint=hint)
    if right_region:
        message = f"the bucket is in region {right_region}, not {region}: {what}"
        return RefusedError(message, kind="wrong-region", hint=f"Use -region {right_region}.")
    if code == "RequestTimeTooSkewed" or (code == "403" and abs(skew) > _SKEW_S_MAX):
        return _of_skew(skew, what)
    if code in _BAD_KEYS:
        hint = "Renew them where they are taken from, or name another source with -creds."
        message = f"{_BAD_KEYS[code]} ({code}): {what}"
        return CredentialsError(message, kind="credentials-refused", hint=hint)
    return None


def _of_skew(skew: float, what: str) -> DispatchError:
    side = "behind" if skew > 0 else "ahead of"
    off = f"{abs(skew):.0f} s {side} the store's" if skew else "too far from the store's"
    message = f"this machine's clock is {off}: {what}"
    return UnavailableError(message, kind="clock-skew", hint="Set the clock (NTP).")


def _of_denial(code: str, what: str) -> DispatchError:
    if code in {"400", "403"}:
        hint = (
            "The answer to a HEAD doesn't say why: the keys lack the right, or are wrong or "
            "expired; without the right to list the bucket, S3 says 403 where it means 404."
        )
        return RefusedError(f"access denied, or the keys aren't valid ({code}): {what}", hint=hint)
    hint = "Give the keys the right to do this, and to list the bucket."
    return RefusedError(f"access denied ({_shown(code)}): {what}", hint=hint)


def _right_region(error: ClientError, region: str) -> str:
    """The region that the answer names, when another one was asked; else nothing."""
    code, status = code_and_status(error)
    said = error.response.get("Error", {}).get("Region")
    named = headers_of(error).get("x-amz-bucket-region") or said or ""
    is_moved = status in _MOVED or code == "IllegalLocationConstraintException"
    is_region = isinstance(named, str) and named.replace("-", "").isalnum() and named.isascii()
    return str(named) if is_moved and is_region and named != region else ""


def _skew(headers: Mapping[str, str], now: float) -> float:
    """By how many seconds the store's clock is ahead of this machine's; 0 when it isn't told."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp() - now
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _shown(code: str) -> str:
    """A code of S3, or nothing where it is something else."""
    return code if code.isalnum() and len(code) <= _CODE_LETTERS_MAX else "without a code"
