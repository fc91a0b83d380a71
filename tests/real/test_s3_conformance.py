"""What S3 stores do, the fake and the real ones alike, asked with plain botocore.

What the fake accepts the real stores accept, and what they refuse it refuses, with the same
status and code where they agree. Where they don't, `DIFFERENCES` says who does what: that is
what an adapter must know.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import botocore.auth
import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ClientError

from tests.servers.s3 import Keys, S3Server
from tests.servers.stores import Store, fake_store, outcome, real_store

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

RACERS = 32

OK, NO_CONTENT = (200, "ok"), (204, "ok")
EXISTS = (412, "PreconditionFailed")
DENIED = (403, "AccessDenied")
FORBIDDEN = (403, "403")  # of a HEAD, which has no body to hold a code
NO_BUCKET = (404, "NoSuchBucket")
NO_KEY = (404, "NoSuchKey")
NOT_FOUND = (404, "404")  # of a HEAD
TOO_LONG = (400, "KeyTooLongError")
NO_CODE_400 = (400, "400")  # Ceph answers some errors without a body

DIFFERENCES: dict[str, dict[str, tuple[int, str]]] = {
    "a file where a folder is": {"radosgw": OK},  # and S3
    "HEAD of a folder with its slash": {"seaweedfs": OK},
    "reading what isn't there without the right to list": {"seaweedfs": NO_KEY},
    "HEAD of what isn't there without the right to list": {"seaweedfs": NOT_FOUND},
    "deleting a batch without the right": {"radosgw": DENIED},  # as a whole, not key by key
    "a key that is too long": {"radosgw": (400, "InvalidObjectName")},
    "a batch that is too long": {
        "radosgw": NO_CODE_400,
        "seaweedfs": (400, "InvalidArgument"),
    },
    "a body that isn't the one that was signed": {"seaweedfs": OK},
    "a token with keys that have none": {"radosgw": OK, "seaweedfs": (403, "InvalidAccessKeyId")},
    "another region": {"radosgw": OK, "seaweedfs": OK},
    "a body in chunks": {"seaweedfs": OK},
}
"""Real stores that don't answer as S3 and the fake do, by what is asked."""


def expected(store: Store, what: str, of_s3: tuple[int, str]) -> tuple[int, str]:
    """Return what ``store`` answers."""
    return DIFFERENCES[what].get(store.name.removesuffix("-https").removesuffix("-http"), of_s3)


real = pytest.mark.real
FAKES = ["s3fake", "s3fake_https"]
REALS = [pytest.param(name, marks=real) for name in ("radosgw", "radosgw_https", "seaweedfs")]


@pytest.fixture(params=[*FAKES, *REALS])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """Each store; a fake is a new one for each test, and ends it when a call was unexpected."""
    if request.param in FAKES:
        has_tls = request.param == "s3fake_https"
        with fake_store(request.getfixturevalue("certificates") if has_tls else None) as fake:
            yield fake
    else:
        yield real_store(request.getfixturevalue(request.param))


@pytest.fixture
def client(store: Store) -> S3Client:
    """A client with all rights."""
    return store.client()


@pytest.fixture
def bucket(store: Store) -> str:
    """A bucket that nobody has used."""
    return store.new_bucket()


def keys_of(client: S3Client, bucket: str, **asked: object) -> list[str]:
    """List all keys, page by page."""
    found: list[str] = []
    while True:
        page = client.list_objects_v2(Bucket=bucket, **asked)  # type: ignore[arg-type]  # a few of its own
        found += [item["Key"] for item in page.get("Contents", ())]
        found += [item["Prefix"] for item in page.get("CommonPrefixes", ())]
        if not page["IsTruncated"]:
            return found
        asked["ContinuationToken"] = page["NextContinuationToken"]


# ------------------------------------------------------------------------------ objects


def test_an_object_is_put_read_and_deleted(client: S3Client, bucket: str) -> None:
    put = client.put_object(Bucket=bucket, Key="a/b", Body=b"content")
    head = client.head_object(Bucket=bucket, Key="a/b")
    got = client.get_object(Bucket=bucket, Key="a/b")
    with got["Body"] as body:
        assert body.read() == b"content"
    assert put["ETag"] == head["ETag"] == f'"{hashlib.md5(b"content").hexdigest()}"'
    assert head["ContentLength"] == got["ContentLength"] == len(b"content")
    assert abs(datetime.now(UTC) - head["LastModified"]) < timedelta(minutes=1)
    assert outcome(lambda: client.delete_object(Bucket=bucket, Key="a/b")) == NO_CONTENT
    assert outcome(lambda: client.head_object(Bucket=bucket, Key="a/b")) == NOT_FOUND


