"""What a real bucket holds and doesn't show: former versions, uploads that were never finished."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dispatch.checkpoint.log import Log
from tests.contracts.buckets import BucketBench, open_log
from tests.servers.s3 import S3Server
from tests.servers.stores import Store, real_store

pytestmark = pytest.mark.real

SAVE = "exec/a/step-1"


@pytest.fixture
def store(radosgw: S3Server) -> Store:
    return real_store(radosgw)


@pytest.fixture
def bench(store: Store) -> BucketBench:
    """A root in a bucket of its own."""
    return BucketBench(store)


@pytest.fixture
def log(store: Store, bench: BucketBench) -> Iterator[Log]:
    """Its log, as a program opens it."""
    with open_log(store, bench.root) as opened:
        yield opened


def place_of(bench: BucketBench) -> tuple[str, str]:
    """Return a root's bucket and prefix."""
    bucket, _, prefix = bench.root.removeprefix("s3://").partition("/")
    return bucket, prefix


def test_what_was_deleted_in_a_bucket_with_versions_is_not_there(
    store: Store, bench: BucketBench, log: Log
) -> None:
    """A marker hides it and its former version; it can be published again."""
    bucket, prefix = place_of(bench)
    client = store.client()
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    bench.write(f"{SAVE}/.metadata".encode(), b"m")
    entry = log.publish(1, 1, SAVE)
    opened = bench.open()
    assert opened.names("pub")[0] == [entry.name()]
    assert opened.has_file(SAVE.encode(), b".metadata")
    for key in (f"pub/{entry.name()}", f"{SAVE}/.metadata"):
        client.delete_object(Bucket=bucket, Key=f"{prefix}/{key}")
    versions = client.list_object_versions(Bucket=bucket, Prefix=f"{prefix}/")
    assert len(versions["DeleteMarkers"]) == len(versions["Versions"]) == 2
    assert opened.names("pub") == ([], True)
    assert not opened.has_file(b"pub", entry.name().encode())
    assert not opened.has_file(SAVE.encode(), b".metadata")
    assert not opened.has_save(SAVE.encode())
    assert log.resolve() is None
    bench.write(f"{SAVE}/.metadata".encode(), b"m")
    assert log.publish(1, 1, SAVE) == entry
    assert opened.names("pub")[0] == [entry.name()]


def test_an_upload_that_was_not_finished_is_not_there(
    store: Store, bench: BucketBench, log: Log
) -> None:
    """Neither as an entry nor as a file of a save."""
    bucket, prefix = place_of(bench)
    client = store.client()
    bench.write(f"{SAVE}/.metadata".encode(), b"m")
    entry = log.publish(1, 1, SAVE)
    unfinished = f"pub/{entry.name()}x", f"{SAVE}/model", "exec/a/step-2/.metadata"
    for name in unfinished:
        key = f"{prefix}/{name}"
        upload = client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        client.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"part")
    uploads = client.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert sorted(item["Key"] for item in uploads) == sorted(f"{prefix}/{x}" for x in unfinished)
    opened = bench.open()
    assert opened.names("pub") == ([entry.name()], True)
    assert not opened.has_file(SAVE.encode(), b"model")
    assert not opened.has_file(b"exec/a/step-2", b".metadata")
    assert not opened.has_save(b"exec/a/step-2")
    assert log.resolve() == entry
