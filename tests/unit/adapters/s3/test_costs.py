"""How many requests each operation costs, counted by the server."""

from __future__ import annotations

import math

import pytest

from dispatch.checkpoint import Entry, Framework, Watcher
from dispatch.errors import AlreadyPublishedError
from dispatch.testing.s3fake import S3Fake, directory_order
from tests.unit.adapters.s3.roots import BUCKET, Bench, bench_on
from tests.unit.stores import trainer_state

LIST, PUT, GET, HEAD = "ListObjectsV2", "PutObject", "GetObject", "HeadObject"


def watcher(s3: Bench, framework: Framework) -> Watcher:
    """Watch one execution."""
    return Watcher(s3.log, framework, s3.log.exec_dir("a"), 1)


def test_to_publish_is_one_put_between_two_looks(s3: Bench) -> None:
    s3.put("exec/a/step-1/.metadata")
    entry = s3.log.publish(1, 1, "exec/a/step-1")
    assert s3.asked() == [LIST, PUT, LIST]
    put = s3.fake.requests[1]
    assert put.body == b""
    assert put.headers["if-none-match"] == "*"
    with pytest.raises(AlreadyPublishedError):
        s3.log.publish(1, 1, "exec/a/step-1")
    assert s3.asked()[3:] == [LIST, PUT, LIST]
    assert s3.names() == ["exec/a/step-1/.metadata", f"pub/{entry.name()}"]


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2500])
def test_to_resolve_is_one_listing_for_each_thousand(s3: Bench, count: int) -> None:
    """And the latest is the last of the last page."""
    entries = [Entry(1, step, f"exec/a/step-{step}") for step in range(count)]
    for entry in entries:
        s3.put(f"pub/{entry.name()}")
    assert s3.log.resolve() == (entries[-1] if entries else None)
    assert s3.asked() == [LIST] * max(1, math.ceil(count / 1000))


def test_a_listing_in_the_order_of_folders_is_enough(s3: Bench) -> None:
    """As SeaweedFS gives it: pub/ is one folder, so its keys ascend."""
    with bench_on(S3Fake(order=directory_order)) as other:
        for step in range(5):
            other.put(f"pub/{Entry(1, step, 'exec/a').name()}")
        assert other.store.names("pub")[1] is True


@pytest.mark.parametrize(
    ("framework", "marker", "asked"),
    [(Framework.dcp, ".metadata", [HEAD]), (Framework.hf, "trainer_state.json", [GET, LIST])],
    ids=["dcp", "hf"],
)
def test_a_scan_is_one_listing_and_two_requests_for_each_save(
    s3: Bench, framework: Framework, marker: str, asked: list[str]
) -> None:
    """At most: those that are complete cost their publication besides, once."""
    prefix = framework.prefix.decode()
    for step in (1, 2, 3):
        s3.put(f"exec/a/{prefix}{step}/model")
    watching = watcher(s3, framework)
    assert watching.scan() == []
    assert s3.asked() == [LIST, *[asked[0]] * 3]
    content = trainer_state(2) if framework is Framework.hf else b"m"
    s3.put(f"exec/a/{prefix}2/{marker}", content)
    before = len(s3.fake.requests)
    assert [entry.step for entry in watching.scan()] == [2]
    publication = [LIST, PUT, LIST]
    assert s3.asked()[before:] == [LIST, asked[0], *asked, *publication, asked[0]]
    before = len(s3.fake.requests)
    assert watching.scan() == []
    assert s3.asked()[before:] == [LIST, asked[0], asked[0]]


def test_to_look_at_a_large_save_takes_no_page_of_it(s3: Bench) -> None:
    """Two keys at most: a folder marker and one more."""
    s3.put("exec/a/step-1/")
    for number in range(9):
        s3.put(f"exec/a/step-1/part-{number}")
    assert s3.store.has_save(b"exec/a/step-1")
    [request] = s3.fake.requests
    assert request.query["max-keys"] == "2"


def test_a_prune_asks_for_each_entry_and_each_save_once(s3: Bench) -> None:
    for step in (1, 2):
        s3.put(f"exec/a/step-{step}/.metadata")
        s3.put(f"exec/a/step-{step}/part-1")
        s3.log.publish(1, step, f"exec/a/step-{step}")
    before = len(s3.fake.requests)
    s3.log.prune(1)
    asked = s3.asked()[before:]
    deletions = [name for name in asked if name.startswith("Delete")]
    assert deletions == ["DeleteObject", "DeleteObject", "DeleteObjects"]
    assert s3.fake.names(BUCKET)[0].endswith("step-2/.metadata")
