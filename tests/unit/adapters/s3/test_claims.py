"""Claims on S3: whatever becomes of an answer, all are told one value, and never a part of it."""

from __future__ import annotations

import pytest

from dispatch.adapters.s3 import requests as s3_requests
from dispatch.errors import (
    DispatchError,
    MalformedError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from dispatch.testing.s3fake import (
    ABORTED,
    ACCESS_DENIED,
    CONFLICT,
    INTERNAL_ERROR,
    NOT_IMPLEMENTED,
    NOT_MODIFIED,
    PRECONDITION_FAILED,
    SLOW_DOWN,
    Before,
    LoseReply,
    Refuse,
    Reset,
    Say,
    on,
)
from tests.unit.adapters.s3.roots import BUCKET, PREFIX, Bench

GET, PUT = "GetObject", "PutObject"
KEY = f"{PREFIX}/runs/1"
VALUE = "1.1.0".ljust(255, ".")

Fault = Refuse | Say | Reset


@pytest.mark.parametrize("fault", [CONFLICT, ABORTED, INTERNAL_ERROR, SLOW_DOWN, Reset()])
def test_a_claim_is_tried_again(s3: Bench, fault: Fault) -> None:
    s3.fake.script(fault, on(PUT), times=3)
    assert s3.store.claim("runs", "1", VALUE) == VALUE
    assert s3.asked() == [PUT] * 4
    assert s3.fake.get(BUCKET, KEY) == VALUE.encode()


@pytest.mark.parametrize("sent", [0, 5, 12, 17, 40, 90])
def test_a_lost_reply_ends_as_our_own_claim(s3: Bench, sent: int) -> None:
    """The second try finds what the first has made, and reads whose it is."""
    s3.fake.script(LoseReply(sent), on(PUT))
    assert s3.store.claim("runs", "1", VALUE) == VALUE
    assert s3.asked() == [PUT, PUT, GET]


def test_a_lost_reply_may_end_as_another_s_claim(s3: Bench) -> None:
    """Who came between the two tries has it."""
    s3.fake.script(Reset(), on(PUT))
    s3.fake.script(Before(lambda: s3.put("runs/1", b"theirs")), on(PUT))
    assert s3.store.claim("runs", "1", VALUE) == "theirs"
    assert s3.asked() == [PUT, PUT, GET]


@pytest.mark.parametrize("sent", [0, 17, 90, 150, 200, 250, 300, 350, 400])
def test_a_value_is_read_whole_or_again(s3: Bench, sent: int) -> None:
    """Wherever the answer was cut off."""
    s3.put("runs/1", VALUE.encode())
    s3.fake.script(LoseReply(sent), on(GET))
    assert s3.store.claimed("runs", "1") == VALUE
    assert s3.asked() == [GET] * 2


def test_a_page_of_some_proxy_is_no_value(s3: Bench) -> None:
    s3.put("runs/1", VALUE.encode())
    s3.fake.script(Say(200, b"<html>log in</html>"), on(GET))
    assert s3.store.claim("runs", "1", "other") == VALUE


def test_a_claim_that_vanishes_in_between_is_made_anew(s3: Bench) -> None:
    """Somebody took back what was in the way, right before it was read."""
    s3.put("runs/1", b"theirs")
    s3.fake.script(Before(lambda: s3.fake.remove(BUCKET, KEY)), on(GET))
    assert s3.store.claim("runs", "1", VALUE) == VALUE
    assert s3.asked() == [PUT, GET, PUT]


def test_a_claim_that_is_there_and_not_there_ends(s3: Bench) -> None:
    """A store that contradicts itself is not asked for ever, and nothing is said to be claimed."""
    s3.fake.script(PRECONDITION_FAILED, on(PUT), times=None)
    with pytest.raises(UnavailableError, match=f"s3://{BUCKET}/{KEY}: it was there, and gone"):
        s3.store.claim("runs", "1", VALUE)
    assert s3.asked() == [PUT, GET] * 8


@pytest.mark.parametrize("fault", [CONFLICT, ABORTED])
def test_409_until_the_deadline_is_nobody_s_claim(s3: Bench, fault: Refuse) -> None:
    s3.fake.script(fault, on(PUT), times=None)
    with pytest.raises(UnavailableError, match="409"):
        s3.store.claim("runs", "1", VALUE)
    assert s3.clock.now <= s3_requests.OPERATION_S
    assert set(s3.asked()) == {PUT}


@pytest.mark.parametrize("fault", [INTERNAL_ERROR, Reset()])
def test_an_unknown_outcome_until_the_deadline_is_said_to_be_unknown(
    s3: Bench, fault: Fault
) -> None:
    s3.fake.script(fault, on(PUT), times=None)
    with pytest.raises(UnknownOutcomeError) as caught:
        s3.store.claim("runs", "1", VALUE)
    assert caught.value.kind == "outcome-unknown"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (NOT_MODIFIED, RefusedError),
        (NOT_IMPLEMENTED, RefusedError),
        (ACCESS_DENIED, RefusedError),
        (Refuse(405, "MethodNotAllowed"), UnavailableError),
        (Refuse(404, "NoSuchBucket"), NotFoundError),
    ],
)
def test_anything_else_is_an_error_and_never_a_claim(
    s3: Bench, fault: Fault, error: type[DispatchError]
) -> None:
    s3.fake.script(fault, on(PUT))
    with pytest.raises(error):
        s3.store.claim("runs", "1", VALUE)
    assert s3.asked() == [PUT]