def test_an_empty_object_is_one(client: S3Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="empty", Body=b"")
    with client.get_object(Bucket=bucket, Key="empty")["Body"] as body:
        assert body.read() == b""
    assert client.head_object(Bucket=bucket, Key="empty")["ContentLength"] == 0


def test_what_is_not_there_is_not_found_and_deleting_it_succeeds(
    client: S3Client, bucket: str
) -> None:
    assert outcome(lambda: client.get_object(Bucket=bucket, Key="absent")) == NO_KEY
    assert outcome(lambda: client.head_object(Bucket=bucket, Key="absent")) == NOT_FOUND
    assert outcome(lambda: client.delete_object(Bucket=bucket, Key="absent")) == NO_CONTENT


def test_a_bucket_that_is_not_there_is_not_made(client: S3Client) -> None:
    name = "there-is-no-such-bucket"
    batch: Any = {"Objects": [{"Key": "a"}]}
    for call in (
        lambda: client.put_object(Bucket=name, Key="a", Body=b""),
        lambda: client.put_object(Bucket=name, Key="a", Body=b"", IfNoneMatch="*"),
        lambda: client.get_object(Bucket=name, Key="a"),
        lambda: client.delete_object(Bucket=name, Key="a"),
        lambda: client.delete_objects(Bucket=name, Delete=batch),
        lambda: client.list_objects_v2(Bucket=name),
    ):
        assert outcome(call) == NO_BUCKET
    assert outcome(lambda: client.head_object(Bucket=name, Key="a")) == NOT_FOUND


# --------------------------------------------------------------------------- conditions


def test_an_exclusive_put_succeeds_once_until_the_object_is_deleted(
    client: S3Client, bucket: str
) -> None:
    def put(body: bytes) -> tuple[int, str]:
        return outcome(
            lambda: client.put_object(Bucket=bucket, Key="k", Body=body, IfNoneMatch="*")
        )

    assert [put(b"first"), put(b"second")] == [OK, EXISTS]
    with client.get_object(Bucket=bucket, Key="k")["Body"] as body:
        assert body.read() == b"first"
    client.delete_object(Bucket=bucket, Key="k")
    assert put(b"third") == OK


def test_a_plain_put_overwrites(client: S3Client, bucket: str) -> None:
    for content in (b"one", b"two"):
        client.put_object(Bucket=bucket, Key="k", Body=content)
    with client.get_object(Bucket=bucket, Key="k")["Body"] as body:
        assert body.read() == b"two"


def test_of_many_exclusive_puts_at_once_one_succeeds(
    store: Store, client: S3Client, bucket: str
) -> None:
    rounds = 1 if store.name == "seaweedfs" else 5  # its losers wait for seconds
    barrier = threading.Barrier(RACERS)

    def put(key: str) -> tuple[int, str]:
        barrier.wait()
        return outcome(lambda: client.put_object(Bucket=bucket, Key=key, Body=b"", IfNoneMatch="*"))

    with ThreadPoolExecutor(RACERS) as pool:
        for number in range(rounds):
            answers = Counter(pool.map(put, [f"k{number}"] * RACERS))
            assert answers == {OK: 1, EXISTS: RACERS - 1}


def test_an_exclusive_put_of_a_file_where_a_folder_is(
    store: Store, client: S3Client, bucket: str
) -> None:
    client.put_object(Bucket=bucket, Key="a/b/c", Body=b"")
    assert outcome(lambda: client.head_object(Bucket=bucket, Key="a/b")) == NOT_FOUND
    put = outcome(lambda: client.put_object(Bucket=bucket, Key="a/b", Body=b"", IfNoneMatch="*"))
    assert put == expected(store, "a file where a folder is", EXISTS)
    head = outcome(lambda: client.head_object(Bucket=bucket, Key="a/"))
    assert head == expected(store, "HEAD of a folder with its slash", NOT_FOUND)


