"""The log on S3 against the bare calls of botocore, on a real Ceph gateway on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path

from botocore.exceptions import ClientError

from benchmarks import operations, starting
from benchmarks.data import entry_names
from benchmarks.measuring import Comparison, peak_memory
from dispatch.checkpoint import Framework, Log, Watcher
from dispatch.errors import AlreadyPublishedError
from tests.servers.certificates import make_certificates
from tests.servers.programs import CEPH_MON, CEPH_OSD, OPENSSL, RADOSGW
from tests.servers.radosgw import run_radosgw
from tests.servers.s3 import S3Server

CALLS = 20  # publications in one run
WRITERS = 16  # threads that fill a bucket
ENTRIES_MAX = 10_000
"""More take minutes to be written, one request each."""
SAVES_MAX = 1_000
"""A watcher's first scan publishes each, by four requests and more."""

ATTEMPT = "exec/1.4101.0"
SAVE = f"{ATTEMPT}/step-500"
MARKER = ".metadata"
PREFIX = "job"

CLIENT = """\
import botocore.session
botocore.session.Session().create_client("s3", region_name="us-east-1", endpoint_url="{url}")
"""


def missing() -> list[str]:
    """Name the programs that the gateway needs and that aren't installed."""
    needed = (RADOSGW, CEPH_MON, CEPH_OSD, OPENSSL)
    return [f"{program.name} ({program.package})" for program in needed if not program.path()]


@contextmanager
def gateway(folder: Path) -> Iterator[S3Server]:
    """Run a Ceph gateway, whose objects are in memory, as long as it lasts."""
    with run_radosgw(folder, make_certificates(folder)) as (server, _):
        yield server


class Bucket:
    """A bucket with a root in it, a log of ours, and a bare client."""

    def __init__(self, server: S3Server, name: str) -> None:
        self.name, self.root, self.url = name, f"s3://{name}/{PREFIX}", server.url
        self.on = f"radosgw {server.version}"
        self.client = server.client()
        self.client.create_bucket(Bucket=name)

    def log(self) -> Log:
        """Open the root."""
        return operations.open_on_s3(self.root, self.url)

    def fill(self, keys: list[str]) -> None:
        """Write so many empty objects."""

        def write(key: str) -> None:
            self.client.put_object(Bucket=self.name, Key=f"{PREFIX}/{key}", Body=b"")

        with ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(write, keys))


class Publisher:
    """Publishes one save, under new steps or under the same ones again."""

    def __init__(self, bucket: Bucket) -> None:
        bucket.fill([f"{SAVE}/{MARKER}"])
        self._bucket, self._log = bucket, bucket.log()
        self._steps, self._names = count(CALLS), count(CALLS)

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def create(self) -> None:
        """Publish new steps."""
        for _ in range(CALLS):
            self._log.publish(1, next(self._steps), SAVE)

    def repeat(self) -> None:
        """Publish the same steps as ever."""
        for step in range(CALLS):
            try:
                self._log.publish(1, step, SAVE)
            except AlreadyPublishedError:
                continue

    def put_bare(self) -> None:
        """Create new names."""
        for _ in range(CALLS):
            self._put(next(self._names))

    def look_and_put_bare(self) -> None:
        """Create new names, and look at the save before and after."""
        for _ in range(CALLS):
            self._look()
            self._put(next(self._names))
            self._look()

    def look_and_put_again_bare(self) -> None:
        """Create the same names as ever, and look at the save before and after."""
        for number in range(CALLS):
            self._look()
            try:
                self._put(number)
            except ClientError as error:
                if error.response["Error"].get("Code") != "PreconditionFailed":
                    raise
            self._look()

    def _put(self, number: int) -> None:
        key = f"{PREFIX}/bare/{number:0100d}"
        self._bucket.client.put_object(Bucket=self._bucket.name, Key=key, Body=b"", IfNoneMatch="*")

    def _look(self) -> None:
        prefix = f"{PREFIX}/{SAVE}/"
        self._bucket.client.list_objects_v2(Bucket=self._bucket.name, Prefix=prefix, MaxKeys=2)


