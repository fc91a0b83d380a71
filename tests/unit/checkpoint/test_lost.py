"""Saves that nobody published count as a watch would have counted them: whole, and settled."""

from collections.abc import Callable

import pytest

from dispatch.checkpoint.claims import claim_name
from dispatch.checkpoint.completion import Framework
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.lost import Saves
from dispatch.checkpoint.settling import SETTLE_S
from dispatch.errors import NotFoundError
from dispatch.model.contents import Contents
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import parent_of
from tests.unit.checkpoint.executions import OLD, execution, save
from tests.unit.stores import trainer_state


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    execution(store, OLD, b"old").claim()
    return store


def of_trainer(store: MemoryStore, step: int, *names: str) -> None:
    """Write a save as Hugging Face's Trainer does."""
    for name in ("model.safetensors", *names, "trainer_state.json"):
        folder, last = parent_of(store.folder, f"exec/old/checkpoint-{step}/{name}".encode())
        folder.inner[last] = trainer_state(step) if name == "trainer_state.json" else b"x"


class Waits:
    """Notes how long somebody waits, and lets something happen meanwhile."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.seconds: list[float] = []
        self._meanwhile = meanwhile

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self._meanwhile()


def steps(found: list[Entry]) -> list[int]:
    return [entry.step for entry in found]


def test_saves_to_which_others_may_write_are_looked_at_twice(store: MemoryStore) -> None:
    """All of them, with one wait: the one that looks the same is published."""
    for step in (1, 2):
        save(store, "old", step)

    def write() -> None:
        folder, last = parent_of(store.folder, b"exec/old/step-1/__1_0.distcp")
        folder.inner[last] = b"late"

    waits = Waits(write)
    assert steps(execution(store).adopt(Saves(Framework.dcp, sleep=waits))) == [2]
    assert waits.seconds == [SETTLE_S]


def test_a_save_that_is_taken_apart_meanwhile_is_not_lost(store: MemoryStore) -> None:
    save(store, "old", 1)

    def delete() -> None:
        folder, last = parent_of(store.folder, b"exec/old/step-1/.metadata")
        del folder.inner[last]

    assert execution(store).adopt(Saves(Framework.dcp, sleep=Waits(delete))) == []


def test_what_has_not_changed_for_long_is_not_waited_for(store: MemoryStore) -> None:
    """Where one clock gave the stamps and tells the time."""
    save(store, "old", 1)
    waits = Waits()
    store.unchanged_s = SETTLE_S - 2
    assert steps(execution(store).adopt(Saves(Framework.dcp, settle=3.0, sleep=waits))) == [1]
    save(store, "old", 2)
    assert steps(execution(store).adopt(Saves(Framework.dcp, sleep=waits))) == [2]
    assert waits.seconds == [2.0]


def test_a_save_of_one_process_is_not_waited_for(store: MemoryStore) -> None:
    """Unless it is asked for; beside it one of two processes is."""
    of_trainer(store, 1, "optimizer.pt", "rng_state.pth")
    waits = Waits()
    saves = Saves(Framework.hf, sleep=waits)
    assert steps(execution(store).adopt(saves)) == [1]
    assert waits.seconds == []
    of_trainer(store, 2, "optimizer.pt", "rng_state.pth")
    of_trainer(store, 3, "optimizer.pt", "rng_state_0.pth", "rng_state_1.pth")
    assert steps(execution(store).adopt(saves)) == [2, 3]
    of_trainer(store, 4, "optimizer.pt", "rng_state.pth")
    assert steps(execution(store).adopt(Saves(Framework.hf, settle=7.0, sleep=waits))) == [4]
    assert waits.seconds == [SETTLE_S, 7.0]


def test_ranks_that_are_missing_are_missing(store: MemoryStore) -> None:
    of_trainer(store, 1, "optimizer.pt", "rng_state_0.pth", "rng_state_1.pth")
    assert execution(store).adopt(Saves(Framework.hf, ranks=3, settle=0.0)) == []
    of_trainer(store, 1, "rng_state_2.pth")
    assert steps(execution(store).adopt(Saves(Framework.hf, ranks=3, settle=0.0))) == [1]


def test_a_root_that_goes_away_meanwhile_is_an_error() -> None:
    """Not a save that has gone."""

    class Going(MemoryStore):
        def contents(self, path: bytes) -> Contents:
            found = super().contents(path)
            self.going = True
            return found

        def claimed(self, folder: str, name: str) -> str | None:
            found = super().claimed(folder, name)
            if self.going and name != claim_name(OLD):
                self.destroy()
            return found

        going = False

    store = Going()
    execution(store, OLD, b"old").claim()
    save(store, "old", 1)
    with pytest.raises(NotFoundError) as caught:
        execution(store).adopt(Saves(Framework.dcp, settle=0.0))
    assert caught.value.kind == "root-missing"
