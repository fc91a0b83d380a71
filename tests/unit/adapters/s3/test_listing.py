"""Listings are whole or an error; names are what keys are."""

from __future__ import annotations

import pytest

from dispatch.checkpoint import Entry
from dispatch.errors import InvalidInputError, MalformedError, UnavailableError
from dispatch.testing.s3fake import (
    INTERNAL_ERROR,
    Drip,
    EmptyPage,
    LoseReply,
    LoseToken,
    RepeatToken,
    Reset,
    S3Fake,
    Say,
    on,
)
from tests.unit.adapters.s3.roots import Bench, bench_on

LISTING = on("ListObjectsV2")
HEAD_OF_A_LISTING = (
    b'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
)


@pytest.mark.parametrize("fault", [LoseToken(), RepeatToken()])
def test_a_page_that_leads_nowhere_is_an_error(s3: Bench, fault: LoseToken | RepeatToken) -> None:
    """At once: another try would say the same."""
    s3.put("pub/a")
    s3.fake.script(fault, LISTING, times=None)
    with pytest.raises(UnavailableError) as caught:
        s3.store.names("pub")
    assert caught.value.kind == "listing-incomplete"


def test_an_empty_page_is_not_the_end(s3: Bench) -> None:
    """Neither of names, nor of a look at a save."""
    s3.put("pub/a")
    s3.put("exec/a/step-1/x")
    s3.fake.script(EmptyPage(), LISTING, times=2)
    assert s3.store.names("pub") == (["a"], True)
    s3.fake.script(EmptyPage(), LISTING, times=2)
    assert s3.store.has_save(b"exec/a/step-1")
    s3.fake.script(EmptyPage(), LISTING, times=2)
    assert s3.store.children(b"exec/a", b"step-") == [b"step-1"]


def part_of_a_listing(**changes: str) -> bytes:
    """Write a page by hand; an empty change leaves an element out."""
    parts = {
        "KeyCount": "1",
        "IsTruncated": "false",
        "Contents": "<Key>job/pub/x</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>",
        **changes,
    }
    inner = "".join(f"<{name}>{text}</{name}>" for name, text in parts.items() if text)
    return HEAD_OF_A_LISTING + inner.encode() + b"</ListBucketResult>"


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<html>log in</html>",
        HEAD_OF_A_LISTING,
        part_of_a_listing(IsTruncated=""),
        part_of_a_listing(KeyCount=""),
        part_of_a_listing(KeyCount="2"),
        part_of_a_listing(KeyCount="many"),
        part_of_a_listing(Contents=""),
        part_of_a_listing(Contents="<Key>job/pub/x</Key><LastModified>soon</LastModified>"),
    ],
)
def test_a_page_that_is_not_whole_is_asked_for_again(s3: Bench, page: bytes) -> None:
    """It is never taken for an answer, least of all for "nothing is published"."""
    s3.put("pub/a")
    s3.fake.script(Say(200, page, "application/xml"), LISTING)
    assert s3.store.names("pub") == (["a"], True)
    assert s3.asked() == ["ListObjectsV2"] * 2


@pytest.mark.parametrize("sent", [0, 10, 20, 60, 120, 200, 300, 500, 700])
def test_a_page_that_was_cut_off_is_asked_for_again(s3: Bench, sent: int) -> None:
    """In its headers or in its body, wherever."""
    s3.put("pub/a")
    s3.fake.script(LoseReply(sent), LISTING)
    assert s3.store.names("pub") == (["a"], True)


def test_a_page_that_fails_in_the_middle_is_retried_alone() -> None:
    """The pages before it aren't asked for again."""
    with bench_on(S3Fake(page_size=2)) as s3:
        for name in "abcde":
            s3.put(f"pub/{name}")
        s3.fake.script(INTERNAL_ERROR, LISTING, skip=1)
        s3.fake.script(Reset(), LISTING, skip=2)
        assert s3.store.names("pub") == (list("abcde"), True)
        assert len(s3.fake.requests) == 5


def test_a_page_that_fails_for_ever_fails_the_whole() -> None:
    with bench_on(S3Fake(page_size=2)) as s3:
        for name in "abcde":
            s3.put(f"pub/{name}")
        s3.fake.script(INTERNAL_ERROR, LISTING, times=None, skip=1)
        with pytest.raises(UnavailableError):
            s3.store.names("pub")


def test_a_slow_answer_is_an_answer(s3: Bench) -> None:
    s3.put("pub/a")
    s3.fake.script(Drip(0.001, 16), LISTING)
    assert s3.store.names("pub") == (["a"], True)


def test_keys_that_do_not_ascend_prove_nothing() -> None:
    """Such a store must answer twice alike."""
    with bench_on(S3Fake(order=lambda key: [-ord(letter) for letter in key])) as s3:
        entries = [Entry(1, step, "exec/a") for step in (1, 2)]
        for entry in entries:
            s3.put(f"pub/{entry.name()}")
        assert s3.store.names("pub")[1] is False
        before = len(s3.fake.requests)
        assert s3.log.entries() == entries
        assert len(s3.fake.requests) == before + 2


def test_a_folder_marker_is_no_entry_and_a_key_below_is_a_malformed_one(s3: Bench) -> None:
    s3.put("pub/")
    assert s3.log.entries() == []
    s3.put("pub/a/b")
    assert s3.store.names("pub")[0] == ["a/b"]
    with pytest.raises(MalformedError, match="a/b"):
        s3.log.resolve()


def test_a_folder_marker_is_no_save(s3: Bench) -> None:
    s3.put("exec/a/step-1/")
    assert not s3.store.has_save(b"exec/a/step-1")
    assert s3.store.children(b"exec/a", b"step-") == [b"step-1"]
    assert s3.store.children(b"exec/a/step-1", b"") == []


@pytest.mark.parametrize("path", [b"exec/a\\b", b"exec/\xff"])
def test_a_path_that_no_key_should_be_is_refused(s3: Bench, path: bytes) -> None:
    r"""SeaweedFS would take ``a\b`` for ``a/b``, and a prune of one would delete the other."""
    with pytest.raises(InvalidInputError):
        s3.log.publish(1, 1, path)
    assert s3.fake.requests == []
