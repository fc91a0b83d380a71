"""Roots in memory for probes, at which things happen at a given call, and the world around them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from dispatch.checkpoint.probe import Check, Probe, State, Surroundings, Topic
from dispatch.errors import DispatchError
from dispatch.ports.waiting import Patience
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Folder
from tests.unit.stores import InlinePatience

T = TypeVar("T")

TOKEN = bytes.fromhex("0123456789abcdef")
OWN = ".probe-0123456789abcdef"
CALLS = (
    "access", "check", "names", "create", "remove", "written", "claim", "claimed", "drop",
    "children", "has_save",
)  # fmt: skip
"""What a probe asks of a store that another process could notice, or that can fail."""


class QuickStore(MemoryStore):
    """A root in memory that nobody changes during a listing, so that one is quick."""

    def _pass(self, content: Folder) -> Iterator[str]:
        return map(os.fsdecode, list(content.inner))


class TroubledStore(MemoryStore):
    """A root in memory, at whose calls something can happen.

    Attributes:
        calls: The calls so far, each with its arguments.
        before: Called before each call with its number (from 0), its name and its arguments.
        after: Likewise, once it is done; what it returns is the answer, unless that is None.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.before: Callable[[int, str, tuple[Any, ...]], object] = lambda *_: None
        self.after: Callable[[int, str, tuple[Any, ...], Any], Any] = lambda *_: None
        super().__init__()

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - what the class has
        value = super().__getattribute__(name)
        if name not in CALLS:
            return value

        @functools.wraps(value)
        def call(*arguments: Any) -> Any:  # noqa: ANN401 - likewise
            number = len(self.calls)
            self.calls.append((name, arguments))
            self.before(number, name, arguments)
            # Its own calls of itself are not the probe's.
            plain = QuickStore.__new__(QuickStore)
            plain.__dict__ = self.__dict__
            answer = getattr(plain, name)(*arguments)
            changed = self.after(number, name, arguments, answer)
            return answer if changed is None else changed

        return call

    def probes(self) -> list[bytes]:
        """The folders of probes that are there."""
        return [name for name in self.folder.inner if name.startswith(b".probe-")]


class TickingClock:
    """A clock that moves a little at each look; what others do meanwhile happens in pauses.

    Attributes:
        meanwhile: Called in each pause.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


class Switch:
    """`dispatch.ports.waiting.Stop`, by hand."""

    def __init__(self) -> None:
        self.asked = False

    def is_set(self) -> bool:
        return self.asked

    def wait(self, timeout: float) -> bool:
        return self.asked


def one_by_one(works: Sequence[Callable[[], T]], time_out: float) -> list[T | Exception]:
    """`dispatch.ports.waiting.Race` in which everybody waits for those before."""
    outcomes: list[T | Exception] = []
    for work in works:
        try:
            outcomes.append(work())
        except Exception as error:  # noqa: BLE001 - as the port says
            outcomes.append(error)
    return outcomes


class Probing:
    """A probe of a root in memory, and what it told."""

    def __init__(
        self,
        store: TroubledStore,
        *,
        patience: Patience | None = None,
        peer: str | None = None,
        time_out: float = 120.0,
    ) -> None:
        self.store = store
        self.clock = TickingClock()
        self.stop = Switch()
        self.wall = 1.0  # the store's own clock begins there
        self.begun: list[Topic] = []
        self.told: list[Check] = []
        self.around = Surroundings(
            clock=self.clock,
            now=lambda: self.wall,
            race=one_by_one,
            stop=self.stop,
            patience=patience or InlinePatience(),
        )
        self.probe = Probe(
            store, self.around, TOKEN, time_out, peer, self.begun.append, self.told.append
        )

    def run(self) -> dict[Topic, Check]:
        """The checks by topic, which were told as they are."""
        checks = self.probe.run()
        assert checks == self.told
        return {check.topic: check for check in checks}


def states(checks: dict[Topic, Check]) -> dict[Topic, State]:
    """How each came out."""
    return {topic: check.state for topic, check in checks.items()}


def not_made(checks: dict[Topic, Check]) -> set[Topic]:
    """Those that could not be made."""
    return {topic for topic, check in checks.items() if not check.was_made}


def raising_at(number: int, error: DispatchError) -> Callable[[int, str, tuple[Any, ...]], None]:
    """Make call ``number`` fail."""

    def before(at: int, name: str, arguments: tuple[Any, ...]) -> None:
        if at == number:
            raise error

    return before
