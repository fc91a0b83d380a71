from __future__ import annotations

from collections.abc import Iterator

import pytest

from dispatch.testing.s3fake import S3Fake
from tests.unit.adapters.s3.roots import Bench, bench_on


@pytest.fixture
def s3() -> Iterator[Bench]:
    """A root on a fake; the fake ends the test when a call was unexpected."""
    with bench_on(S3Fake()) as bench:
        yield bench