@pytest.mark.parametrize("store", REALS, indirect=True)
def test_a_quoted_star_is_no_condition(store: Store, client: S3Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"first")
    put = outcome(
        lambda: client.put_object(Bucket=bucket, Key="k", Body=b"second", IfNoneMatch='"*"')
    )
    with client.get_object(Bucket=bucket, Key="k")["Body"] as body:
        assert (put, body.read()) == (OK, b"second")


# ------------------------------------------------------------------------------ listing

NAMES = [
    "o/B", "o/a", "o/a b", "o/a+b", "o/a%2Fb", "o/a&b", "o/a-b", "o/a=b", "o/a/b", "o/a0",
    "o/a:b", "o/a<b", "o/a?b#c", "o/a'b\"c", "o/a~b", "o/é", "o/e\u0301", "o/日本", "o/🦀",
    "o/tab\tb", "o/line\nb", "o/control\x01b", "o/return\rb",
]  # fmt: skip


def test_odd_keys_are_listed_as_they_are(client: S3Client, bucket: str) -> None:
    def put(name: str) -> object:
        return client.put_object(Bucket=bucket, Key=name, Body=b"", IfNoneMatch="*")

    for name in NAMES:
        assert (name, outcome(partial(put, name))) == (name, OK)
        assert (name, outcome(partial(put, name))) == (name, EXISTS)
    assert sorted(keys_of(client, bucket)) == sorted(NAMES)
    assert sorted(keys_of(client, bucket, Prefix="o/a", MaxKeys=2)) == sorted(
        name for name in NAMES if name.startswith("o/a")
    )
    batch: Any = {"Objects": [{"Key": name} for name in NAMES if "\x01" not in name]}
    client.delete_objects(Bucket=bucket, Delete=batch)
    assert keys_of(client, bucket) == ["o/control\x01b"]  # XML 1.0 can't name it


def test_keys_are_listed_in_the_order_of_their_bytes_or_by_folder(
    store: Store, client: S3Client, bucket: str
) -> None:
    names = ["o/a", "o/a b", "o/a/b", "o/a0", "o/~", "o/é"]
    for name in names:
        client.put_object(Bucket=bucket, Key=name, Body=b"")
    if store.name == "seaweedfs":
        names = ["o/a", "o/a/b", "o/a b", "o/a0", "o/~", "o/é"]
    assert keys_of(client, bucket) == names


@pytest.mark.parametrize("page", [1, 2, 3, 7, 1000])
def test_pages_together_hold_each_key_once(client: S3Client, bucket: str, page: int) -> None:
    names = [f"p/{number}" for number in range(7)]
    folders = [f"p/{name}/" for name in "abc"]
    below = [f"{folder}{number}" for folder in folders for number in range(2)]
    for name in [*names, *below, "other"]:
        client.put_object(Bucket=bucket, Key=name, Body=b"")
    assert sorted(keys_of(client, bucket, Prefix="p/", MaxKeys=page)) == sorted([*names, *below])
    flat = keys_of(client, bucket, Prefix="p/", Delimiter="/", MaxKeys=page)
    assert sorted(flat) == sorted([*names, *folders])
    assert sorted(keys_of(client, bucket, Delimiter="/", MaxKeys=page)) == ["other", "p/"]


def test_a_page_has_at_most_1000_keys(client: S3Client, bucket: str) -> None:
    names = [f"p/{number:05d}" for number in range(1003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: client.put_object(Bucket=bucket, Key=name, Body=b""), names))
    first = client.list_objects_v2(Bucket=bucket, Prefix="p/")
    assert (first["IsTruncated"], first["KeyCount"], first["MaxKeys"]) == (True, 1000, 1000)
    assert keys_of(client, bucket, Prefix="p/") == names
    batch: Any = {"Objects": [{"Key": name} for name in names[:1000]]}
    assert len(client.delete_objects(Bucket=bucket, Delete=batch)["Deleted"]) == 1000
    assert keys_of(client, bucket) == names[1000:]


def test_what_a_listing_may_be_asked(client: S3Client, bucket: str) -> None:
    for name in ("p/1", "p/2", "p/3", "q"):
        client.put_object(Bucket=bucket, Key=name, Body=b"")
    assert keys_of(client, bucket, StartAfter="p/1") == ["p/2", "p/3", "q"]
    assert keys_of(client, bucket, StartAfter="p/15", Prefix="p/") == ["p/2", "p/3"]
    assert keys_of(client, bucket, Prefix="absent") == []
    nothing = client.list_objects_v2(Bucket=bucket, MaxKeys=0)
    assert (nothing["IsTruncated"], nothing["KeyCount"]) == (False, 0)
    assert keys_of(client, bucket, Prefix="p", Delimiter="/") == ["p/"]


