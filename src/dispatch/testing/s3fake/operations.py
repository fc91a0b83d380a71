"""What each operation does, once it is known who asks and that nothing goes wrong by script."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from dataclasses import dataclass
from email.utils import formatdate
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from dispatch.testing.s3fake.answer import (
    NAMESPACE,
    Answer,
    RefusalError,
    UnexpectedCallError,
    document,
)
from dispatch.testing.s3fake.faults import EmptyPage, KeepKeys, LoseToken, RepeatToken
from dispatch.testing.s3fake.listing import Tokens, empty_page, make_page, parse_ask, render
from dispatch.testing.s3fake.objects import Stored, check_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dispatch.testing.s3fake.answer import Node
    from dispatch.testing.s3fake.faults import Fault
    from dispatch.testing.s3fake.objects import Bucket
    from dispatch.testing.s3fake.request import Request
    from dispatch.testing.s3fake.signature import Keys

_BATCH_KEYS_MAX = 1000  # of one DeleteObjects, as S3 has it

_ACTIONS = {
    "PutObject": "s3:PutObject",
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "DeleteObject": "s3:DeleteObject",
    "ListObjectsV2": "s3:ListBucket",
}

_KNOWN_HEADERS = frozenset(
    {
        "x-amz-checksum-crc32",
        "x-amz-checksum-mode",
        "x-amz-checksum-sha1",
        "x-amz-checksum-sha256",
        "x-amz-content-sha256",
        "x-amz-date",
        "x-amz-sdk-checksum-algorithm",
        "x-amz-security-token",
        "x-amz-user-agent",
    }
)
_UNKNOWN_HEADERS = frozenset(
    {
        "content-encoding",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "range",
    }
)

_CHECKSUMS: Mapping[str, Callable[[bytes], bytes]] = {
    "content-md5": lambda body: hashlib.md5(body, usedforsecurity=False).digest(),
    "x-amz-checksum-crc32": lambda body: zlib.crc32(body).to_bytes(4, "big"),
    "x-amz-checksum-sha1": lambda body: hashlib.sha1(body, usedforsecurity=False).digest(),
    "x-amz-checksum-sha256": lambda body: hashlib.sha256(body).digest(),
}


def check_expected(request: Request) -> None:
    """Refuse what the fake is not made for, rather than ignore a part of it.

    Raises:
        UnexpectedCallError: Another operation, or a header that would change what one means.
    """
    if not request.operation:
        raise UnexpectedCallError("no operation that the fake knows")
    for name in request.headers:
        if name == "if-none-match" and request.operation == "PutObject":
            _check_condition(request.headers[name])
        elif name in _UNKNOWN_HEADERS or (name.startswith("x-amz-") and name not in _KNOWN_HEADERS):
            raise UnexpectedCallError(f"{request.operation} with the header {name}")


def _check_condition(value: str) -> None:
    if value != "*":
        message = (
            f"PutObject with If-None-Match: {value}: only a bare * is the condition that no "
            "object is there; with anything else real stores overwrite it"
        )
        raise UnexpectedCallError(message)


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations on one fake's buckets.

    Attributes:
        tokens: Of listings.
        now: The server's clock, in seconds since 1970.
        page_size: The most keys of one page, at most 1,000.
    """

    tokens: Tokens
    now: Callable[[], float]
    page_size: int

    def do(self, request: Request, bucket: Bucket, keys: Keys, fault: Fault | None) -> Answer:
        """Do what ``request`` asks for.

        Raises:
            RefusalError: S3 would refuse it, too.
            UnexpectedCallError: It asks for more than the fake can do.
        """
        if request.operation == "DeleteObjects":
            return _delete_objects(request, bucket, keys, fault)
        if _ACTIONS[request.operation] in keys.denied:
            raise RefusalError(403, "AccessDenied", "Access Denied")
        if request.operation == "ListObjectsV2":
            return self._list(request, bucket, fault)
        check_key(request.key)
        if request.operation == "PutObject":
            return self._put(request, bucket)
        if request.operation == "DeleteObject":
            bucket.remove(request.key)
            return Answer(204)
        return _get(request, bucket, keys)

    def _put(self, request: Request, bucket: Bucket) -> Answer:
        _check_integrity(request, is_required=False)
        stored = Stored(request.body, self.now())
        if not bucket.put(request.key, stored, only_new="if-none-match" in request.headers):
            message = "At least one of the pre-conditions you specified did not hold"
            details = {"Condition": "If-None-Match"}
            raise RefusalError(412, "PreconditionFailed", message, details=details)
        return Answer(200, {"ETag": stored.etag})

    def _list(self, request: Request, bucket: Bucket, fault: Fault | None) -> Answer:
        ask = parse_ask(request.query)
        page = make_page(bucket, ask, self.tokens, self.page_size)
        match fault:
            case EmptyPage():
                page = empty_page(bucket, ask, self.tokens)
            case LoseToken():
                page.is_truncated, page.next_token = True, None
            case RepeatToken():
                again = ask.token or empty_page(bucket, ask, self.tokens).next_token
                page.is_truncated, page.next_token = True, again
            case _:
                pass
        return render(bucket, ask, page)


