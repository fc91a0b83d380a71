"""Signature version 4, as a server checks it: who asks, when, for what, and nothing unsigned."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from dispatch.testing.s3fake.answer import RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.testing.s3fake.request import Request

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
SKEW_S_MAX = 15 * 60  # S3's own limit, also Ceph's and SeaweedFS's (measured between 14 and 16)

_AUTHORIZATION = re.compile(
    rf"{ALGORITHM} Credential=([^,\s]*)/(\d{{8}})/([^/,\s]+)/([^/,\s]+)/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9A-Fa-f]{64})"
)
_STAMP = "%Y%m%dT%H%M%SZ"
_SPACES = re.compile(r"\s+")
_MUST_BE_SIGNED = frozenset({"host", "content-md5", "if-none-match"})
"""Besides all ``x-amz-…``. The condition too: a proxy that takes an unsigned one away makes of an
exclusive creation an overwriting, and nobody learns it.
"""


@dataclass(frozen=True, slots=True)
class Keys:
    """Who may ask.

    Attributes:
        access_key_id: The public half.
        secret_access_key: The secret half.
        session_token: What must come with temporary ones.
        expires_at: When they end, in seconds since 1970 by the fake's clock.
        denied: Actions that they may not take, such as ``s3:ListBucket``.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    denied: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Claim:
    """What an Authorization header claims."""

    access_key_id: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/aws4_request"


def verify(
    request: Request, keyring: Mapping[str, Keys], now: float, *, unsigned_payload: bool
) -> tuple[Keys, str]:
    """Whose request it is, and for which region it was signed.

    Args:
        request: With all its headers.
        keyring: All keys, by their access key's id.
        now: The server's clock, in seconds since 1970.
        unsigned_payload: Whether the body may be left out of the signature.

    Raises:
        RefusalError: With the status and the code that S3 gives.
    """
    claim = _parse(request)
    keys = _look_up(claim, request, keyring, now)
    _check_time(request, now)
    _check_signature(claim, keys, request)
    _check_headers(claim, request)
    _check_payload(request, unsigned_payload=unsigned_payload)
    return keys, claim.region


def _parse(request: Request) -> _Claim:
    header = request.headers.get("authorization")
    if header is None:
        raise RefusalError(403, "AccessDenied", "Access Denied")
    if not header.startswith(f"{ALGORITHM} "):
        raise RefusalError(400, "InvalidArgument", "Unsupported Authorization Type")
    match = _AUTHORIZATION.fullmatch(header)
    if match is None or match[4] != "s3":
        message = "The authorization header is malformed."
        raise RefusalError(400, "AuthorizationHeaderMalformed", message)
    return _Claim(match[1], match[2], match[3], match[4], tuple(match[5].split(";")), match[6])


def _look_up(claim: _Claim, request: Request, keyring: Mapping[str, Keys], now: float) -> Keys:
    keys = keyring.get(claim.access_key_id)
    token = request.headers.get("x-amz-security-token")
    if keys is None or (keys.session_token is not None and token is None):
        message = "The AWS Access Key Id you provided does not exist in our records."
        details = {"AWSAccessKeyId": claim.access_key_id}
        raise RefusalError(403, "InvalidAccessKeyId", message, details=details)
    if token != keys.session_token:
        message = "The provided token is malformed or otherwise invalid."
        raise RefusalError(400, "InvalidToken", message)
    if keys.expires_at is not None and now >= keys.expires_at:
        raise RefusalError(400, "ExpiredToken", "The provided token has expired.")
    return keys


def _check_time(request: Request, now: float) -> None:
    stamp = request.headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC).timestamp()
    except ValueError:
        message = "AWS authentication requires a valid Date or x-amz-date header"
        raise RefusalError(403, "AccessDenied", message) from None
    if abs(now - signed_at) > SKEW_S_MAX:
        message = "The difference between the request time and the current time is too large."
        server_time = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        limit = {"MaxAllowedSkewMilliseconds": str(SKEW_S_MAX * 1000)}
        details = {"RequestTime": stamp, "ServerTime": server_time, **limit}
        raise RefusalError(403, "RequestTimeTooSkewed", message, details=details)


def _check_signature(claim: _Claim, keys: Keys, request: Request) -> None:
    canonical = _canonical_request(claim, request)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    stamp = request.headers["x-amz-date"]
    to_sign = f"{ALGORITHM}\n{stamp}\n{claim.scope}\n{digest}"
    expected = hmac.new(_signing_key(keys, claim), to_sign.encode(), "sha256").hexdigest()
    if hmac.compare_digest(expected, claim.signature) and stamp.startswith(claim.date):
        return
    message = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your key and signing method."
    )
    details = {
        "AWSAccessKeyId": claim.access_key_id,
        "StringToSign": to_sign,
        "SignatureProvided": claim.signature,
        "CanonicalRequest": canonical,  # S3 repeats it, a session token's header too
    }
    raise RefusalError(403, "SignatureDoesNotMatch", message, details=details)


def _check_headers(claim: _Claim, request: Request) -> None:
    unsigned = [
        name
        for name in request.headers
        if (name in _MUST_BE_SIGNED or name.startswith("x-amz-"))
        and name not in claim.signed_headers
    ]
    if unsigned:
        message = "There were headers present in the request which were not signed"
        details = {"HeadersNotSigned": ", ".join(unsigned)}
        raise RefusalError(403, "AccessDenied", message, details=details)


def _check_payload(request: Request, *, unsigned_payload: bool) -> None:
    claimed = request.headers.get("x-amz-content-sha256", "")
    if claimed == UNSIGNED_PAYLOAD:
        if not unsigned_payload:
            message = "the body must be signed: without TLS anybody could change it"
            raise RefusalError(403, "AccessDenied", message)
        return
    computed = hashlib.sha256(request.body).hexdigest()
    if claimed != computed:
        message = "The provided 'x-amz-content-sha256' header does not match what was computed."
        details = {"ClientComputedContentSHA256": claimed, "S3ComputedContentSHA256": computed}
        raise RefusalError(400, "XAmzContentSHA256Mismatch", message, details=details)


def _canonical_request(claim: _Claim, request: Request) -> str:
    query = sorted((_encode(name), _encode(value)) for name, value in request.query.items())
    headers = [
        f"{name}:{_SPACES.sub(' ', request.headers.get(name, '').strip())}\n"
        for name in claim.signed_headers
    ]
    return "\n".join(
        [
            request.method,
            quote(unquote_to_bytes(request.path), safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in query),
            "".join(headers),
            ";".join(claim.signed_headers),
            request.headers.get("x-amz-content-sha256", ""),
        ]
    )


def _signing_key(keys: Keys, claim: _Claim) -> bytes:
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in claim.scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return key


def _encode(text: str) -> str:
    return quote(text, safe="-_.~")
