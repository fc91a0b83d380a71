"""What answers a request, whatever carries it: record, admit, let go wrong, do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from email.utils import formatdate
from threading import Lock
from typing import TYPE_CHECKING

from dispatch.testing.s3fake.answer import Answer, RefusalError, UnexpectedCallError
from dispatch.testing.s3fake.connection import Message, Reply
from dispatch.testing.s3fake.faults import (
    After,
    Before,
    Drip,
    LoseReply,
    Refuse,
    Reset,
    Say,
    Script,
)
from dispatch.testing.s3fake.operations import Operations, check_expected
from dispatch.testing.s3fake.request import Request, find_bucket, parse_query, split_target
from dispatch.testing.s3fake.signature import Keys, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dispatch.testing.s3fake.faults import Fault
    from dispatch.testing.s3fake.objects import Bucket


@dataclass(slots=True)
class Service:
    """The state of one fake.

    Attributes:
        region: A request for a bucket that is not there must be signed for it.
        domain: A bucket may also be named in the host: ``BUCKET.DOMAIN``.
        unsigned_payload: Whether a body may be left out of the signature.
        operations: What each does.
        lock: Held to change any of the following.
        buckets: By name.
        keyring: Who may ask, by access key.
        script: What goes wrong.
        requests: What came so far.
        unexpected: What should not have come, in words.
    """

    region: str
    domain: str
    unsigned_payload: bool
    operations: Operations
    lock: Lock = field(default_factory=Lock)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    keyring: dict[str, Keys] = field(default_factory=dict)
    script: Script = field(default_factory=Script)
    requests: list[Request] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def respond(self, message: Message) -> Reply:
        """Answer one request. Never raises."""
        with self.lock:
            number = next(self._numbers)
        request_id = f"{number:016X}"
        fault, is_unexpected = None, False
        try:
            request = self._record(number, message)
            keys, bucket = self._admit(request, message)
            fault = self.script.take(request)
            answer = self._act(request, bucket, keys, fault)
        except RefusalError as refusal:
            answer = refusal.answer(message.target, request_id)
        except (UnexpectedCallError, UnicodeDecodeError) as error:
            is_unexpected = True
            self.unexpected.append(f"{message.method} {message.target}: {error}")
            not_implemented = RefusalError(501, "NotImplemented", str(error))
            answer = not_implemented.answer(message.target, request_id)
        if isinstance(fault, Reset):
            return Reply(None)
        date = formatdate(self.operations.now(), usegmt=True)
        common = {"Date": date, "Server": "s3fake", "x-amz-request-id": request_id}
        data = answer.encode(common, head_only=message.method == "HEAD")
        delivery = fault if isinstance(fault, (LoseReply, Drip)) else None
        return Reply(data, delivery, is_unexpected)

    def _record(self, number: int, message: Message) -> Request:
        proxied_host, path, query = split_target(message.target)
        host = message.headers.get("host", proxied_host)
        bucket, key = find_bucket(host, path, self.domain)
        request = Request(
            number=number,
            method=message.method,
            bucket=bucket,
            key=key,
            query=parse_query(query),
            headers=message.headers,
            body=message.body or b"",
            path=path,
        )
        with self.lock:
            self.requests.append(request)
        return request

    def _admit(self, request: Request, message: Message) -> tuple[Keys, Bucket]:
        """Who asks, and for which bucket, once both are known to be right."""
        if request.operation and message.body is None:
            text = "You must provide the Content-Length HTTP header."
            raise RefusalError(411, "MissingContentLength", text)
        check_expected(request)
        with self.lock:
            keyring, bucket = dict(self.keyring), self.buckets.get(request.bucket)
        now = self.operations.now()
        keys, region = verify(request, keyring, now, unsigned_payload=self.unsigned_payload)
        expected = self.region if bucket is None else bucket.region
        if region != expected:
            raise _wrong_region(region, expected, redirects=bool(bucket and bucket.redirects))
        if bucket is None:
            text = "The specified bucket does not exist"
            raise RefusalError(404, "NoSuchBucket", text, details={"BucketName": request.bucket})
        return keys, bucket

    def _act(self, request: Request, bucket: Bucket, keys: Keys, fault: Fault | None) -> Answer:
        match fault:
            case Reset():
                return Answer(0)
            case Refuse(status, code, text, headers):
                raise RefusalError(status, code, text, headers=headers)
            case Say(status, body, content_type):
                return Answer(status, {"Content-Type": content_type}, body)
            case Before(action):
                _play(action)
                return self.operations.do(request, bucket, keys, None)
            case After(action):
                try:
                    return self.operations.do(request, bucket, keys, None)
                finally:
                    _play(action)
            case _:
                return self.operations.do(request, bucket, keys, fault)


def _play(action: Callable[[], object]) -> None:
    try:
        action()
    except Exception as error:
        raise UnexpectedCallError(f"a scripted action raised {error!r}") from error


def _wrong_region(region: str, expected: str, *, redirects: bool) -> RefusalError:
    if redirects:
        text = "The bucket you are attempting to access must be addressed at another endpoint."
        details = {"Endpoint": f"s3.{expected}.amazonaws.com"}
        headers = {"x-amz-bucket-region": expected}
        return RefusalError(301, "PermanentRedirect", text, details=details, headers=headers)
    text = (
        "The authorization header is malformed; "
        f"the region '{region}' is wrong; expecting '{expected}'"
    )
    return RefusalError(400, "AuthorizationHeaderMalformed", text, details={"Region": expected})