@pytest.mark.parametrize("operation", [GET, PUT])
def test_a_right_that_is_missing_is_told(s3: Bench, operation: str) -> None:
    """It is not "nobody has it"."""
    s3.put("runs/1", b"theirs")
    s3.fake.script(ACCESS_DENIED, on(operation), times=None)
    with pytest.raises(RefusedError, match=f"{operation} s3://{BUCKET}/{KEY}"):
        s3.store.claim("runs", "1", VALUE)


@pytest.mark.parametrize("content", [b"", b"x" * 256, b"a\0b", b"\0"])
def test_what_was_never_claimed_is_no_claim(s3: Bench, content: bytes) -> None:
    s3.put("runs/1", content)
    with pytest.raises(MalformedError, match=f"s3://{BUCKET}/{KEY} is no claim"):
        s3.store.claimed("runs", "1")
    with pytest.raises(MalformedError):
        s3.store.claim("runs", "1", VALUE)
    assert s3.fake.get(BUCKET, KEY) == content


def test_a_listing_without_times_is_cut_off(s3: Bench) -> None:
    """It is asked for again, not taken for names that are gone."""
    s3.put("runs/1", b"a")
    s3.put("runs/2", b"b")
    page = b"""<?xml version="1.0"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
        <IsTruncated>false</IsTruncated><KeyCount>1</KeyCount>
        <Contents><Key>job/runs/1</Key></Contents></ListBucketResult>"""
    s3.fake.script(Say(200, page, "application/xml"), on("ListObjectsV2"))
    assert sorted(s3.store.written("runs", ["1", "2"])) == ["1", "2"]
    assert s3.asked() == ["ListObjectsV2"] * 2


def test_a_removal_whose_listing_fails_removes_nothing(s3: Bench) -> None:
    s3.put("runs/1", b"a")
    s3.put("runs/2", b"b")
    s3.fake.script(ACCESS_DENIED, on("ListObjectsV2"))
    with pytest.raises(RefusedError, match="ListObjectsV2"):
        s3.store.remove("runs", ["1", "2"])
    assert s3.names() == ["runs/1", "runs/2"]


def test_what_cannot_be_removed_does_not_keep_the_others(s3: Bench) -> None:
    for name in "123":
        s3.put(f"runs/{name}", b"a")
    s3.fake.script(ACCESS_DENIED, on("DeleteObject", key=KEY))
    removed, failures = s3.store.remove("runs", ["1", "2", "4", "3"])
    assert removed == ["2", "3"]
    assert list(failures) == ["1"]
    assert s3.names() == ["runs/1"]