def test_a_folder_marker_is_a_key(client: S3Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="pub/", Body=b"")
    client.put_object(Bucket=bucket, Key="pub/entry", Body=b"")
    assert keys_of(client, bucket, Prefix="pub/") == ["pub/", "pub/entry"]
    assert keys_of(client, bucket, Prefix="pub/", Delimiter="/") == ["pub/", "pub/entry"]
    assert outcome(lambda: client.head_object(Bucket=bucket, Key="pub")) == NOT_FOUND
    client.delete_object(Bucket=bucket, Key="pub/")
    assert keys_of(client, bucket, Prefix="pub/") == ["pub/entry"]


@pytest.mark.parametrize("name", ["a//b", "/a", "a\\b", ".", "a/../b", "a/./b", "x" * 256])
def test_a_key_that_the_fake_refuses_is_refused_or_renamed_by_a_real_store(
    store: Store, client: S3Client, bucket: str, name: str
) -> None:
    put = outcome(lambda: client.put_object(Bucket=bucket, Key=name, Body=b""))
    if store.fake:
        assert put[0] == 400
    elif store.name == "seaweedfs":
        assert put != OK or keys_of(client, bucket) != [name]
    else:
        assert (put, keys_of(client, bucket)) == (OK, [name])


def test_a_key_over_1024_bytes_is_refused(store: Store, client: S3Client, bucket: str) -> None:
    name = "/".join(["x" * 204] * 5)
    assert outcome(lambda: client.put_object(Bucket=bucket, Key=name, Body=b"")) == OK
    put = outcome(lambda: client.put_object(Bucket=bucket, Key=f"{name}x", Body=b""))
    assert put == expected(store, "a key that is too long", TOO_LONG)


# ----------------------------------------------------------------------------- deletion


def test_a_batch_deletes_what_is_there_and_says_so_of_all(client: S3Client, bucket: str) -> None:
    for name in ("a", "b", "kept"):
        client.put_object(Bucket=bucket, Key=name, Body=b"")
    batch: Any = {"Objects": [{"Key": "a"}, {"Key": "b"}, {"Key": "absent"}]}
    answer = client.delete_objects(Bucket=bucket, Delete=batch)
    assert sorted(item["Key"] for item in answer["Deleted"]) == ["a", "absent", "b"]
    assert "Errors" not in set(answer)
    assert keys_of(client, bucket) == ["kept"]
    quiet = client.delete_objects(
        Bucket=bucket, Delete={"Objects": [{"Key": "kept"}], "Quiet": True}
    )
    assert {"Deleted", "Errors"}.isdisjoint(quiet)
    assert keys_of(client, bucket) == []


def test_a_batch_has_at_most_1000_keys(store: Store, client: S3Client, bucket: str) -> None:
    batch: Any = {"Objects": [{"Key": f"k{number}"} for number in range(1001)]}
    deleted = outcome(lambda: client.delete_objects(Bucket=bucket, Delete=batch))
    assert deleted == expected(store, "a batch that is too long", (400, "MalformedXML"))


# ------------------------------------------------------------------- who asks, and when


def each_call(client: S3Client, bucket: str) -> dict[str, Callable[[], object]]:
    """One call of each operation that answers an error with a body."""
    batch: Any = {"Objects": [{"Key": "k"}]}
    return {
        "put": lambda: client.put_object(Bucket=bucket, Key="k", Body=b"", IfNoneMatch="*"),
        "get": lambda: client.get_object(Bucket=bucket, Key="k"),
        "delete": lambda: client.delete_object(Bucket=bucket, Key="k"),
        "batch": lambda: client.delete_objects(Bucket=bucket, Delete=batch),
        "list": lambda: client.list_objects_v2(Bucket=bucket),
    }


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        (
            lambda keys: Keys(keys.access_key_id, f"x{keys.secret_access_key}"),
            "SignatureDoesNotMatch",
        ),
        (lambda keys: Keys("nobody", keys.secret_access_key), "InvalidAccessKeyId"),
    ],
    ids=["secret", "key"],
)
def test_wrong_keys_are_refused(
    store: Store, bucket: str, keys: Callable[[Keys], Keys], code: str
) -> None:
    wrong = store.client(keys(store.server.keys))
    calls = each_call(wrong, bucket)
    assert {name: outcome(call) for name, call in calls.items()} == dict.fromkeys(
        calls, (403, code)
    )
    assert outcome(lambda: wrong.head_object(Bucket=bucket, Key="k")) == FORBIDDEN
    assert keys_of(store.client(), bucket) == []


