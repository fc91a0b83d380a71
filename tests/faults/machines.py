"""A machine that could lose power at any moment, and what must hold of what it comes up with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TypeAlias, TypeVar

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint.entry import Entry, parse_entry_name
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.prune import PruneResult
from dispatch.testing.calls import Call, Rule, WatchedFilesystem
from dispatch.testing.crashfs import CrashFilesystem
from dispatch.testing.tree import Folder, Link, Tree

T = TypeVar("T")
Seen: TypeAlias = "set[tuple[Folder, object]]"
"""Surviving states that were checked, each with what had been promised by then."""

ROOT = b"/disk/root"
CHANGES = frozenset({"create", "symlink", "mkdir", "rename", "unlink", "rmdir", "fsync"})
ASIDE = re.compile(rb"(.*/)?\.pruned-[0-9a-f]{16}\.([^/]+)", re.DOTALL)
FRESH_TOKENS = 1 << 32  # the machine that comes up draws other random numbers


class Immediately:
    """`dispatch.ports.waiting.Patience` without a thread or time: memory never hangs."""

    @staticmethod
    def monotonic() -> float:
        return 0.0

    @staticmethod
    def sleep(seconds: float) -> None:
        """Be done at once."""

    @staticmethod
    def call(work: Callable[[], T], time_out: float) -> T:
        return work()


class Killed(BaseException):
    """One process is dead; the machine runs on."""


class Machine:
    """A disk, the processes that use it, and what they were promised.

    While it is watched, every state that a power loss would leave is checked: after each change
    of the disk (a call that only looks changes nothing), so before every call.

    Attributes:
        disk: The disk.
        must: Publications that somebody was told of, and that nobody removes.
        pending: Publications of processes that were never told: they may be there, and their
            saves may not.
        refused: Publications that failed for want of their save: they may not be there.
        offered: The values that anybody claimed a name with.
        claims: The value of each claim that somebody was told of; None once it was removed.
        saves: What each save holds that is complete.
        are_saves_durable: Whether they were durable from the start.
        prunes_under_way: How many prunes are, or were cut off: a named save may be aside then.
        keep: For the prune after the power loss.
        again: What is wrong with what a process does on the machine that comes up, if anything.
        problems: What was found to be wrong first.
        opened: How many logs were opened.
    """

    def __init__(
        self,
        *rules: Rule,
        store_type: type[PosixStore] = PosixStore,
        content: Folder | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.must: set[Entry] = set()
        self.pending: set[Entry] = set()
        self.refused: set[Entry] = set()
        self.offered: set[str] = set()
        self.claims: dict[str, str | None] = {}
        self.saves: dict[bytes, Tree] = {}
        self.are_saves_durable = True
        self.prunes_under_way = 0
        self.keep = 1
        self.again: Callable[[Machine], str] | None = None
        self.problems: list[str] = []
        self.opened = 0
        self._store_type = store_type
        self._seen = set() if seen is None else seen
        self._is_watched = False
        self._known: object = None
        self._last: Call | None = None
        self._tokens = count(FRESH_TOKENS if content else 1)
        self.disk = CrashFilesystem(self._look, *rules, content=content or Folder())
        self.disk.make_folder(ROOT)

    # -- what processes do

    def log(self, *rules: Rule) -> Log:
        """Open the root in a process of its own, with rules for its calls."""
        filesystem = WatchedFilesystem(self.disk, *rules) if rules else self.disk
        store = self._store_type(ROOT, filesystem, now_ns=self.disk.now_ns, token=self._token)
        self.opened += 1
        return Log(store, Immediately())

    def save(self, entry: Entry) -> None:
        """Write the complete save that ``entry`` names: one file if it is called one, or more."""
        place = ROOT + b"/" + entry.path
        files = [b""] if place.endswith(b".pt") else [b"/state", b"/model/weights"]
        if not self.disk.tree().at(place):
            for file in files:
                self.disk.write(place + file, b"content of " + place + file)
        whole = self.disk.tree().at(place)
        assert whole is not None
        self.saves[entry.path] = whole

    def have(self, entry: Entry) -> None:
        """Let a publication be there, with its save."""
        self.save(entry)
        self.disk.write(ROOT + b"/pub/" + entry.name().encode(), b"")

    def hold(self, claim: str, value: str) -> None:
        """Let a claim be there."""
        self.offered.add(value)
        self.claims[claim] = value
        self.disk.link(ROOT + b"/runs/" + claim.encode(), value.encode())

    def _token(self) -> bytes:
        return next(self._tokens).to_bytes(8, "big")

    # -- what is left of it

    def watch(self) -> None:
        """Check every surviving state from now on."""
        self._is_watched = True

    def look(self) -> None:
        """Check every state that would survive a power loss right now."""
        if not self._is_watched or self.problems:
            return
        self._known = self.promises()
        for tree in self.disk.surviving():
            if (tree, self._known) not in self._seen:
                self._seen.add((tree, self._known))
                problem = self.problem_of(tree)
                if problem:
                    self.problems = [f"power lost after {self._last}: {problem}"]
                    return

    def _look(self, call: Call) -> None:
        is_changed = self._last is None or self._last.method in CHANGES
        if is_changed or self.promises() != self._known:
            self.look()
        self._last = call

    def promises(self) -> object:
        """What `problem_of` depends on, apart from the tree."""
        sets: list[Iterable[object]] = [self.must, self.pending, self.refused, self.offered]
        sets.append(self.claims.items())
        return (*(frozenset(one) for one in sets), self.prunes_under_way > 0, self.keep)

    def problem_of(self, tree: Folder) -> str:
        """Say what is wrong with a disk that holds ``tree``, or with a prune of it, if anything."""
        problem = self._problem_at(tree, is_pruning=self.prunes_under_way > 0)
        if problem or not self.are_saves_durable:
            return problem
        if self.again and (problem := self.again(Machine(content=tree))):
            return f"a process after that: {problem}"
        after, result = self._pruned(tree)
        if failed := [skip.reason for skip in result.skipped if skip.failed]:
            return f"the next prune failed: {failed}"
        rest = [path for path in after.paths() if b".pruned-" in path]
        if rest and not result.held:
            return f"the next prune left {rest}"
        problem = self._problem_at(after, is_pruning=bool(result.held))
        return f"after the next prune: {problem}" if problem else ""

    def _pruned(self, tree: Folder) -> tuple[Folder, PruneResult]:
        machine = Machine(content=tree)
        log = machine.log()
        result = log.prune(self.keep)
        handles = machine.disk.open_handles
        assert handles == 1, "a prune leaks handles"
        return machine.disk.tree(), result

    def _problem_at(self, tree: Folder, *, is_pruning: bool) -> str:
        root = tree.at(ROOT)
        assert isinstance(root, Folder), "the root itself was durable"
        pub = root.at(b"pub")
        names = pub.names() if isinstance(pub, Folder) else []
        entries = {parse_entry_name(name.decode()) for name in names}
        if self.must - entries:
            return f"a returned publication is gone: {self.must - entries}"
        if self.refused & entries:
            return f"a publication that failed is there: {self.refused & entries}"
        asides = dict(_asides(root))
        for entry in entries - self.pending:
            places = [root.at(entry.path), asides.get(entry.path) if is_pruning else None]
            if self.saves[entry.path] not in places:
                return f"{entry} names what isn't whole"
        if problem := self._wrong_claim(root):
            return problem
        return self._half_deleted(root, asides) if self.are_saves_durable else ""

    def _wrong_claim(self, root: Folder) -> str:
        """Say which name in runs/ doesn't have the value that it must have."""
        runs = root.at(b"runs")
        held = dict(runs.inner) if isinstance(runs, Folder) else {}
        values = {Link(value.encode()) for value in self.offered}
        for name, node in held.items():
            if node not in values:
                return f"{name!r} has a value that nobody gave it: {node}"
        for claim, value in self.claims.items():
            wanted = None if value is None else Link(value.encode())
            if held.get(claim.encode()) != wanted:
                return f"claim {claim} is {held.get(claim.encode())} and not {wanted}"
        return ""

    def _half_deleted(self, root: Folder, asides: dict[bytes, Tree]) -> str:
        """Say which save is neither whole nor gone, though it could be published or put back."""
        for path, whole in self.saves.items():
            if root.at(path) not in {None, whole}:
                return f"{path!r} is half deleted"
            if asides.get(path) not in {None, whole}:
                return f"{path!r} is half deleted and may be put back"
        return ""


def _asides(root: Folder) -> Iterator[tuple[bytes, Tree]]:
    for path in root.paths():
        match = ASIDE.fullmatch(path)
        node = root.at(path)
        if match and node is not None:
            yield (match[1] or b"") + match[2], node
