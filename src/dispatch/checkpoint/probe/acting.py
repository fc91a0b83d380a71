"""The checks that one node makes by itself, in a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.checkpoint.listing import latest_of, read_names
from dispatch.checkpoint.probe import judgement, timing
from dispatch.checkpoint.probe.check import Check, Topic, failed_by, ok
from dispatch.errors import DispatchError
from dispatch.model.access import Access

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.probe.root import ProbedRoot

RACERS = 16  # at once: the specification's
RACES_MAX = 3  # rounds: another is made when no winner was seen
NAMES = 32  # listed one after the other: enough to meet a cache, and two seconds on a far store
LATE_S_MAX = 10.0  # how long a listing may be behind before it is no longer waited for

FIRST = "first"
_CLAIM = "claim"
_NOT_DURABLE = "durability-unknown"


_UNKNOWN = Access("")


@dataclass(slots=True)
class Acting:
    """One probe's own checks, each a method that acts and has the outcome judged.

    Attributes:
        root: The root.
        folder: The folder of this probe alone.
        access: How the root is reached, for whoever has found out.
        has_written: Whether anything may be in the folder.
    """

    root: ProbedRoot
    folder: str
    access: Access = _UNKNOWN
    has_written: bool = False
    _unsynced: DispatchError | None = None
    _created: tuple[float, float] = (0.0, 0.0)

    @property
    def _is_bucket(self) -> bool:
        return self.access.source is not None

    def reachable(self) -> Check:
        """The root itself, and one look at what isn't there."""
        root = self.root
        root.ask("look", root.patient.check)
        root.ask("look", lambda: root.patient.written(self.folder, [FIRST]))
        return ok(Topic.REACHABLE, self.access.medium, root.last("look"))

    def listable(self) -> Check:
        """`pub/`, as `resolve` reads it."""
        root = self.root
        names = root.ask("list", lambda: read_names(root.patient))
        return judgement.listable(len(names), latest_of(names), root.last("list"))

    def writable(self) -> Check:
        """The first name, between two looks at the clock."""
        now = self.root.around.now
        self.has_written = True
        before = now()
        try:
            self.root.create(self.folder, FIRST)
        except DispatchError as error:
            if error.kind != _NOT_DURABLE:
                return judgement.not_writable(error)
            self._unsynced = error
        self._created = before, now()
        return ok(Topic.WRITABLE, "a name was created", self.root.last("create"))

    def sync(self) -> Check:
        """What the first creation said of its durability."""
        return judgement.sync(self._unsynced, is_bucket=self._is_bucket)

    def exclusive(self) -> Check:
        """The same name once more."""
        root = self.root
        try:
            is_new = root.create(self.folder, FIRST)
        except DispatchError as error:
            return judgement.second_creation_refused_otherwise(error)
        return judgement.second_creation(
            is_new=is_new, seconds=root.last("create"), is_bucket=self._is_bucket
        )

    def race(self) -> Check:
        """One name by many at once."""
        for number in range(RACES_MAX):
            outcomes = self.root.race_to_create(self.folder, f"race-{number}", RACERS)
            check = judgement.race(outcomes, is_bucket=self._is_bucket)
            if check is not None:
                return check
        return judgement.no_winner(RACES_MAX)

    def listing(self) -> Check:
        """Names, each listed right after its creation."""
        root = self.root
        made: set[str] = set()

        def are_seen() -> bool:
            return made <= set(root.names(self.folder))

        for name in _NAMES:
            self._add(name)
            made.add(name)
            if not are_seen():
                return judgement.seen(NAMES, self._late(are_seen), root.last("list"))
        return judgement.seen(NAMES, None, root.last("list"))

    def removal(self) -> Check:
        """The same names, removed."""
        root = self.root
        durably = self._unsynced is None
        failures = root.ask(
            "remove",
            lambda: root.remove(self.folder, list(_NAMES), durably=durably),
            times=NAMES,
        )
        for failure in failures.values():
            return failed_by(Topic.REMOVAL, failure)

        def are_gone() -> bool:
            return set(root.names(self.folder)).isdisjoint(_NAMES)

        late = None if are_gone() else self._late(are_gone)
        return judgement.unseen(NAMES, late, root.last("list"))

    def claims(self) -> Check:
        """A claim, a second one of another value, and a look at it."""
        root = self.root
        try:
            values = [root.claim(self.folder, _CLAIM, value) for value in ("one", "two")]
            held = root.ask("look", lambda: root.patient.claimed(self.folder, _CLAIM))
        except DispatchError as error:
            return judgement.no_claims(error)
        return judgement.claims([*values, held], "one", is_bucket=self._is_bucket)

    def clock(self) -> Check:
        """The store's time of the first name."""
        root = self.root
        times = root.ask("look", lambda: root.patient.written(self.folder, [FIRST]))
        if FIRST not in times:
            return judgement.no_time()
        bounds = timing.skew_bounds(*self._created, times[FIRST])
        return timing.clock(bounds, is_bucket=self._is_bucket)

    def latency(self) -> Check:
        """All answers so far."""
        return timing.latency(self.root.took)

    def _add(self, name: str) -> None:
        """Create a name; that it isn't durable is told once."""
        try:
            self.root.create(self.folder, name)
        except DispatchError as error:
            if error.kind != _NOT_DURABLE or self._unsynced is None:
                raise

    def _late(self, is_so: Callable[[], bool]) -> timing.Late:
        root = self.root
        bound = min(LATE_S_MAX, root.time_out)
        return timing.Late(root.wait_until(is_so, bound), bound)


_NAMES = tuple(f"name-{number:02}" for number in range(NAMES))
