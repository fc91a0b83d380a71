"""What a probe needs to hear of stores that aren't like S3."""

from __future__ import annotations

import pytest

from dispatch.errors import RefusedError, UnavailableError
from dispatch.testing.s3fake import NOT_IMPLEMENTED, NOT_MODIFIED, Refuse, Say, on
from tests.unit.adapters.s3.roots import Bench

PAGE = """<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
<Name>runs</Name><IsTruncated>false</IsTruncated>{more}</ListBucketResult>"""
A_KEY = "<Contents><Key>job/pub/a</Key><LastModified>2026-11-29T00:00:00Z</LastModified></Contents>"


@pytest.mark.parametrize("fault", [NOT_MODIFIED, NOT_IMPLEMENTED], ids=["304", "501"])
def test_a_condition_that_is_refused_is_told_from_a_right_that_is_missing(
    s3: Bench, fault: Refuse
) -> None:
    """Of a creation and of a claim, which are the requests that have one."""
    s3.fake.script(fault, on("PutObject"), times=2)
    with pytest.raises(RefusedError) as caught:
        s3.store.create("pub", "a")
    assert caught.value.kind == "condition-refused"
    with pytest.raises(RefusedError) as caught:
        s3.store.claim("runs", "a", "value")
    assert caught.value.kind == "condition-refused"


def test_what_is_not_implemented_is_no_condition_of_a_request_without_one(s3: Bench) -> None:
    s3.fake.script(NOT_IMPLEMENTED, on("ListObjectsV2"))
    with pytest.raises(UnavailableError, match="501"):
        s3.store.names("pub")


def test_a_page_without_keys_need_not_count_them(s3: Bench) -> None:
    """`rclone serve s3` doesn't."""
    s3.put("pub/a")
    page = PAGE.format(more="").encode()
    s3.fake.script(Say(200, page, "application/xml"), on("ListObjectsV2"))
    assert s3.store.names("pub")[0] == []


def test_a_page_with_keys_must_count_them(s3: Bench) -> None:
    """Else it was cut off, and is asked for again."""
    s3.put("pub/b")
    page = PAGE.format(more=A_KEY).encode()
    s3.fake.script(Say(200, page, "application/xml"), on("ListObjectsV2"))
    assert s3.store.names("pub")[0] == ["b"]