def publications(bucket: Bucket) -> Iterator[Comparison]:
    """Yield publications that are created, and publications that were there already."""
    publisher = Publisher(bucket)
    looks = "list_objects_v2, put_object, list_objects_v2"
    for what, against, measured, bare in (
        ("publish, created", looks, publisher.create, publisher.look_and_put_bare),
        ("publish, created", "put_object alone", publisher.create, publisher.put_bare),
        (
            "publish, already there",
            f"{looks}, where put_object fails",
            publisher.repeat,
            publisher.look_and_put_again_bare,
        ),
    ):
        yield Comparison(
            what=what,
            against=f"{against} (If-None-Match)",
            measured=measured,
            bare=bare,
            calls=CALLS,
            file_system=bucket.on,
        )
    publisher.close()


def listings(bucket: Bucket, size: int) -> Iterator[Comparison]:
    """Yield the reading of so many publications."""
    bucket.fill([f"{operations.PUB}/{name}" for name in islice(entry_names(), size)])
    log, pub = bucket.log(), f"{PREFIX}/{operations.PUB}/"
    ours = peak_memory("resolve_on_s3", bucket.root, bucket.url)
    bare = peak_memory("greatest_key", bucket.url, bucket.name, pub)
    yield Comparison(
        what="resolve",
        size=size,
        against="list_objects_v2, each page, and max",
        measured=log.resolve,
        bare=lambda: max(operations.keys(bucket.client, bucket.name, pub)),
        file_system=bucket.on,
        peaks=(ours, bare),
    )
    log.close()


def scans(bucket: Bucket, size: int) -> Iterator[Comparison]:
    """Yield a scan of so many saves that are published."""
    bucket.fill([f"{ATTEMPT}/step-{step}/{MARKER}" for step in range(1, size + 1)])
    log = bucket.log()
    watcher = Watcher(log, Framework.dcp, ATTEMPT, 1)
    watcher.scan()

    def list_bare() -> object:
        prefix = f"{PREFIX}/{ATTEMPT}/step-"
        return bucket.client.list_objects_v2(Bucket=bucket.name, Prefix=prefix, Delimiter="/")

    yield Comparison(
        what="scan, all published",
        size=size,
        against="list_objects_v2 with a delimiter",
        measured=watcher.scan,
        bare=list_bare,
        file_system=bucket.on,
    )
    log.close()


def starts(bucket: Bucket) -> Iterator[Comparison]:
    """Yield the start of `publish resolve` on a root with one publication."""
    bucket.fill([f"{SAVE}/{MARKER}"])
    with bucket.log() as log:
        log.publish(1, 500, SAVE)
    script = os.environ.get("DISPATCH_TEST_PUBLISH_S3", "")
    python = str(Path(script).parent / "python") if script else sys.executable
    arguments = (script,) if script else ("-m", "dispatch.cli.publish")
    shown = "publish (the wheel's)" if script else "python -m dispatch.cli.publish"
    resolve = (*arguments, "resolve", "-checkpoint", bucket.root, "-endpoint", bucket.url)
    client = ("-c", CLIENT.format(url=bucket.url))
    environment = {**starting.ENVIRONMENT, **operations.variables_of_owner()}
    loaded = [starting.modules(python, line, environment) for line in (resolve, client)]
    yield Comparison(
        what=f"{shown} resolve ({loaded[0]} modules)",
        size=1,
        against=f"python: import botocore, make a client for S3 ({loaded[1]} modules)",
        measured=partial(starting.run, [python, *resolve], environment),
        bare=partial(starting.run, [python, *client], environment),
        file_system=bucket.on,
    )


def comparisons(server: S3Server, sizes: list[int]) -> Iterator[Comparison]:
    """Yield all that is measured on a gateway, each in a bucket of its own.

    Args:
        server: The gateway.
        sizes: Of logs and folders; one above `ENTRIES_MAX` counts as that. Scans are measured
            with the greatest that isn't above `SAVES_MAX`.
    """
    yield from starts(Bucket(server, "starts"))
    yield from publications(Bucket(server, "publications"))
    for size in sorted({min(size, ENTRIES_MAX) for size in sizes}):
        yield from listings(Bucket(server, f"listings-{size}"), size)
    saves = max((size for size in sizes if size <= SAVES_MAX), default=SAVES_MAX)
    yield from scans(Bucket(server, "scans"), saves)