def _get(request: Request, bucket: Bucket, keys: Keys) -> Answer:
    stored = bucket.get(request.key)
    if stored is None and "s3:ListBucket" in keys.denied:
        # Who may not list may not learn whether a key is there either.
        raise RefusalError(403, "AccessDenied", "Access Denied")
    if stored is None:
        message = "The specified key does not exist."
        raise RefusalError(404, "NoSuchKey", message, details={"Key": request.key})
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Type": "binary/octet-stream",
        "ETag": stored.etag,
        "Last-Modified": formatdate(stored.modified_at, usegmt=True),
    }
    return Answer(200, headers, stored.body)


def _delete_objects(request: Request, bucket: Bucket, keys: Keys, fault: Fault | None) -> Answer:
    _check_integrity(request, is_required=True)
    names, is_quiet = _parse_delete(request.body)
    kept = dict(fault.codes) if isinstance(fault, KeepKeys) else {}
    if "s3:DeleteObject" in keys.denied:
        kept |= dict.fromkeys(names, "AccessDenied")
    nodes: list[Node] = []
    for name in reversed(names):  # Ceph answers in no order that one could rely on
        if name in kept:
            error: list[Node] = [("Key", name), ("Code", kept[name]), ("Message", kept[name])]
            nodes.append(("Error", error))
            continue
        bucket.remove(name)
        if not is_quiet:
            nodes.append(("Deleted", [("Key", name)]))
    return Answer(200, {"Content-Type": "application/xml"}, document("DeleteResult", nodes))


def _parse_delete(body: bytes) -> tuple[list[str], bool]:
    """The keys to delete, and whether the answer is to leave out those that were."""
    message = "The XML you provided was not well-formed or did not validate against our schema"
    malformed = RefusalError(400, "MalformedXML", message)
    try:
        root = ET.fromstring(body)  # noqa: S314 - only tests talk to the fake
    except ET.ParseError:
        raise malformed from None
    names, is_quiet = [], False
    for child in root:
        match _local(child), [(_local(part), part.text or "") for part in child]:
            case "Quiet", []:
                is_quiet = (child.text or "").strip().lower() == "true"
            case "Object", [("Key", name)]:
                names.append(name)
            case name, parts:
                told = ", ".join(part for part, _ in parts)
                raise UnexpectedCallError(f"DeleteObjects with {name} of {told or 'nothing'}")
    if _local(root) != "Delete" or not 1 <= len(names) <= _BATCH_KEYS_MAX:
        raise malformed
    for name in names:
        check_key(name)
    return names, is_quiet


def _local(element: ET.Element) -> str:
    """The element's name without S3's namespace, which clients may leave out."""
    return element.tag.removeprefix(f"{{{NAMESPACE}}}")


def _check_integrity(request: Request, *, is_required: bool) -> None:
    claims = {name: value for name, value in request.headers.items() if name in _CHECKSUMS}
    if is_required and not claims:
        message = "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
        raise RefusalError(400, "InvalidRequest", message)
    for name, value in claims.items():
        computed = _CHECKSUMS[name](request.body)
        try:
            claimed = base64.b64decode(value, validate=True)
        except binascii.Error:
            claimed = b""
        if len(claimed) != len(computed):
            raise RefusalError(400, "InvalidDigest", f"The {name} you specified is not valid.")
        if claimed != computed:
            message = f"The {name} you specified did not match what we received."
            raise RefusalError(400, "BadDigest", message)
