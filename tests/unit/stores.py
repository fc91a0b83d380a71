"""Roots for tests of the rules: real folders, at which things happen between two calls."""

import json
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.checkpoint.log import Log
from dispatch.errors import DispatchError
from dispatch.model.contents import Contents
from dispatch.model.removal import Aside, Gone, Left

T = TypeVar("T")
Action = Callable[[], object]

EXECUTION = b"exec/1.1.0"
_TOKENS = count()
CHANGING = frozenset({"create", "symlink", "mkdir", "rename", "unlink", "rmdir"})
LOOKING = frozenset(
    {"open_dir", "listdir", "readlink", "stat"}
)  # what others do shows in their answers


class UnsyncedFilesystem(OsFilesystem):
    """The running system without waiting for its disk; what a sync is for is shown elsewhere."""

    def fsync(self, handle: int) -> None:
        """Do nothing."""


class CrashError(BaseException):
    """The process dies here: nothing of it goes on, and no handler may stop it."""


@dataclass
class Changes:
    """How often anything was changed: a clock for stamps that never misses a change."""

    count: int = 0


class TroubledFilesystem(UnsyncedFilesystem):
    """The running system, at whose calls something can happen; it syncs nothing.

    The kernel's clock ticks now and then, so whether it shows a change is chance. Here open
    files are stamped with the number of changes, by whomever.

    Args:
        changes: Shared by all who use the same root.

    Attributes:
        dies_in: Before how many further changing calls the process lives; None: it lives.
        interrupted_in: Before how many further calls that change something or look, `meanwhile`
            happens.
        meanwhile: What another process does then, once.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self.clear()

    def fstat(self, handle: int) -> os.stat_result:
        """Stamp a file with the number of changes."""
        stamp = self._changes.count
        status = tuple(super().fstat(handle))[:10]
        return os.stat_result(status, {"st_mtime_ns": stamp, "st_ctime_ns": stamp})

    def clear(self) -> None:
        """Let nothing happen."""
        self.dies_in: int | None = None
        self.interrupted_in = 0
        self.meanwhile: Callable[[], object] | None = None

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - what the class has
        if name in CHANGING or name in LOOKING:
            self._arrive(name)
        return super().__getattribute__(name)

    def _arrive(self, call: str) -> None:
        if self.meanwhile is not None:
            self.interrupted_in -= 1
            if self.interrupted_in < 0:
                meanwhile, self.meanwhile = self.meanwhile, None
                meanwhile()
        if self.dies_in is not None and call in CHANGING:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise CrashError
        self._changes.count += call in CHANGING


class InlinePatience:
    """`dispatch.ports.waiting.Patience` of one who waits for ever, on the same thread.

    Attributes:
        now: Its clock, which only goes on while somebody sleeps, or when a test sets it.
        slept: How long was slept, each time.
        while_asleep: What happens in the next sleeps, one each.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.while_asleep: deque[Action | None] = deque()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        _take(self.while_asleep)
        self.now += seconds

    def call(self, work: Callable[[], T], time_out: float) -> T:
        return work()


class LostPatience(InlinePatience):
    """`dispatch.ports.waiting.Patience` for which one call is never answered.

    Args:
        answered: How many calls are, before.
    """

    def __init__(self, answered: int) -> None:
        super().__init__()
        self.answered = answered
        self.waited: list[float] = []

    def call(self, work: Callable[[], T], time_out: float) -> T:
        self.waited.append(time_out)
        if len(self.waited) > self.answered:
            raise TimeoutError
        return work()


class ScriptedStore(PosixStore):
    """A real root that notes its calls, and at which actions happen before or after them.

    Attributes:
        calls: The names of the methods called, in order.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(
            os.fsencode(root), UnsyncedFilesystem(), now_ns=time.time_ns, token=next_token
        )
        self.calls: list[str] = []
        self._before: dict[str, deque[Action | None]] = defaultdict(deque)
        self._after: dict[str, deque[Action | None]] = defaultdict(deque)

    def before(self, method: str, *actions: Action | None) -> None:
        """Let the next calls of a method be preceded by one action each; None: by nothing."""
        self._before[method].extend(actions)

    def after(self, method: str, *actions: Action | None) -> None:
        """Let the next calls of a method be followed by one action each; None: by nothing."""
        self._after[method].extend(actions)

    @contextmanager
    def _call(self, method: str) -> Generator[None]:
        self.calls.append(method)
        _take(self._before[method])
        yield
        _take(self._after[method])

    def check(self) -> None:
        with self._call("check"):
            super().check()

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        with self._call("names"):
            return super().names(folder, in_vain)

    def create(self, folder: str, name: str) -> bool:
        with self._call("create"):
            return super().create(folder, name)

    def claim(self, folder: str, name: str, value: str) -> str:
        with self._call("claim"):
            return super().claim(folder, name, value)

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        with self._call("claim_all"):
            return super().claim_all(folder, values)

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        with self._call("remove"):
            return super().remove(folder, names)

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        with self._call("children"):
            return super().children(folder, prefix)

    def has_save(self, save: bytes) -> bool:
        with self._call("has_save"):
            return super().has_save(save)

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        with self._call("read"):
            return super().read(save, file, size_max)

    def has_name(self, save: bytes, file: bytes) -> bool:
        with self._call("has_name"):
            return super().has_name(save, file)

    def contents(self, save: bytes) -> Contents:
        with self._call("contents"):
            return super().contents(save)

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        with self._call("set_aside"):
            return super().set_aside(save)

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        with self._call("may_set_aside"):
            return super().may_set_aside(save)

    def put_back(self, aside: Aside) -> bool:
        with self._call("put_back"):
            return super().put_back(aside)

    def delete(self, aside: Aside) -> Left | Gone | None:
        with self._call("delete"):
            return super().delete(aside)


def next_token() -> bytes:
    """Count instead of drawing, so that a failure replays the same."""
    return next(_TOKENS).to_bytes(8, "big")


def _take(actions: deque[Action | None]) -> None:
    action = actions.popleft() if actions else None
    if action is not None:
        action()


def raising(error: BaseException) -> Action:
    """Make an action that fails."""

    def action() -> None:
        raise error

    return action


def plain_store(root: Path) -> PosixStore:
    """Open a root as it is."""
    return PosixStore(
        os.fsencode(root), UnsyncedFilesystem(), now_ns=time.time_ns, token=next_token
    )


def plain_log(root: Path) -> Log:
    """Open a root as somebody else would, beside the store under test."""
    return Log(plain_store(root), InlinePatience())


def names_in(folder: Path) -> list[str]:
    """List a folder, without the code under test; one that is not there has no names."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def trainer_state(step: int) -> bytes:
    """Write what Trainer writes, NaN included."""
    state = {"epoch": 1.5, "global_step": step, "log_history": [{"loss": float("nan")}]}
    return json.dumps(state, indent=2).encode()


def make_save(root: Path, step: int, execution: bytes = EXECUTION) -> bytes:
    """Make a whole save of Hugging Face's Trainer; return its path relative to the root."""
    path = execution + b"/checkpoint-%d" % step
    folder = root / os.fsdecode(path)
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights %d" % step)
    (folder / "trainer_state.json").write_bytes(trainer_state(step))
    return path
