"""The places where the state machine's executions live: a real folder, and a bucket."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Protocol

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint import Log
from dispatch.testing.s3fake import INTERNAL_ERROR, SLOW_DOWN, LoseReply, Reset
from dispatch.testing.s3fake.faults import CONFLICT, Fault
from tests.faults.bucket import Request, Rule, SharedBucket
from tests.unit.stores import Changes, CrashError, InlinePatience, TroubledFilesystem

# A disk's journal is ten times slower, and the rules are the same.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
LONG_AFTER_NS = 2**62  # every change was long ago: what shows none is whole
PAGE_KEYS = 3  # of a listing: few, so that much can happen between two pages
FAULTS: tuple[Fault, ...] = (LoseReply(), Reset(), CONFLICT, SLOW_DOWN, INTERNAL_ERROR)


class World(Protocol):
    """A root, as somebody sees it who doesn't use the code under test.

    Attributes:
        log: The log of the process to which things happen.
        other_log: The log of another process.
        odd: A part of a path that isn't ASCII, which base32 orders otherwise.
        hides_saves: Whether a save goes out of sight before anything of it is deleted.
        publish_calls: How many calls a publication makes that change something or look.
    """

    log: Log
    other_log: Log
    odd: bytes
    hides_saves: bool
    publish_calls: int

    def calls_of_prune(self, entries: int, doomed: int) -> int:
        """About how many a prune makes."""

    def die_in(self, calls: int, *, unread: bool) -> None:
        """Let the process live for so many further calls that change something.

        Where calls have answers, the last one dies with it unread, or is never made.
        """

    def interrupt_in(self, calls: int, meanwhile: Callable[[], object]) -> None:
        """Let another process do something, once, before a further call."""

    def fail_in(self, calls: int, kind: int) -> None:
        """Let a further call fail in one of several ways, if single calls can; it is made again."""

    def go_on(self) -> None:
        """Let nothing more happen."""

    def has_looked_since(self) -> bool:
        """Whether the process has begun to list pub/ since it was interrupted.

        What it looks at when it has begun to delete saves is too late for them.
        """

    def exists(self, path: bytes) -> bool:
        """Whether there is a save, whole or not."""

    def files(self, path: bytes) -> dict[str, bytes]:
        """The files directly in a folder."""

    def write(self, path: bytes, files: Mapping[str, bytes]) -> None:
        """Write files into a folder, and one folder ``inner``."""

    def delete(self, path: bytes) -> None:
        """Delete a folder with all that is in it, as a framework does."""

    def names(self) -> list[str]:
        """The names in pub/."""

    def held(self, folder: str) -> dict[str, bytes]:
        """The names in a folder of names that hold a value, and their values."""

    def asides(self) -> list[str]:
        """What prunes have renamed."""

    def close(self) -> None:
        """Leave nothing behind, open descriptors neither: there are thousands of examples."""


class Folder:
    """A folder of a real file system. See `World`."""

    odd = b"\xff"  # not UTF-8
    hides_saves = True
    publish_calls = 6

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="dispatch-machine-", dir=MEMORY))
        self._changes, self._tokens = Changes(), count()
        self._filesystem = TroubledFilesystem(self._changes)
        self.log = self._open(self._filesystem)
        self.other_log = self._open(TroubledFilesystem(self._changes))

    def _open(self, filesystem: TroubledFilesystem) -> Log:
        """Open the root as a process of its own would."""
        store = PosixStore(
            os.fsencode(self.root),
            filesystem,
            now_ns=lambda: LONG_AFTER_NS,
            token=lambda: next(self._tokens).to_bytes(8, "big"),
        )
        return Log(store, InlinePatience())

    def calls_of_prune(self, entries: int, doomed: int) -> int:
        return 40

    def die_in(self, calls: int, *, unread: bool) -> None:
        self._filesystem.dies_in = calls

    def interrupt_in(self, calls: int, meanwhile: Callable[[], object]) -> None:
        self._filesystem.interrupted_in = calls
        self._filesystem.meanwhile = meanwhile

    def fail_in(self, calls: int, kind: int) -> None:
        """No call of a local file system fails and succeeds when it is made again."""

    def go_on(self) -> None:
        self._filesystem.clear()

    def has_looked_since(self) -> bool:
        return True  # it is not needed: what is published is put back

    def exists(self, path: bytes) -> bool:
        return self._where(path).exists()

    def files(self, path: bytes) -> dict[str, bytes]:
        entries = self._where(path).glob("*")
        return {entry.name: entry.read_bytes() for entry in entries if entry.is_file()}

    def write(self, path: bytes, files: Mapping[str, bytes]) -> None:
        (self._where(path) / "inner").mkdir(parents=True)
        for name, content in files.items():
            (self._where(path) / name).write_bytes(content)

    def delete(self, path: bytes) -> None:
        shutil.rmtree(self._where(path))

    def names(self) -> list[str]:
        pub = self.root / "pub"
        return [path.name for path in pub.iterdir()] if pub.exists() else []

    def held(self, folder: str) -> dict[str, bytes]:
        names = self.root / folder
        paths = names.iterdir() if names.exists() else ()
        return {path.name: os.fsencode(path.readlink()) for path in paths}

    def asides(self) -> list[str]:
        return [str(path) for path in self.root.rglob(".pruned-*") if path.is_dir()]

    def close(self) -> None:
        self.log.close()
        self.other_log.close()
        shutil.rmtree(self.root)

    def _where(self, path: bytes) -> Path:
        return self.root / os.fsdecode(path)


class Countdown:
    """A rule that does something at one request, once.

    Args:
        left: How many requests that count come before it.
        action: What to do, with the request.
        counts: Which requests count.
    """

    def __init__(
        self, left: int, action: Callable[[Request], object], counts: Callable[[Request], bool]
    ) -> None:
        self._left = left
        self._action = action
        self._counts = counts

    def __call__(self, request: Request) -> None:
        if self._counts(request):
            self._left -= 1
            if self._left == -1:
                self._action(request)


def is_change(request: Request) -> bool:
    """Whether it changes something: between two of these a death leaves the same."""
    return request.method not in {"ListObjectsV2", "HeadObject", "GetObject"}


def is_look(request: Request) -> bool:
    """Whether what others do right before it can matter: there are no leftovers to look for."""
    return not request.is_done and not (
        request.path.startswith(b"exec/")
        and request.path.endswith(b"/")
        and request.path.count(b"/") < 3
    )


def die(_: Request) -> None:
    """End the process here."""
    raise CrashError


class Bucket:
    """A prefix of a bucket on the fake; the store and its client are the real ones. See `World`."""

    odd = "Ω".encode()
    hides_saves = False
    publish_calls = 4

    def __init__(self, bucket: SharedBucket) -> None:
        self._bucket = bucket
        bucket.clear()
        self._rules: list[Rule] = []
        self._looks = 0
        self._has_deleted = False
        self.log = bucket.open(self._meet)
        self.other_log = bucket.open()

    def _meet(self, request: Request) -> None:
        if not request.is_done:
            self._has_deleted |= request.deletes_a_save
            self._looks += request.begins_listing_of(b"pub/") and not self._has_deleted
        for rule in self._rules:
            rule(request)

    def calls_of_prune(self, entries: int, doomed: int) -> int:
        pages = 1 + entries // PAGE_KEYS
        # Four listings of pub/ and three of claims and fates; looks at a save, its keys and fate.
        return 7 * pages + 11 * doomed

    def die_in(self, calls: int, *, unread: bool) -> None:
        self._rules = [Countdown(calls, die, lambda r: is_change(r) and r.is_done == unread)]

    def interrupt_in(self, calls: int, meanwhile: Callable[[], object]) -> None:
        def interrupt(request: Request) -> None:
            meanwhile()
            self._looks = int(request.begins_listing_of(b"pub/"))  # this one comes after it

        self._rules = [Countdown(calls, interrupt, is_look)]

    def fail_in(self, calls: int, kind: int) -> None:
        def fail(request: Request) -> None:
            fault = FAULTS[kind % len(FAULTS)]
            is_condition = request.method == "PutObject"  # only one of these is ever answered 409
            self._bucket.let_fail(fault if fault is not CONFLICT or is_condition else SLOW_DOWN)

        self._rules = [Countdown(calls, fail, is_look)]

    def go_on(self) -> None:
        self._rules = []
        self._has_deleted = False

    def has_looked_since(self) -> bool:
        return self._looks > 0

    def exists(self, path: bytes) -> bool:
        return any(
            key == path.decode() or key.startswith(path.decode() + "/")
            for key in self._bucket.content()
        )

    def files(self, path: bytes) -> dict[str, bytes]:
        start = path.decode() + "/"
        content = self._bucket.content().items()
        below = {key.removeprefix(start): body for key, body in content if key.startswith(start)}
        return {name: body for name, body in below.items() if "/" not in name}

    def write(self, path: bytes, files: Mapping[str, bytes]) -> None:
        self._bucket.put(f"{path.decode()}/inner/part", b"part")
        for name, content in files.items():
            self._bucket.put(f"{path.decode()}/{name}", content)

    def delete(self, path: bytes) -> None:
        for key in self._bucket.content():
            if key.startswith(path.decode() + "/"):
                self._bucket.remove(key)

    def names(self) -> list[str]:
        keys = self._bucket.content()
        return [key.removeprefix("pub/") for key in keys if key.startswith("pub/")]

    def held(self, folder: str) -> dict[str, bytes]:
        return self.files(folder.encode())

    def asides(self) -> list[str]:
        return [key for key in self._bucket.content() if ".pruned-" in key]

    def close(self) -> None:
        """The next example goes on with the same clients, which are slow to make."""
