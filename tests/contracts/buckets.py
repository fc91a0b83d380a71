"""The benches of roots in a bucket, of the fake and of real servers alike."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from dispatch.adapters.s3 import Connection, S3Store, Surroundings, open_bucket
from dispatch.adapters.system.clock import SystemClock
from dispatch.adapters.system.entropy import fraction
from dispatch.checkpoint import FRAMEWORKS, open_store
from dispatch.checkpoint.log import Log
from dispatch.errors import NotFoundError
from dispatch.ports.credentials import Credentials
from dispatch.testing.contracts.bench import MakePublishingStore
from dispatch.testing.contracts.store import SharedStoreContract, StoreContract
from tests.servers.s3 import Keys
from tests.servers.stores import Store

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

MARKERS = tuple(marker for framework in FRAMEWORKS for marker in framework.markers)
_PREFIXES = map("runs/{}".format, itertools.count(1))


class FixedKeys:
    """Keys that never change."""

    def __init__(self, keys: Keys) -> None:
        self._credentials = Credentials(
            keys.access_key_id, keys.secret_access_key, keys.session_token
        )
        self.renewals = 0

    def current(self) -> Credentials:
        return self._credentials

    def source(self) -> str:
        return "fixed"

    def renew(self) -> Credentials:
        self.renewals += 1
        return self._credentials


def connection_to(store: Store) -> Connection:
    """Say how to reach it."""
    ca_file = store.server.ca_file
    return Connection(endpoint=store.server.url, ca_file=str(ca_file) if ca_file else None)


def open_s3(store: Store, root: str) -> S3Store:
    """Open a root, with the owner's keys, on the machine's clock."""
    around = Surroundings(SystemClock(), time.time, fraction, nullcontext)
    keys = FixedKeys(store.server.keys)
    return open_bucket(root, connection_to(store), keys, around, markers=MARKERS)


def variables_of(store: Store) -> Mapping[str, str]:
    """Give the owner's keys as an environment."""
    keys = store.server.keys
    return {
        "AWS_ACCESS_KEY_ID": keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
    }


def open_log(store: Store, root: str) -> Log:
    """Open a root as a program would, by the public door."""
    connection = connection_to(store)
    return open_store(
        root,
        endpoint=connection.endpoint,
        ca_file=connection.ca_file,
        creds=["env"],
        environment=variables_of(store),
    )


class BucketBench:
    """A root in a bucket of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bucket = store.new_bucket()
        self._prefix = next(_PREFIXES)
        self._client: S3Client = store.client()
        self.root = f"s3://{self._bucket}/{self._prefix}"

    def _key(self, path: bytes) -> str:
        return f"{self._prefix}/{path.decode()}"  # keys are UTF-8

    def open(self) -> S3Store:
        return open_s3(self._store, self.root)

    def write(self, path: bytes, content: bytes) -> None:
        if self._store.fake is not None:
            self._store.fake.put(self._bucket, self._key(path), content)
        else:
            self._client.put_object(Bucket=self._bucket, Key=self._key(path), Body=content)

    def make_folder(self, path: bytes) -> bool:
        return False

    def link(self, path: bytes, target: bytes) -> bool:
        return False

    def pipe(self, path: bytes) -> bool:
        return False

    def mount(self, path: bytes) -> bool:
        return False

    def content(self, path: bytes) -> bytes | None:
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._key(path))
        except self._client.exceptions.NoSuchKey:
            return None
        with answer["Body"] as body:
            return body.read()

    def keys(self) -> list[str]:
        """List the root's keys, without the prefix."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{self._prefix}/"
        )
        start = len(self._prefix) + 1
        return [item["Key"][start:] for page in pages for item in page.get("Contents", ())]

    def destroy(self) -> None:
        if self._store.fake is not None:
            self._store.fake.delete_bucket(self._bucket)
        else:
            self._client.delete_bucket(Bucket=self._bucket)


class S3Contract(SharedStoreContract):
    """The contract of a store, where a bucket differs: it is asked for nothing but names."""

    def test_a_root_that_is_gone_is_seen_at_once(self, make_store: MakePublishingStore) -> None:
        """By the first request: to check and to open asks nothing."""
        bench = make_store()
        bench.open().check()
        bench.destroy()
        bench.open().check()
        with pytest.raises(NotFoundError) as caught:
            bench.open().has_save(b"e/a")
        assert caught.value.kind == "root-missing"

    @pytest.mark.parametrize("name", [b" ", "Ω".encode(), b"-n", b"a+b%2F&c"])
    def test_any_bytes_come_back_as_they_are(
        self, make_store: MakePublishingStore, name: bytes
    ) -> None:
        """Those that keys can have: they are UTF-8."""
        super().test_any_bytes_come_back_as_they_are(make_store, name)

    def test_the_contents_are_every_name_below_a_save(
        self, make_store: MakePublishingStore
    ) -> None:
        """As in any store; keys are UTF-8."""
        bench = make_store()
        for path in (b"e/s/a", b"e/s/sub/deep/b", "e/s/sub/Ω".encode(), b"e/s-2/d", b"e/x"):
            bench.write(path, b"content")
        contents = bench.open().contents(b"e/s")
        files = [b"a", b"sub/deep/b", "sub/Ω".encode()]
        assert sorted(contents.files()) == files
        assert sorted(contents.states) == sorted([*files, b"sub", b"sub/deep"])


NEEDS_MORE_THAN_KEYS = (
    "test_a_save_put_back_is_as_it_was",  # nothing can be renamed
    "test_a_save_written_anew_is_not_overwritten",
    "test_another_process_goes_on_from_what_was_left",
    "test_leftovers_lie_in_the_root_itself_too",
    "test_a_save_reached_through_a_link_is_left",  # there are no links, mounts, pipes
    "test_a_link_in_a_save_goes_and_what_it_leads_to_stays",
    "test_a_save_with_another_file_system_in_it_is_left",
    "test_a_link_to_a_save_is_a_save_and_one_to_nothing_is_none",
    "test_a_link_in_a_save_is_the_file_it_leads_to",
    "test_links_and_pipes_in_the_contents",
    "test_a_pipe_blocks_nobody_and_is_neither_save_nor_file",
    "test_an_empty_folder_is_a_save",  # a folder is the keys below it
    "test_children_keep_their_bytes",  # keys are UTF-8
    "test_names_of_any_bytes_are_removed",
    "test_a_folder_is_no_claim",  # there are no folders
)
"""What no bucket has, so that there is nothing to test: a skip would count as a failure."""

for _name in NEEDS_MORE_THAN_KEYS:
    assert callable(getattr(StoreContract, _name))
    setattr(S3Contract, _name, None)
