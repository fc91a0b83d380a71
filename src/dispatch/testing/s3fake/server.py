"""`S3Fake`: the server, what it holds, what goes wrong in it, and what it has seen."""

from __future__ import annotations

import time
from collections import Counter
from threading import Thread
from typing import TYPE_CHECKING, Self

from dispatch.testing.s3fake.connection import Server
from dispatch.testing.s3fake.listing import PAGE_KEYS_MAX, Tokens
from dispatch.testing.s3fake.objects import Bucket, Stored, check_key, utf8_order
from dispatch.testing.s3fake.operations import Operations
from dispatch.testing.s3fake.service import Service
from dispatch.testing.s3fake.signature import Keys

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from types import TracebackType

    from dispatch.testing.s3fake.faults import Fault, MakeFault, When
    from dispatch.testing.s3fake.objects import Order
    from dispatch.testing.s3fake.request import Request

OWNER = Keys("fakeaccess", "fakesecretkey0123456789")
"""Keys with all rights, which every fake knows."""

_SHOWN = 5  # of what went wrong, in one message
_POLL_S = 0.01  # how soon `serve_forever` sees that it is to end


class S3FakeError(AssertionError):
    """The test did what the fake is not made for, or a scripted fault never happened."""


class S3Fake:
    """An S3 server in this process, on a free loopback port, until `close`.

    Every method may be called while requests are being served.

    Args:
        region: Requests must be signed for it, unless a bucket has another.
        page_size: The most keys of one page of a listing: S3, too, may give fewer than 1,000.
        order: In which keys are listed: `utf8_order`, as S3 and Ceph do, or `directory_order`,
            as SeaweedFS does.
        clock: The server's clock, in seconds since 1970.
        domain: A bucket may also be named in the host: ``BUCKET.DOMAIN``.
        tls: To speak https.
        unsigned_payload: Whether a body may be left out of the signature; None for only with
            TLS, where S3's own clients do so.

    Attributes:
        url: Where it listens, without a slash at the end.
        keys: Keys with all rights.
        region: As given.
        skew_s: How far the server's clock is ahead of ``clock``; set it at any time.
    """

    def __init__(
        self,
        *,
        region: str = "us-east-1",
        page_size: int = PAGE_KEYS_MAX,
        order: Order = utf8_order,
        clock: Callable[[], float] = time.time,
        domain: str = "localhost",
        tls: ssl.SSLContext | None = None,
        unsigned_payload: bool | None = None,
    ) -> None:
        self.keys = OWNER
        self.region = region
        self.skew_s = 0.0
        self._order = order
        self._clock = clock
        self._service = Service(
            region=region,
            domain=domain,
            unsigned_payload=bool(tls) if unsigned_payload is None else unsigned_payload,
            operations=Operations(Tokens(), self.now, min(page_size, PAGE_KEYS_MAX)),
        )
        self.add_keys(OWNER)
        self._server = Server(self._service.respond, self._report, tls)
        self._thread = Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="s3fake", daemon=True
        )
        self._thread.start()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()
        if error is None:  # else that error is the one to see
            self._check()

    def close(self) -> None:
        """Stop, and say what went wrong.

        Raises:
            S3FakeError: There were unexpected calls, or a scripted fault never happened.
        """
        self._stop()
        self._check()

    def create_bucket(
        self, name: str, *, region: str | None = None, redirects: bool = False
    ) -> None:
        """Make a bucket, perhaps in another region than the fake's own.

        A request that is signed for a region other than the bucket's is refused with an answer
        that names the right one: 301 PermanentRedirect when ``redirects``, else 400
        AuthorizationHeaderMalformed.
        """
        bucket = Bucket(name, region or self.region, redirects, self._order)
        with self._service.lock:
            self._service.buckets[name] = bucket

    def delete_bucket(self, name: str) -> None:
        """Remove a bucket with all that is in it."""
        with self._service.lock:
            del self._service.buckets[name]

    def add_keys(self, keys: Keys) -> None:
        """Let more keys in, or replace those of the same access key."""
        with self._service.lock:
            self._service.keyring[keys.access_key_id] = keys

    def remove_keys(self, access_key_id: str) -> None:
        """Let these keys in no longer: InvalidAccessKeyId from now on."""
        with self._service.lock:
            del self._service.keyring[access_key_id]

    def put(self, bucket: str, key: str, body: bytes = b"") -> None:
        """Put an object, as somebody else would. A key that ends in a slash is a folder marker."""
        check_key(key)
        self._bucket(bucket).put(key, Stored(body, self.now()))

    def remove(self, bucket: str, key: str) -> None:
        """Remove an object, if it is there, as somebody else would."""
        self._bucket(bucket).remove(key)

    def get(self, bucket: str, key: str) -> bytes | None:
        """An object's content; None when it is not there."""
        stored = self._bucket(bucket).get(key)
        return None if stored is None else stored.body

    def names(self, bucket: str, prefix: str = "") -> list[str]:
        """The keys with a prefix, in the order of listings."""
        return [key for key in self._bucket(bucket).names() if key.startswith(prefix)]

    def script(
        self, fault: Fault | MakeFault, when: When, *, times: int | None = 1, skip: int = 0
    ) -> None:
        """Let something go wrong with requests that are signed well.

        Args:
            fault: What; or a function that makes it from the request.
            when: With which requests; see `on`.
            times: With how many of them; None for all.
            skip: How many of them to let pass before. A request meets one fault at most, the
                first that was added and fits.
        """
        self._service.script.add(fault, when, times=times, skip=skip)

    @property
    def requests(self) -> list[Request]:
        """What came so far, in order, also what was refused."""
        with self._service.lock:
            return list(self._service.requests)

    @property
    def unexpected(self) -> list[str]:
        """The calls that the fake is not made for, in words."""
        return list(self._service.unexpected)

    def counts(self) -> dict[str, int]:
        """How many requests of each operation came so far."""
        return dict(Counter(request.operation for request in self.requests))

    def now(self) -> float:
        """The server's clock, in seconds since 1970."""
        return self._clock() + self.skew_s

    def _bucket(self, name: str) -> Bucket:
        with self._service.lock:
            return self._service.buckets[name]

    def _report(self, error: BaseException) -> None:
        self._service.unexpected.append(f"{type(error).__name__} while answering: {error}")

    def _stop(self) -> None:
        self._server.close()
        self._thread.join()

    def _check(self) -> None:
        wrong = [f"unexpected: {what}" for what in self.unexpected]
        wrong += [f"it never happened: {fault}" for fault in self._service.script.unused()]
        if wrong:
            more = [f"and {len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
            raise S3FakeError("; ".join(wrong[:_SHOWN] + more))
