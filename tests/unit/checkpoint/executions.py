"""What the tests of executions share: a root in memory, and saves in it."""

from dispatch.checkpoint.completion import Framework
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.execution import Execution
from dispatch.checkpoint.listing import PUB, parse_all, read_names
from dispatch.checkpoint.lost import Saves
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import parent_of

OLD, NEW = 1_000_000, 2_000_000
DCP = Saves(Framework.dcp, settle=0.0)


def execution(store: MemoryStore, epoch: int = NEW, attempt: bytes = b"new") -> Execution:
    """One execution of the root."""
    return Execution(store, epoch, attempt)


def save(store: MemoryStore, attempt: str, step: int, *, whole: bool = True) -> bytes:
    """Write a save as PyTorch DCP does; return its path."""
    path = f"exec/{attempt}/step-{step}".encode()
    for file in (b"/__0_0.distcp", b"/.metadata")[: 2 if whole else 1]:
        folder, name = parent_of(store.folder, path + file)
        folder.inner[name] = b"x"
    return path


def publish(store: MemoryStore, epoch: int, attempt: str, step: int) -> Entry:
    """Write a save and publish it."""
    entry = Entry(epoch, step, save(store, attempt, step))
    store.create(PUB, entry.name())
    return entry


def entries(store: MemoryStore) -> list[Entry]:
    """All publications, ascending."""
    return parse_all(read_names(store))


def newest(entries: list[Entry]) -> Entry | None:
    """The usual choice: the latest."""
    return entries[-1] if entries else None