def test_nobody_is_refused(store: Store, bucket: str) -> None:
    calls = each_call(store.client(signature_version=UNSIGNED), bucket)
    assert {name: outcome(call) for name, call in calls.items()} == dict.fromkeys(calls, DENIED)


def at(monkeypatch: pytest.MonkeyPatch, shift: timedelta) -> None:
    """Let botocore's clock be wrong."""
    right: Callable[[bool], datetime] = vars(botocore.auth)["get_current_datetime"]

    def wrong(remove_tzinfo: bool = True) -> datetime:
        return right(remove_tzinfo) + shift

    monkeypatch.setattr(botocore.auth, "get_current_datetime", wrong)


@pytest.mark.parametrize("minutes", [-14, 14])
def test_a_clock_may_be_off_by_less_than_15_minutes(
    client: S3Client, bucket: str, minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, timedelta(minutes=minutes))
    assert outcome(lambda: client.list_objects_v2(Bucket=bucket)) == OK


@pytest.mark.parametrize("minutes", [-16, 16, -60 * 25])
def test_a_clock_that_is_off_by_more_is_told_the_time(
    client: S3Client, bucket: str, minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, timedelta(minutes=minutes))
    calls = each_call(client, bucket)
    skewed = (403, "RequestTimeTooSkewed")
    assert {name: outcome(call) for name, call in calls.items()} == dict.fromkeys(calls, skewed)
    with pytest.raises(ClientError) as caught:
        client.head_object(Bucket=bucket, Key="k")
    told = caught.value.response["ResponseMetadata"]
    date = parsedate_to_datetime(told["HTTPHeaders"]["date"])
    assert told["HTTPStatusCode"] == 403
    assert abs(date - datetime.now(UTC)) < timedelta(minutes=1)


def test_another_region(store: Store, bucket: str) -> None:
    elsewhere = store.client(region="eu-north-9")
    # The fake's answer names the right region, and botocore tries again with that by itself.
    assert outcome(lambda: elsewhere.list_objects_v2(Bucket=bucket)) == OK
    assert store.fake is None or len(store.fake.requests) == 2


def test_a_token_with_keys_that_have_none(store: Store, bucket: str) -> None:
    keys = store.server.keys
    client = store.client(Keys(keys.access_key_id, keys.secret_access_key, "no-token-of-theirs"))
    got = outcome(lambda: client.list_objects_v2(Bucket=bucket))
    assert got == expected(store, "a token with keys that have none", (400, "InvalidToken"))


def test_who_may_read_but_not_list_does_not_learn_what_is_not_there(
    store: Store, client: S3Client, bucket: str
) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"")
    reader = store.client(store.let_read(bucket))
    assert outcome(lambda: reader.head_object(Bucket=bucket, Key="k")) == OK
    head = outcome(lambda: reader.head_object(Bucket=bucket, Key="absent"))
    get = outcome(lambda: reader.get_object(Bucket=bucket, Key="absent"))
    head_what = "HEAD of what isn't there without the right to list"
    get_what = "reading what isn't there without the right to list"
    assert head == expected(store, head_what, FORBIDDEN)
    assert get == expected(store, get_what, DENIED)


def test_who_may_only_read_changes_nothing(store: Store, client: S3Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"")
    reader = store.client(store.let_read(bucket))
    calls = each_call(reader, bucket)
    assert {name: outcome(calls[name]) for name in ("put", "delete", "list")} == {
        "put": DENIED, "delete": DENIED, "list": DENIED,
    }  # fmt: skip
    what = "deleting a batch without the right"
    assert outcome(calls["batch"]) == expected(store, what, OK)
    if expected(store, what, OK) == OK:
        batch: Any = {"Objects": [{"Key": "k"}]}
        [error] = reader.delete_objects(Bucket=bucket, Delete=batch)["Errors"]
        assert (error["Key"], error["Code"]) == ("k", "AccessDenied")
    assert keys_of(client, bucket) == ["k"]


