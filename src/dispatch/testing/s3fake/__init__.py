r"""An S3 server for tests, in this process, stricter than S3, Ceph and SeaweedFS together.

It holds buckets in memory and answers PutObject (also with ``If-None-Match: *``), GetObject,
HeadObject, ListObjectsV2, DeleteObject and DeleteObjects. It is for clients that are being
tested, so what a real store lets pass, or each store answers in a way of its own, is refused:

- Every request must be signed (signature version 4 in the Authorization header), for the right
  region, by keys that haven't ended, within 15 minutes of the server's clock, with the condition
  and every ``x-amz-…`` header signed, and its body too unless the connection is encrypted.
- Any call beyond those, a condition other than a bare ``*``, a header or parameter that would
  change what a call means: all are answered with 501 and make `S3Fake.close` raise.
- Tokens of listings tell nothing and fit nowhere else, and a batch answers in another order.
- Keys that SeaweedFS would keep under another name (``a//b``, ``a\b``) are refused, as is an
  exclusive creation of ``a`` where ``a/b`` is.

Whatever can go wrong can be scripted, for the requests that a test names. For example, the reply
to a publication is lost, and the client must find out whether it happened::

    from dispatch.testing.s3fake import LoseReply, S3Fake, on

    with S3Fake() as fake:
        fake.create_bucket("runs")
        fake.script(LoseReply(), on("PutObject", prefix="job/pub/"))
        client = make_client(fake.url, fake.keys.access_key_id, fake.keys.secret_access_key)
        client.publish("s3://runs/job", ...)
        assert fake.counts()["PutObject"] == 2  # the lost one, and the one that got 412
        assert len(fake.names("runs", "job/pub/")) == 1

At its end the ``with`` raises `S3FakeError` when a call was unexpected, or when a scripted fault
never happened. It needs nothing but the standard library.
"""

from __future__ import annotations

from dispatch.testing.s3fake.faults import (
    ABORTED,
    ACCESS_DENIED,
    CONFLICT,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    NOT_IMPLEMENTED,
    NOT_MODIFIED,
    PRECONDITION_FAILED,
    SLOW_DOWN,
    After,
    Before,
    Drip,
    EmptyPage,
    KeepKeys,
    LoseReply,
    LoseToken,
    Refuse,
    RepeatToken,
    Reset,
    Say,
    on,
)
from dispatch.testing.s3fake.objects import directory_order, utf8_order
from dispatch.testing.s3fake.request import Request
from dispatch.testing.s3fake.server import S3Fake, S3FakeError
from dispatch.testing.s3fake.signature import Keys

__all__ = [
    "ABORTED",
    "ACCESS_DENIED",
    "CONFLICT",
    "EXPIRED_TOKEN",
    "INTERNAL_ERROR",
    "NOT_IMPLEMENTED",
    "NOT_MODIFIED",
    "PRECONDITION_FAILED",
    "SLOW_DOWN",
    "After",
    "Before",
    "Drip",
    "EmptyPage",
    "KeepKeys",
    "Keys",
    "LoseReply",
    "LoseToken",
    "Refuse",
    "RepeatToken",
    "Request",
    "Reset",
    "S3Fake",
    "S3FakeError",
    "Say",
    "directory_order",
    "on",
    "utf8_order",
]
