"""How many requests each operation costs, counted by the server."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest

from dispatch.checkpoint import Entry, Framework, Watcher
from dispatch.errors import AlreadyPublishedError
from dispatch.testing.s3fake import S3Fake, directory_order
from tests.unit.adapters.s3.roots import BUCKET, ROOT, Bench, bench_on
from tests.unit.stores import trainer_state

LIST, PUT, GET, HEAD = "ListObjectsV2", "PutObject", "GetObject", "HeadObject"
DELETE = "DeleteObject"
MANY = [0, 1, 2, 999, 1000, 1001, 2500]


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
    ("framework", "marker", "asked_early"),
    [(Framework.dcp, ".metadata", [GET, LIST]), (Framework.hf, "trainer_state.json", [GET])],
    ids=["dcp", "hf"],
)
def test_a_scan_is_one_listing_and_two_requests_for_each_save(
    s3: Bench, framework: Framework, marker: str, asked_early: list[str]
) -> None:
    """At most: those that are complete cost their publication besides, once."""
    prefix = framework.prefix.decode()
    for step in (1, 2, 3):
        s3.put(f"exec/a/{prefix}{step}/model.safetensors")
    watching = Watcher(s3.log, framework, s3.log.exec_dir("a"), 1, settle=0)
    assert watching.scan() == []
    assert s3.asked() == [LIST, *asked_early * 3]
    assert s3.fake.requests[0].query["delimiter"] == "/"
    content = trainer_state(2) if framework is Framework.hf else b"m"
    s3.put(f"exec/a/{prefix}2/{marker}", content)
    before = len(s3.fake.requests)
    assert [entry.step for entry in watching.scan()] == [2]
    publication = [LIST, PUT, LIST]
    assert s3.asked()[before:] == [LIST, *asked_early, GET, LIST, *publication, *asked_early]
    before = len(s3.fake.requests)
    assert watching.scan() == []
    assert s3.asked()[before:] == [LIST, *asked_early * 2]


def test_a_save_that_settles_costs_two_requests_at_each_look(s3: Bench) -> None:
    """And one more for each index of its weights."""
    for name in ("model-1-of-1.safetensors", "rng_state_0.pth", "rng_state_1.pth", "optimizer.pt"):
        s3.put(f"exec/a/checkpoint-1/{name}")
    index = b'{"weight_map": {"a": "model-1-of-1.safetensors"}}'
    s3.put("exec/a/checkpoint-1/model.safetensors.index.json", index)
    s3.put("exec/a/checkpoint-1/trainer_state.json", trainer_state(1))
    watching = Watcher(s3.log, Framework.hf, s3.log.exec_dir("a"), 1, settle=0.1)
    assert watching.scan() == []
    assert s3.asked() == [LIST, GET, LIST, GET]
    assert [entry.step for entry in watching.last_look()] == [1]
    assert s3.asked()[4:] == [*[LIST, GET, LIST, GET] * 2, LIST, PUT, LIST]


def test_to_verify_is_three_requests_beside_the_listing(s3: Bench) -> None:
    """Whether it is there, its marker, and what is in it."""
    s3.put("exec/a/checkpoint-1/model.safetensors")
    s3.put("exec/a/checkpoint-1/trainer_state.json", trainer_state(1))
    s3.log.publish(1, 1, "exec/a/checkpoint-1")
    before = len(s3.fake.requests)
    assert s3.log.choose(Framework.hf).entry == s3.log.resolve()
    assert s3.asked()[before:] == [LIST, LIST, GET, LIST, LIST]


def test_to_look_at_a_large_save_takes_no_page_of_it(s3: Bench) -> None:
    """Two keys at most: a folder marker and one more."""
    s3.put("exec/a/step-1/")
    for number in range(9):
        s3.put(f"exec/a/step-1/part-{number}")
    assert s3.store.has_save(b"exec/a/step-1")
    [request] = s3.fake.requests
    assert request.query["max-keys"] == "2"


def names_of(s3: Bench, count: int, folder: str = "pub") -> list[str]:
    """Put so many names; return them, with one in their middle that is not there."""
    names = [f"{number:04}" for number in range(count)]
    for name in names:
        s3.put(f"{folder}/{name}")
    names.insert(count // 2, "missing")
    return names


@pytest.mark.parametrize("count", MANY)
def test_the_times_of_many_names_are_one_listing_for_each_thousand(s3: Bench, count: int) -> None:
    """However many they are; that of one name alone is one request."""
    names = names_of(s3, count)
    found = s3.store.written("pub", names)
    assert list(found) == [name for name in names if name != "missing"]
    listings = max(1, math.ceil(count / 1000))
    assert s3.asked() == ([LIST] * listings if len(names) > 1 else [HEAD])
    assert s3.store.written("pub", names[-1:]) == dict(list(found.items())[-1:])
    assert s3.asked()[-1] == HEAD
    before = len(s3.asked())
    assert s3.store.written("pub", []) == {}
    assert len(s3.asked()) == before


def test_the_log_is_two_listings(s3: Bench) -> None:
    """One for the publications and one for their ages, as the program itself asks."""
    for step in range(20):
        s3.put(f"pub/{Entry(1, step, f'exec/a/step-{step}').name()}")
    keys = s3.fake.keys
    done = subprocess.run(
        [
            sys.executable, "-m", "dispatch.cli.publish", "log", "-checkpoint", ROOT,
            "-endpoint", s3.fake.url, "-creds", "env",
        ],
        env={
            "PATH": os.defpath,
            "AWS_ACCESS_KEY_ID": keys.access_key_id,
            "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
        },
        capture_output=True,
        check=True,
    )  # fmt: skip
    rows = done.stdout.decode().splitlines()
    assert len(rows) == 20
    assert not [row for row in rows if "gone" in row]
    assert s3.asked() == [LIST, LIST]


def test_one_name_is_looked_at_and_removed(s3: Bench) -> None:
    """So that a retraction can tell a typing error, which costs one request."""
    names_of(s3, 3)
    assert s3.store.remove("pub", ["0001"]) == (["0001"], {})
    assert s3.asked() == [HEAD, DELETE]
    assert s3.store.remove("pub", ["0001"]) == ([], {})
    assert s3.asked()[2:] == [HEAD]
    assert s3.store.remove("pub", []) == ([], {})
    assert len(s3.asked()) == 3


@pytest.mark.parametrize("count", [2, 1001])
def test_several_names_are_listed_once_and_each_is_removed(s3: Bench, count: int) -> None:
    """With no request for one that is not there."""
    names = names_of(s3, count)
    present = [name for name in names if name != "missing"]
    names_of(s3, 2, "pub-other")
    assert s3.store.remove("pub", names) == (present, {})
    assert s3.asked() == [LIST] * math.ceil(count / 1000) + [DELETE] * count
    assert s3.names() == ["pub-other/0000", "pub-other/0001"]


def test_a_claim_is_one_request_and_two_where_it_was_made_before(s3: Bench) -> None:
    """The value is the object's content, under the condition that there is none yet."""
    assert s3.store.claim("runs", "1", "1.1.0\udcff") == "1.1.0\udcff"
    [put] = s3.fake.requests
    assert (put.operation, put.body) == (PUT, b"1.1.0\xff")
    assert put.headers["if-none-match"] == "*"
    assert s3.store.claim("runs", "1", "other") == "1.1.0\udcff"
    assert s3.asked()[1:] == [PUT, GET]
    assert s3.store.claimed("runs", "1") == "1.1.0\udcff"
    assert s3.store.claimed("runs", "2") is None
    assert s3.asked()[3:] == [GET, GET]


def test_to_say_how_a_root_is_reached_asks_nothing(s3: Bench) -> None:
    s3.store.access()
    assert s3.asked() == []


def test_a_prune_asks_for_each_entry_and_each_save_once(s3: Bench) -> None:
    """Each entry by itself, after one listing that tells which are there; its fate before."""
    for step in (1, 2, 3):
        s3.put(f"exec/a/step-{step}/.metadata")
        s3.put(f"exec/a/step-{step}/part-1")
        s3.log.publish(1, step, f"exec/a/step-{step}")
    before = len(s3.fake.requests)
    s3.log.prune(1)
    asked = s3.asked()[before:]
    claims, fates = [LIST], [PUT, PUT]
    assert asked[:7] == [LIST, *claims, *fates, LIST, DELETE, DELETE]
    deletions = [name for name in asked[7:] if name.startswith("Delete")]
    assert deletions == [DELETE, "DeleteObjects"] * 2 + [DELETE, DELETE]
    assert asked[-5:] == [LIST, LIST, LIST, DELETE, DELETE]  # the fates again
    assert s3.fake.names(BUCKET)[0].endswith("step-3/.metadata")
