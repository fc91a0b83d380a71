"""What processes that share a bucket were promised, and what must hold of it after each request.

S3 does each request whole and keeps what it has answered, so the states that a death or a lost
answer can leave are those between two requests, of any process. Each is checked when it comes up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dispatch.checkpoint import Entry, Log, PruneResult, parse_entry_name
from dispatch.errors import AlreadyPublishedError, NotFoundError
from dispatch.testing.s3fake.listing import PAGE_KEYS_MAX
from tests.contracts.buckets import MARKERS
from tests.faults.bucket import Keyed, Process, Request, Rule, SharedBucket, shared_bucket
from tests.unit.stores import InlinePatience, trainer_state

WEIGHTS = ("model/weights.safetensors", "optimizer.pt")
_MARKERS = {marker.decode() for marker in MARKERS}


@dataclass
class Benches:
    """Two buckets: one for the processes, one to try what comes after a state of it.

    Attributes:
        shared: The first.
        mirror: The second.
        checked: What was found wrong with a state, with what had been promised by then.
    """

    shared: SharedBucket
    mirror: SharedBucket
    checked: dict[object, str] = field(default_factory=dict)


@contextmanager
def benches(page_size: int = PAGE_KEYS_MAX) -> Iterator[Benches]:
    """Run both."""
    with shared_bucket(page_size) as shared, shared_bucket() as mirror:
        yield Benches(shared, mirror)


class BucketMachine:
    """A bucket, the processes that use it, and what they were promised.

    Attributes:
        must: Publications that somebody was told of, and that nobody removes.
        pending: Publications of which nobody was told: they may be there, and name nothing.
        refused: Publications that failed for want of their save: they may not be there.
        saves: What each save holds, by its path.
        keep: For the prune that is tried after each state.
        problem: What was found to be wrong first.
    """

    def __init__(self, benches: Benches, *entries: Entry, keep: int = 1) -> None:
        self.must = set(entries[-keep:])
        self.pending: set[Entry] = set()
        self.refused: set[Entry] = set()
        self.saves: dict[bytes, Keyed] = {}
        self.keep = keep
        self.problem = ""
        self._benches = benches
        self.bucket = benches.shared
        self.bucket.clear()
        for entry in entries:
            self.save(entry)
            self.bucket.put(f"pub/{entry.name()}")

    def save(self, entry: Entry) -> None:
        """Write the save that ``entry`` names: one key if it is called one, or as Trainer does."""
        if entry.save.endswith(".pt"):
            whole = {entry.save: b"weights"}
        else:
            whole = {f"{entry.save}/{name}": b"weights" for name in WEIGHTS}
            whole[f"{entry.save}/trainer_state.json"] = trainer_state(entry.step)
        for key, body in whole.items():
            self.bucket.put(key, body)
        self.saves[entry.path] = whole

    # -- what processes do

    def process(self, *rules: Rule) -> Process:
        """Start a process; every state that it makes is checked."""
        return self.bucket.process(self._look, *rules)

    def log(self, *rules: Rule) -> Log:
        """Open the root in such a process."""
        return Log(self.process(*rules).store, InlinePatience())

    def prune(self, *rules: Rule) -> PruneResult:
        """Prune; nothing may fail."""
        result = self.log(*rules).prune(self.keep)
        assert not [skip for skip in result.skipped if skip.failed]
        return result

    def publish(self, entry: Entry, *rules: Rule) -> str:
        """Publish, and note what the publisher is told; until then its entry may name nothing."""
        self.pending.add(entry)
        try:
            self.log(*rules).publish(entry.epoch, entry.step, entry.path)
            told = "created"
        except AlreadyPublishedError:
            told = "already published"
        except NotFoundError:
            self.refused.add(entry)
            told = "refused"
        if told != "refused":
            self.must.add(entry)
        self.pending.discard(entry)
        return told

    # -- what must hold

    def _look(self, request: Request) -> None:
        if request.is_done:
            self.look(f"{request.method} {request.path!r}")

    def look(self, after: str = "the end") -> None:
        """Check the state as it is."""
        if self.problem:
            return
        content = self.bucket.content()
        promises = tuple(map(frozenset, (self.must, self.pending, self.refused)))
        state = (frozenset(content.items()), promises, self.keep)
        if state not in self._benches.checked:
            self._benches.checked[state] = self.problem_of(content)
        if self._benches.checked[state]:
            self.problem = f"after {after}: {self._benches.checked[state]}"

    def problem_of(self, content: Keyed) -> str:
        """Say what is wrong with a root that holds ``content``, or with a prune of it."""
        problem = self._problem_at(content)
        if problem:
            return problem
        self._benches.mirror.clear(content)
        log = self._benches.mirror.open()
        entries = log.entries()
        if log.resolve() != max(entries, default=None):
            return "that is not the latest"
        result = log.prune(self.keep)
        if failed := [skip.reason for skip in result.skipped if skip.failed]:
            return f"the next prune failed: {failed}"
        if log.entries() != entries[-self.keep :]:
            return f"the next prune kept {log.entries()}"
        problem = self._problem_at(self._benches.mirror.content())
        return f"after the next prune: {problem}" if problem else ""

    def _problem_at(self, content: Keyed) -> str:
        entries = entries_in(content)
        if self.must - entries:
            return f"a returned publication is gone: {self.must - entries}"
        if self.refused & entries:
            return f"a publication that failed is there: {self.refused & entries}"
        for entry in entries - self.pending:
            if entry.path in self.saves and not is_whole(content, self.saves[entry.path]):
                return f"{entry} names what isn't whole"
        for path, whole in self.saves.items():
            there = {key for key in whole if key in content}
            if (
                not is_whole(content, whole)
                and {key.rpartition("/")[2] for key in there} & _MARKERS
            ):
                return f"{path!r} is half deleted and looks complete"
        return ""


def entries_in(content: Keyed) -> set[Entry]:
    """The publications in a root's content, all of whose names must be entries'."""
    return {parse_entry_name(key.removeprefix("pub/")) for key in content if key.startswith("pub/")}


def is_whole(content: Keyed, save: Keyed) -> bool:
    """Whether all of a save is there."""
    return save.items() <= content.items()
