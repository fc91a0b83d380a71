"""Roots on the fake, with a clock and keys of the tests' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dispatch.adapters.s3 import Connection, S3Store, Surroundings, open_bucket
from dispatch.checkpoint.log import Log
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Credentials
from dispatch.testing.s3fake import Keys, S3Fake
from tests.contracts.buckets import MARKERS
from tests.unit.stores import InlinePatience

BUCKET, PREFIX = "runs", "job"
ROOT = f"s3://{BUCKET}/{PREFIX}"
SECRET, TOKEN = "MARKEDsecret0123456789", "MARKEDtoken0123456789"


@dataclass
class FakeClock:
    """A clock that only sleeping moves, and what was slept."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class FakeKeys:
    """Keys, and those (or the errors) that renewing them gives, in turn; then the same again."""

    credentials: Credentials
    next: list[Credentials | CredentialsError] = field(default_factory=list)
    renewals: int = 0

    def current(self) -> Credentials:
        return self.credentials

    def source(self) -> str:
        return "fake"

    def renew(self) -> Credentials:
        self.renewals += 1
        same = CredentialsError("it gives no others", kind="credentials-expired")
        following = self.next.pop(0) if self.next else same
        if isinstance(following, CredentialsError):
            raise following
        self.credentials = following
        return following


@dataclass
class Bench:
    """A fake with a root, its store, and what the store was given."""

    fake: S3Fake
    clock: FakeClock
    keys: FakeKeys
    store: S3Store
    quiet: list[str] = field(default_factory=list)

    @property
    def log(self) -> Log:
        """The root's log."""
        return Log(self.store, InlinePatience())

    def put(self, path: str, content: bytes = b"") -> None:
        """Put an object, as a trainer does."""
        self.fake.put(BUCKET, f"{PREFIX}/{path}", content)

    def names(self) -> list[str]:
        """List the root's keys."""
        return [key.removeprefix(f"{PREFIX}/") for key in self.fake.names(BUCKET, f"{PREFIX}/")]

    def asked(self) -> list[str]:
        """The operations so far."""
        return [request.operation for request in self.fake.requests]


def credentials_of(keys: Keys) -> Credentials:
    """Give the fake's keys as the port has them."""
    return Credentials(
        keys.access_key_id, keys.secret_access_key, keys.session_token, keys.expires_at
    )


@contextmanager
def bench_on(
    fake: S3Fake,
    keys: Keys | None = None,
    now: Callable[[], float] | None = None,
    how: dict[str, object] | None = None,
) -> Iterator[Bench]:
    """Open a root on a fake."""
    with fake:
        fake.create_bucket(BUCKET)
        quiet: list[str] = []

        @contextmanager
        def silence() -> Iterator[None]:
            quiet.append("in")
            yield
            quiet.append("out")

        clock = FakeClock()
        fake_keys = FakeKeys(credentials_of(keys or fake.keys))
        around = Surroundings(clock, now or fake.now, lambda: 0.0, silence)
        settings: dict[str, Any] = {"endpoint": fake.url, "allow_http": True, **(how or {})}
        connection = Connection(**settings)
        store = open_bucket(ROOT, connection, fake_keys, around, markers=MARKERS)
        yield Bench(fake, clock, fake_keys, store, quiet)
        store.close()