# -------------------------------------------------------------- what arrives is what was sent


def tamper(client: S3Client, change: Callable[[AWSPreparedRequest], None]) -> None:
    """Change each request after it was signed."""

    def handler(request: AWSPreparedRequest, **_: object) -> None:
        change(request)

    client.meta.events.register("before-send.s3", handler)


def test_a_request_that_was_changed_on_its_way_is_refused(client: S3Client, bucket: str) -> None:
    def change(request: AWSPreparedRequest) -> None:
        request.url = request.url.replace("sent", "changed")

    tamper(client, change)
    for call in (
        lambda: client.put_object(Bucket=bucket, Key="sent", Body=b""),
        lambda: client.list_objects_v2(Bucket=bucket, Prefix="sent"),
        lambda: client.delete_object(Bucket=bucket, Key="sent"),
    ):
        assert outcome(call) == (403, "SignatureDoesNotMatch")


def test_a_condition_that_was_taken_away_on_its_way_is_missed(
    client: S3Client, bucket: str
) -> None:
    def change(request: AWSPreparedRequest) -> None:
        del request.headers["If-None-Match"]

    tamper(client, change)
    put = outcome(lambda: client.put_object(Bucket=bucket, Key="k", Body=b"", IfNoneMatch="*"))
    assert put == (403, "SignatureDoesNotMatch")


def test_a_body_that_is_not_the_one_that_was_signed(
    store: Store, client: S3Client, bucket: str
) -> None:
    def change(request: AWSPreparedRequest) -> None:
        request.body = b"changed"

    tamper(client, change)
    signing = store.client(s3={"addressing_style": "path", "payload_signing_enabled": True})
    tamper(signing, change)
    put = outcome(lambda: signing.put_object(Bucket=bucket, Key="k", Body=b"as sent"))
    what = "a body that isn't the one that was signed"
    assert put == expected(store, what, (400, "XAmzContentSHA256Mismatch"))


@pytest.mark.parametrize(
    ("checksum", "code"),
    [
        (base64.b64encode(hashlib.md5(b"other").digest()).decode(), "BadDigest"),
        ("x", "InvalidDigest"),
    ],
)
def test_a_wrong_checksum_is_refused(
    client: S3Client, bucket: str, checksum: str, code: str
) -> None:
    put = outcome(
        lambda: client.put_object(Bucket=bucket, Key="k", Body=b"body", ContentMD5=checksum)
    )
    assert (put, keys_of(client, bucket)) == ((400, code), [])


def test_the_usual_checksums_of_botocore_need_a_store_that_takes_chunks(
    store: Store, bucket: str
) -> None:
    usual = store.client(request_checksum_calculation="when_supported")
    put = outcome(lambda: usual.put_object(Bucket=bucket, Key="k", Body=b"body"))
    if store.server.url.startswith("https"):  # only there it sends chunks with a trailer
        assert put == expected(store, "a body in chunks", (411, "MissingContentLength"))
    else:
        assert put == OK


# ------------------------------------------------------- stores that can't create exclusively


def test_rclone_ignores_the_condition(rclone_s3: S3Server) -> None:
    client = rclone_s3.client()
    client.create_bucket(Bucket="bucket")

    def put(content: bytes) -> object:
        return client.put_object(Bucket="bucket", Key="k", Body=content, IfNoneMatch="*")

    assert [outcome(lambda: put(b"first")), outcome(lambda: put(b"second"))] == [OK, OK]
    with client.get_object(Bucket="bucket", Key="k")["Body"] as body:
        assert body.read() == b"second"


def test_swift_refuses_the_condition(swift_s3: S3Server) -> None:
    client = swift_s3.client()
    client.create_bucket(Bucket="bucket")
    assert outcome(lambda: client.put_object(Bucket="bucket", Key="plain", Body=b"")) == OK
    put = outcome(lambda: client.put_object(Bucket="bucket", Key="k", Body=b"", IfNoneMatch="*"))
    assert put == (501, "NotImplemented")
    assert outcome(lambda: client.head_object(Bucket="bucket", Key="k")) == NOT_FOUND
