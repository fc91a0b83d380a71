"""The store contract on S3, over the fake: in the order of S3's keys, and in that of folders."""

from collections.abc import Iterator

import pytest

from dispatch.testing.contracts.bench import MakeStore
from tests.contracts.buckets import BucketBench, S3Contract
from tests.servers.stores import fake_store


class TestS3StoreOnTheFake(S3Contract):
    """The S3 store on a server that is stricter than any real one."""

    @pytest.fixture
    def make_store(self) -> Iterator[MakeStore]:
        with fake_store() as store:
            yield lambda: BucketBench(store)
