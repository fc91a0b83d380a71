"""`dispatch.testing.s3fake`: what it refuses beyond real stores, and what goes wrong by script.

That it agrees with real stores is tests/real/test_s3_conformance.py's to say.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import botocore.session
import pytest
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ReadTimeoutError,
)

from dispatch.testing import s3fake
from dispatch.testing.s3fake import S3Fake, S3FakeError, on
from tests.servers.s3 import Keys, S3Server
from tests.servers.stores import outcome

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

OK = (200, "ok")
EXISTS = (412, "PreconditionFailed")
UNEXPECTED = (501, "NotImplemented")


@pytest.fixture
def fake() -> Iterator[S3Fake]:
    """A fake with one bucket; unexpected calls fail the test."""
    with S3Fake() as fake:
        fake.create_bucket("runs")
        yield fake


@pytest.fixture
def clumsy() -> Iterator[S3Fake]:
    """A fake whose `close` must find fault with the test."""
    fake = S3Fake()
    fake.create_bucket("runs")
    yield fake
    with pytest.raises(S3FakeError):
        fake.close()


def client_of(fake: S3Fake, keys: s3fake.Keys | None = None, **settings: object) -> S3Client:
    """Make a client for a fake."""
    keys = keys or fake.keys
    mine = Keys(keys.access_key_id, keys.secret_access_key, keys.session_token)
    return S3Server("s3fake", "", fake.url).client(mine, **settings)  # type: ignore[arg-type]  # none is a region


def create(client: S3Client, key: str = "k") -> tuple[int, str]:
    """Create an object exclusively."""
    return outcome(lambda: client.put_object(Bucket="runs", Key=key, Body=b"", IfNoneMatch="*"))


def listed(client: S3Client, **asked: object) -> tuple[int, str]:
    """List one page."""
    return outcome(lambda: client.list_objects_v2(Bucket="runs", **asked))  # type: ignore[arg-type]  # a few of its own


# ----------------------------------------------------------------------------- unexpected

UNEXPECTED_CALLS: dict[str, Callable[[S3Client], object]] = {
    "a quoted star": lambda c: c.put_object(Bucket="runs", Key="k", IfNoneMatch='"*"'),
    "an etag": lambda c: c.put_object(Bucket="runs", Key="k", IfNoneMatch='"0"'),
    "if-match": lambda c: c.put_object(Bucket="runs", Key="k", IfMatch='"0"'),
    "metadata": lambda c: c.put_object(Bucket="runs", Key="k", Metadata={"a": "b"}),
    "a storage class": lambda c: c.put_object(Bucket="runs", Key="k", StorageClass="GLACIER"),
    "a range": lambda c: c.get_object(Bucket="runs", Key="k", Range="bytes=0-1"),
    "a version": lambda c: c.get_object(Bucket="runs", Key="k", VersionId="1"),
    "a copy": lambda c: c.copy_object(Bucket="runs", Key="k", CopySource="runs/other"),
    "parts": lambda c: c.create_multipart_upload(Bucket="runs", Key="k"),
    "the old listing": lambda c: c.list_objects(Bucket="runs"),
    "owners": lambda c: c.list_objects_v2(Bucket="runs", FetchOwner=True),
    "versions": lambda c: c.list_object_versions(Bucket="runs"),
    "a batch of versions": lambda c: c.delete_objects(
        Bucket="runs", Delete={"Objects": [{"Key": "k", "VersionId": "1"}]}
    ),
    "making a bucket": lambda c: c.create_bucket(Bucket="other"),
    "all buckets": lambda c: c.list_buckets(),
}


@pytest.mark.parametrize("call", UNEXPECTED_CALLS.values(), ids=UNEXPECTED_CALLS)
def test_an_unexpected_call_is_refused_and_fails_the_test(
    clumsy: S3Fake, call: Callable[[S3Client], object]
) -> None:
    client = client_of(clumsy)
    assert outcome(lambda: call(client)) == UNEXPECTED
    [what] = clumsy.unexpected
    assert clumsy.names("runs") == []
    with pytest.raises(S3FakeError, match="unexpected: "):
        clumsy.close()
    assert what.startswith(("PUT", "GET", "POST"))


def test_the_unexpected_call_does_not_hide_the_error_of_the_test() -> None:
    def test() -> None:
        with S3Fake() as fake:
            outcome(client_of(fake).list_buckets)
            message = "mine"
            raise KeyError(message)

    with pytest.raises(KeyError, match="mine"):
        test()


def test_any_method_of_http_is_seen(clumsy: S3Fake) -> None:
    connection = http.client.HTTPConnection(urlsplit(clumsy.url).netloc, timeout=10)
    connection.request("PROPFIND", "/runs/k")
    assert connection.getresponse().status == 501
    connection.close()
    assert clumsy.unexpected == ["PROPFIND /runs/k: no operation that the fake knows"]


def test_a_fault_that_never_happens_fails_the_test(clumsy: S3Fake) -> None:
    clumsy.script(s3fake.SLOW_DOWN, on("PutObject", key="k"))
    assert create(client_of(clumsy), "other") == OK
    with pytest.raises(S3FakeError, match="it never happened: Refuse"):
        clumsy.close()


def test_an_operation_that_is_not_there_cannot_be_named() -> None:
    with pytest.raises(ValueError, match="operation 'Put' is not one of: PutObject"):
        on("Put")


# --------------------------------------------------------------------------------- seeing


def test_every_request_is_recorded(fake: S3Fake) -> None:
    client = client_of(fake)
    create(client, "a b/c")
    listed(client, Prefix="a b/", Delimiter="/")
    outcome(lambda: client.head_object(Bucket="runs", Key="absent"))
    seen = [(r.number, r.operation, r.method, r.bucket, r.key) for r in fake.requests]
    assert seen == [
        (1, "PutObject", "PUT", "runs", "a b/c"),
        (2, "ListObjectsV2", "GET", "runs", ""),
        (3, "HeadObject", "HEAD", "runs", "absent"),
    ]
    assert fake.requests[1].query["prefix"] == "a b/"
    assert fake.counts() == {"PutObject": 1, "ListObjectsV2": 1, "HeadObject": 1}
    assert "authorization" in fake.requests[0].headers
    assert "fakeaccess" not in repr(fake.requests)


def test_what_others_do_is_seen(fake: S3Fake) -> None:
    fake.put("runs", "pub/", b"")
    fake.put("runs", "k", b"theirs")
    client = client_of(fake)
    assert create(client, "k") == EXISTS
    with client.get_object(Bucket="runs", Key="k")["Body"] as body:
        assert body.read() == b"theirs" == fake.get("runs", "k")
    assert [item["Key"] for item in client.list_objects_v2(Bucket="runs")["Contents"]] == [
        "k",
        "pub/",
    ]
    fake.remove("runs", "k")
    fake.remove("runs", "k")
    assert create(client, "k") == OK
    assert fake.get("runs", "absent") is None
    assert fake.names("runs", "p") == ["pub/"]


def test_a_bucket_may_be_named_in_the_host_or_behind_a_proxy() -> None:
    with S3Fake(domain="s3.test") as fake:
        fake.create_bucket("runs")
        client: Any = botocore.session.Session().create_client(
            "s3",
            region_name=fake.region,
            endpoint_url="http://s3.test",
            aws_access_key_id=fake.keys.access_key_id,
            aws_secret_access_key=fake.keys.secret_access_key,
            config=Config(s3={"addressing_style": "virtual"}, proxies={"http": fake.url}),
        )
        assert create(client, "a b") == OK
        assert [item["Key"] for item in client.list_objects_v2(Bucket="runs")["Contents"]] == [
            "a b"
        ]
        assert fake.requests[0].headers["host"] == "runs.s3.test"


# ----------------------------------------------------------------------- who, when and where


def test_keys_are_let_in_and_out(fake: S3Fake) -> None:
    temporary = s3fake.Keys("temporary", "secret", "token", expires_at=fake.now() + 60)
    client = client_of(fake, temporary)
    assert create(client) == (403, "InvalidAccessKeyId")
    fake.add_keys(temporary)
    assert create(client) == OK
    fake.skew_s = 61
    assert create(client) == (400, "ExpiredToken")
    fake.remove_keys("temporary")
    assert create(client) == (403, "InvalidAccessKeyId")


def test_a_clock_that_is_off_is_told_by_how_much(fake: S3Fake) -> None:
    fake.skew_s = 3600
    with pytest.raises(ClientError) as caught:
        client_of(fake).list_objects_v2(Bucket="runs")
    told: Any = caught.value.response["Error"]
    assert told["Code"] == "RequestTimeTooSkewed"
    assert told["MaxAllowedSkewMilliseconds"] == "900000"
    assert told["RequestTime"] < told["ServerTime"].replace("-", "").replace(":", "")


@pytest.mark.parametrize(
    ("redirects", "answer"),
    [(True, (301, "PermanentRedirect")), (False, (400, "AuthorizationHeaderMalformed"))],
)
def test_another_region_is_refused_and_the_right_one_named(
    fake: S3Fake, redirects: bool, answer: tuple[int, str]
) -> None:
    fake.create_bucket("there", region="eu-north-9", redirects=redirects)
    client = client_of(fake)
    heard: list[tuple[int, Any]] = []
    client.meta.events.register_first(
        "needs-retry.s3", lambda response, **_: heard.append((response[0].status_code, response[1]))
    )
    client.list_objects_v2(Bucket="there")  # botocore tries again by itself
    (status, error), (again, _) = heard
    assert ((status, error["Error"]["Code"]), again) == (answer, 200)
    headers = error["ResponseMetadata"]["HTTPHeaders"]
    assert "eu-north-9" in {headers.get("x-amz-bucket-region"), error["Error"].get("Region")}


def test_a_bucket_that_is_not_there_is_asked_for_in_the_fake_s_own_region(fake: S3Fake) -> None:
    client = client_of(fake)
    assert outcome(lambda: client.list_objects_v2(Bucket="absent")) == (404, "NoSuchBucket")


def test_a_body_must_be_signed_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = "botocore.auth.S3SigV4Auth._should_sha256_sign_payload"
    monkeypatch.setattr(signer, lambda *_: False)
    for unsigned_payload, expected in ((None, (403, "AccessDenied")), (True, OK)):
        with S3Fake(unsigned_payload=unsigned_payload) as fake:
            fake.create_bucket("runs")
            assert create(client_of(fake)) == expected


@pytest.mark.parametrize("header", ["If-None-Match", "x-amz-date", "x-amz-content-sha256"])
def test_what_is_not_signed_is_not_believed(fake: S3Fake, header: str) -> None:
    def unsign(request: AWSRequest, **_: object) -> None:
        request.headers[header] = "*" if header == "If-None-Match" else "x"

    client = client_of(fake)
    client.meta.events.register("before-send.s3", unsign)
    assert outcome(lambda: client.put_object(Bucket="runs", Key="k", Body=b""))[0] == 403
    assert fake.names("runs") == []


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        ("AWS fakeaccess:signature", (400, "InvalidArgument")),
        ("AWS4-HMAC-SHA256 Credential=fakeaccess", (400, "AuthorizationHeaderMalformed")),
    ],
)
def test_another_kind_of_signature_is_refused(
    fake: S3Fake, header: str, answer: tuple[int, str]
) -> None:
    client = client_of(fake)

    def replace(request: AWSRequest, **_: object) -> None:
        del request.headers["Authorization"]
        request.headers["Authorization"] = header

    client.meta.events.register("before-send.s3", replace)
    assert listed(client) == answer


# ------------------------------------------------------------------------------- listing


def test_a_token_tells_nothing_and_fits_nowhere_else() -> None:
    with S3Fake(page_size=2) as fake:
        for bucket in ("runs", "others"):
            fake.create_bucket(bucket)
            for name in "abcde":
                fake.put(bucket, f"p/{name}")
        client = client_of(fake)
        token = client.list_objects_v2(Bucket="runs", Prefix="p/")["NextContinuationToken"]
        assert {"+", "/", "="} <= set(token)
        wrong = (400, "InvalidArgument")
        assert listed(client, ContinuationToken=token) == wrong
        assert listed(client, Prefix="p/", Delimiter="/", ContinuationToken=token) == wrong
        assert listed(client, Prefix="p/", ContinuationToken="p/b") == wrong
        there = partial(client.list_objects_v2, Bucket="others", Prefix="p/")
        assert outcome(lambda: there(ContinuationToken=token)) == wrong
        assert listed(client, Prefix="p/", ContinuationToken=token) == OK
        assert listed(client, MaxKeys=-1) == wrong
        fake.remove("runs", "p/b")  # a token outlives the key that it came after
        page = client.list_objects_v2(Bucket="runs", Prefix="p/", ContinuationToken=token)
        assert [item["Key"] for item in page["Contents"]] == ["p/c", "p/d"]


@pytest.mark.parametrize("order", [s3fake.utf8_order, s3fake.directory_order])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pages_hold_each_key_once_in_either_order(
    order: Callable[[str], object], size: int
) -> None:
    names = ["a", "a b", "a-b/c", "a.b", "a/b/c", "a/b/d", "a/c", "a0", "b/", "b/c", "\U0010ffff"]
    with S3Fake(page_size=size, order=order) as fake:
        fake.create_bucket("runs")
        for name in names:
            fake.put("runs", name)
        pages = client_of(fake).get_paginator("list_objects_v2")
        for delimiter in ("", "/", "b"):
            keys, prefixes = [], []
            for page in pages.paginate(Bucket="runs", Delimiter=delimiter):
                keys += [item["Key"] for item in page.get("Contents", ())]
                prefixes += [item["Prefix"] for item in page.get("CommonPrefixes", ())]
            whole = {name for name in names if not delimiter or delimiter not in name}
            cut = {name[: name.index(delimiter) + 1] for name in set(names) - whole}
            assert keys == sorted(whole, key=order)  # type: ignore[arg-type]  # it can be compared
            assert prefixes == sorted(cut, key=order)  # type: ignore[arg-type]  # it can be compared


def test_keys_that_xml_cannot_hold_need_the_encoding(fake: S3Fake) -> None:
    fake.put("runs", "a\x01b c")
    client = client_of(fake)
    assert [item["Key"] for item in client.list_objects_v2(Bucket="runs")["Contents"]] == [
        "a\x01b c"
    ]
    client.meta.events.register("before-sign.s3", _ask_without_encoding)
    assert listed(client) == (500, "500")  # botocore's word for a listing that doesn't parse


def _ask_without_encoding(request: AWSRequest, **_: object) -> None:
    request.params.pop("encoding-type", None)
    request.url = str(request.url).replace("&encoding-type=url", "")


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (s3fake.LoseToken(), (True, None)),
        (s3fake.RepeatToken(), (True, "the same")),
        (s3fake.EmptyPage(), (True, "another")),
    ],
)
def test_a_page_may_lead_nowhere(fault: s3fake.LoseToken, seen: tuple[bool, str | None]) -> None:
    with S3Fake(page_size=2) as fake:
        fake.create_bucket("runs")
        for name in "abcde":
            fake.put("runs", name)
        client = client_of(fake)
        fake.script(fault, on("ListObjectsV2"), skip=1)
        token = client.list_objects_v2(Bucket="runs")["NextContinuationToken"]
        page = client.list_objects_v2(Bucket="runs", ContinuationToken=token)
        following = page.get("NextContinuationToken")
        names = {token: "the same", None: None}
        assert (page["IsTruncated"], names.get(following, "another")) == seen
        if isinstance(fault, s3fake.EmptyPage):
            assert page["KeyCount"] == 0
            page = client.list_objects_v2(Bucket="runs", ContinuationToken=following or "")
            assert [item["Key"] for item in page["Contents"]] == ["c", "d"]


def test_the_first_page_may_lead_to_itself(fake: S3Fake) -> None:
    fake.put("runs", "k")
    fake.script(s3fake.RepeatToken(), on("ListObjectsV2"), times=2)
    client = client_of(fake)
    token = client.list_objects_v2(Bucket="runs")["NextContinuationToken"]
    page = client.list_objects_v2(Bucket="runs", ContinuationToken=token)
    assert (page["NextContinuationToken"], page["KeyCount"]) == (token, 1)


# --------------------------------------------------------------------------------- batches


def test_a_batch_may_leave_keys_and_say_so(fake: S3Fake) -> None:
    for name in "abc":
        fake.put("runs", name)
    fake.script(s3fake.KeepKeys({"b": "InternalError"}), on("DeleteObjects"))
    batch: Any = {"Objects": [{"Key": name} for name in "abc"], "Quiet": True}
    answer = client_of(fake).delete_objects(Bucket="runs", Delete=batch)
    assert [(error["Key"], error["Code"]) for error in answer["Errors"]] == [("b", "InternalError")]
    assert fake.names("runs") == ["b"]


def test_a_batch_answers_in_an_order_of_its_own(fake: S3Fake) -> None:
    batch: Any = {"Objects": [{"Key": name} for name in "abc"]}
    answer = client_of(fake).delete_objects(Bucket="runs", Delete=batch)
    assert [deleted["Key"] for deleted in answer["Deleted"]] != ["a", "b", "c"]


@pytest.mark.parametrize("body", [b"<Delete", b"<Delete/>", b"<Other><Quiet/></Other>"])
def test_a_batch_that_is_no_batch_is_malformed(fake: S3Fake, body: bytes) -> None:
    assert _send_batch(fake, body) == (400, "MalformedXML")


def test_a_batch_needs_a_checksum(fake: S3Fake) -> None:
    fake.put("runs", "k")
    assert _send_batch(fake, None) == (400, "InvalidRequest")
    assert fake.names("runs") == ["k"]


def _send_batch(fake: S3Fake, body: bytes | None) -> tuple[int, str]:
    """Send another body, or the right one without its checksum."""

    def change(request: AWSRequest, **_: object) -> None:
        for name in [name for name in request.headers if name.lower().startswith("x-amz-checksum")]:
            del request.headers[name]
        if body is not None:
            request.data = body
            request.headers["x-amz-checksum-sha1"] = _sha1(body)

    client = client_of(fake)
    client.meta.events.register("before-sign.s3", change)
    batch: Any = {"Objects": [{"Key": "k"}]}
    return outcome(lambda: client.delete_objects(Bucket="runs", Delete=batch))


def _sha1(body: bytes) -> str:
    import base64
    import hashlib

    return base64.b64encode(hashlib.sha1(body).digest()).decode()


# ---------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        (s3fake.CONFLICT, (409, "ConditionalRequestConflict")),
        (s3fake.ABORTED, (409, "OperationAborted")),
        (s3fake.PRECONDITION_FAILED, EXISTS),
        (s3fake.NOT_MODIFIED, (304, "304")),
        (s3fake.ACCESS_DENIED, (403, "AccessDenied")),
        (s3fake.EXPIRED_TOKEN, (400, "ExpiredToken")),
        (s3fake.INTERNAL_ERROR, (500, "InternalError")),
        (s3fake.NOT_IMPLEMENTED, UNEXPECTED),
        (s3fake.SLOW_DOWN, (503, "SlowDown")),
        (s3fake.Refuse(429, "Throttling", headers={"Retry-After": "1"}), (429, "Throttling")),
        (s3fake.Say(502, b"<html>Bad Gateway</html>"), (502, "502")),
        (s3fake.Refuse(599), (599, "")),
    ],
    ids=repr,
)
def test_a_request_is_refused_by_script_and_the_next_is_not(
    fake: S3Fake, fault: s3fake.Refuse, answer: tuple[int, str]
) -> None:
    fake.script(fault, on("PutObject", key="k"))
    client = client_of(fake)
    assert create(client, "other") == OK
    assert create(client, "k") == answer
    assert fake.names("runs") == ["other"]
    assert create(client, "k") == OK


def test_a_script_is_played_in_its_order(fake: S3Fake) -> None:
    puts = on("PutObject", prefix="pub/")
    fake.script(s3fake.SLOW_DOWN, puts, times=2, skip=1)
    fake.script(s3fake.CONFLICT, puts)
    client = client_of(fake)
    answers = [create(client, f"pub/{number}") for number in range(5)]
    # The conflict fits the first request already, while the other lets one pass.
    assert [status for status, _ in answers] == [409, 503, 503, 200, 200]


def test_a_fault_may_be_made_from_the_request(fake: S3Fake) -> None:
    """For a server that repeats what it was sent."""
    fake.script(lambda request: s3fake.Refuse(400, "X", request.key), on("PutObject"))
    client = client_of(fake)
    with pytest.raises(ClientError, match=r"\(X\).*: repeated"):
        client.put_object(Bucket="runs", Key="repeated", Body=b"")
    assert create(client, "repeated") == OK


def test_a_listing_is_matched_by_its_prefix_and_a_fault_may_last(fake: S3Fake) -> None:
    fake.script(s3fake.INTERNAL_ERROR, on("ListObjectsV2", prefix="pub/"), times=None)
    client = client_of(fake)
    assert [listed(client, Prefix="pub/")[0] for _ in range(3)] == [500] * 3
    assert listed(client, Prefix="exec/") == OK


def test_a_request_that_is_signed_wrong_meets_no_fault(fake: S3Fake) -> None:
    fake.script(s3fake.SLOW_DOWN, on("PutObject"))
    wrong = s3fake.Keys(fake.keys.access_key_id, "wrong")
    assert create(client_of(fake, wrong)) == (403, "SignatureDoesNotMatch")
    assert create(client_of(fake)) == (503, "SlowDown")


@pytest.mark.parametrize("bytes_sent", [0, 1, 11])  # less than the status
def test_a_reply_is_lost_after_it_was_done(fake: S3Fake, bytes_sent: int) -> None:
    fake.script(s3fake.LoseReply(bytes_sent), on("PutObject"), times=2)
    client = client_of(fake)
    for _ in range(2):  # what was done; and its refusal, the second time
        with pytest.raises((BotoCoreError, ClientError)):
            create(client)
        assert fake.names("runs") == ["k"]
    assert create(client) == EXISTS


def test_a_connection_is_reset_before_anything_is_done(fake: S3Fake) -> None:
    fake.script(s3fake.Reset(), on("PutObject"))
    client = client_of(fake)
    with pytest.raises(ConnectionClosedError):
        create(client)
    assert fake.names("runs") == []
    assert create(client) == OK


def test_a_body_is_cut_off(fake: S3Fake) -> None:
    fake.put("runs", "k", b"x" * 1000)
    fake.script(s3fake.LoseReply(bytes_sent=900), on("GetObject"))
    client = client_of(fake)
    with pytest.raises(BotoCoreError):
        client.get_object(Bucket="runs", Key="k")["Body"].read()


def test_botocore_takes_a_listing_that_was_cut_off_in_its_head_for_an_empty_one(
    fake: S3Fake,
) -> None:
    """An adapter must ask for more than the absence of keys: here even IsTruncated is missing."""
    fake.put("runs", "k")
    fake.script(s3fake.LoseReply(bytes_sent=40), on("ListObjectsV2"))
    page = client_of(fake).list_objects_v2(Bucket="runs")
    assert {"Contents", "IsTruncated", "KeyCount"}.isdisjoint(page)


def test_an_answer_comes_slowly(fake: S3Fake) -> None:
    fake.script(s3fake.Drip(0.001, piece_bytes=16), on("PutObject"))
    client = client_of(fake)
    started = time.monotonic()
    assert create(client) == OK
    assert time.monotonic() - started > 0.005


def test_an_answer_that_never_ends_ends_with_the_fake(fake: S3Fake) -> None:
    fake.script(s3fake.Drip(3600), on("PutObject"))
    with pytest.raises(ReadTimeoutError):
        create(client_of(fake, read_timeout=0.05))


def test_something_happens_before_it_is_done(fake: S3Fake) -> None:
    fake.script(s3fake.Before(lambda: fake.put("runs", "k", b"theirs")), on("PutObject"))
    assert create(client_of(fake)) == EXISTS
    assert fake.get("runs", "k") == b"theirs"


def test_something_happens_before_it_is_answered(fake: S3Fake) -> None:
    fake.script(s3fake.After(lambda: fake.remove("runs", "k")), on("PutObject"))
    assert create(client_of(fake)) == OK
    assert fake.names("runs") == []


def test_an_action_that_fails_fails_the_test(clumsy: S3Fake) -> None:
    def fail() -> None:
        message = "no such step"
        raise TimeoutError(message)

    for fault in (s3fake.Before(fail), s3fake.After(fail)):
        clumsy.script(fault, on("PutObject"))
        assert create(client_of(clumsy)) == UNEXPECTED
    with pytest.raises(S3FakeError, match=r"raised TimeoutError\('no such step'\)"):
        clumsy.close()


def test_a_losing_interleaving_is_scripted_step_by_step(fake: S3Fake) -> None:
    first_arrived, second_done = threading.Event(), threading.Event()

    def wait() -> None:
        first_arrived.set()
        assert second_done.wait(10)

    fake.script(s3fake.Before(wait), on("PutObject"))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(create, client_of(fake))
        assert first_arrived.wait(10)
        assert create(client_of(fake)) == OK
        second_done.set()
        assert first.result() == EXISTS
