"""A bucket and processes that share it, each request of which can be met before and after.

A process is the real store with a real botocore client. Its signed requests go to the fake's own
service in this process, without a socket between: a request takes half the time, nothing happens
by itself in between, and a process can die in the middle of it. Answers that get lost look as
they do over a socket, where tests/unit/adapters/s3 meets them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError

from dispatch.adapters.s3 import Connection, S3Store, Surroundings, open_bucket
from dispatch.checkpoint.log import Log
from dispatch.testing.calls import Call
from dispatch.testing.s3fake import S3Fake, on
from dispatch.testing.s3fake.connection import Message
from dispatch.testing.s3fake.faults import Fault
from dispatch.testing.s3fake.listing import PAGE_KEYS_MAX
from tests.contracts.buckets import MARKERS, FixedKeys
from tests.servers.s3 import Keys
from tests.unit.adapters.s3.roots import BUCKET, PREFIX, ROOT, FakeClock
from tests.unit.stores import InlinePatience

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

_LIST = "ListObjectsV2"

Keyed: TypeAlias = Mapping[str, bytes]
"""What a bucket holds below the root: each key, without the root's prefix, and its content."""


@dataclass(frozen=True, slots=True)
class Request(Call):
    """One request of a process, right before or right after its effect.

    What is made for calls of a file system (`tests.faults.scenarios.Moment`) meets it too:
    ``method`` is S3's operation, and ``path`` the key, or a listing's prefix, without the root's
    (empty for a batch of deletions).

    Attributes:
        is_done: Whether its effect is there. The process doesn't know: it has no answer yet.
        is_further: Whether it asks for a page of a listing behind the first.
    """

    is_done: bool = False
    is_further: bool = False

    @property
    def deletes_a_save(self) -> bool:
        """Whether it deletes what isn't a name in one of the root's own folders."""
        is_name = self.path.startswith((b"pub/", b"runs/", b"fates/"))
        return self.method.startswith("DeleteObject") and not is_name

    def begins_listing_of(self, folder: bytes) -> bool:
        """Whether it asks for the first page of a folder."""
        return (self.method, self.path, self.is_further) == (_LIST, folder, False)


Rule: TypeAlias = Callable[[Request], None]
"""Asked before and after each request; it may do another's work, set a fault, or raise."""


@dataclass
class Process:
    """A process that has opened the root.

    Attributes:
        store: Its store.
        rules: What is asked, before and after each request.
        requests: Its requests so far, as they were before their effect.
    """

    shared: SharedBucket
    store: S3Store = field(init=False)
    rules: tuple[Rule, ...] = ()
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        fake = self.shared.fake
        around = Surroundings(FakeClock(), fake.now, lambda: 0.0, nullcontext)
        keys = FixedKeys(Keys(fake.keys.access_key_id, fake.keys.secret_access_key))
        self.store = open_bucket(ROOT, Connection(endpoint=fake.url), keys, around, markers=MARKERS)
        client = self.store._requests.client
        client.meta.events.register("before-send.s3", self._send)

    def _send(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse:
        """Answer a request in place of botocore's own connection."""
        before = Request(
            number=len(self.requests) + 1,
            method=event_name.rpartition(".")[2],
            path=_key_of(request.url),
            is_further="&continuation-token=" in request.url,
        )
        self.requests.append(before)
        self._ask(before)
        reply = self.shared.fake._service.respond(_message_of(request))
        self._ask(replace(before, is_done=True))
        if reply.data is None or reply.delivery is not None:
            raise ConnectionClosedError(endpoint_url=request.url)
        return _response_of(request.url, reply.data)

    def _ask(self, request: Request) -> None:
        for rule in self.rules:
            rule(request)


@dataclass
class SharedBucket:
    """A bucket with a root, on a fake of its own.

    Attributes:
        fake: The fake.
        history: Every request of every process since `clear`, in the order of their effects.
    """

    fake: S3Fake
    history: list[tuple[int, Request]] = field(default_factory=list)
    _processes: list[Process] = field(default_factory=list)
    _opened: int = 0

    def clear(self, content: Keyed | None = None) -> None:
        """Begin anew, with this content: the processes that were are no more."""
        self.fake.create_bucket(BUCKET)
        self.fake._service.requests.clear()
        self.history.clear()
        self._opened = 0
        for key, body in (content or {}).items():
            self.put(key, body)

    def open(self, *rules: Rule) -> Log:
        """Open the root in a process of its own; clients are made once, since they are slow."""
        return Log(self.process(*rules).store, InlinePatience())

    def process(self, *rules: Rule) -> Process:
        """As `open`, for who wants to see its requests."""
        if self._opened == len(self._processes):
            self._processes.append(Process(self))
        process = self._processes[self._opened]
        number = self._opened
        self._opened += 1
        process.requests = []

        def note(request: Request) -> None:
            if request.is_done:
                self.history.append((number, request))

        process.rules = (note, *rules)
        return process

    def put(self, key: str, body: bytes = b"") -> None:
        """Put an object, as a trainer does."""
        self.fake.put(BUCKET, f"{PREFIX}/{key}", body)

    def remove(self, key: str) -> None:
        """Remove an object, as a trainer does."""
        self.fake.remove(BUCKET, f"{PREFIX}/{key}")

    def content(self) -> dict[str, bytes]:
        """What the root holds."""
        names = self.fake.names(BUCKET, f"{PREFIX}/")
        bodies = {name: self.fake.get(BUCKET, name) for name in names}
        return {name.removeprefix(f"{PREFIX}/"): body or b"" for name, body in bodies.items()}

    def let_fail(self, fault: Fault) -> None:
        """Let the next request meet a fault, whoever's it is."""
        self.fake.script(fault, on())

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.store.close()


@contextmanager
def shared_bucket(page_size: int = PAGE_KEYS_MAX) -> Iterator[SharedBucket]:
    """Run a fake with such a bucket; at its end it says whether a call was unexpected."""
    with S3Fake(page_size=page_size) as fake:
        bucket = SharedBucket(fake)
        bucket.clear()
        yield bucket
        bucket.close()


def _key_of(url: str) -> bytes:
    """The key of a request, or the prefix of a listing, below the root."""
    parts = urlsplit(url)
    _, _, key = unquote(parts.path)[1:].partition("/")
    key = key or parse_qs(parts.query).get("prefix", [""])[0]
    return key.removeprefix(f"{PREFIX}/").encode()


def _message_of(request: AWSPreparedRequest) -> Message:
    """Give a request the form that it has when it came over a socket."""
    parts = urlsplit(request.url)
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    headers.setdefault("host", parts.netloc)
    body = request.body or b""
    content = body if isinstance(body, bytes | bytearray | str) else body.read()
    assert not isinstance(content, str), "botocore sends bytes"
    return Message(request.method, f"{parts.path}?{parts.query}", headers, bytes(content))


def _text(value: str | bytes) -> str:
    """Give a header's value as text."""
    return value if isinstance(value, str) else value.decode("latin-1")


class _Raw(io.BytesIO):
    """A body, as urllib3 gives it."""

    def stream(self, amt: int = -1, **_: object) -> Iterator[bytes]:
        """Give all of it."""
        yield self.read()


def _response_of(url: str, data: bytes) -> AWSResponse:
    """Give an answer the form that botocore's own connection gives it."""
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = HTTPHeaders()
    for line in lines:
        name, _, value = line.partition(": ")
        headers[name] = value
    return AWSResponse(url, int(status.split()[1]), headers, _Raw(body))
