"""What becomes of a save, decided once between prunes and roll-backs."""

import pytest

from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.fates import (
    Fates,
    doom,
    forget,
    give_up,
    give_up_roll_backs,
    is_given_up,
    read_fates,
    take_over,
)
from dispatch.errors import MalformedError, NotFoundError, RefusedError
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Folder, look
from tests.unit.checkpoint.executions import publish

OLD = Entry(1, 1, "exec/a/step-1")
NEW, NEWER = Entry(5, 1, "exec/a/step-1"), Entry(6, 1, "exec/a/step-1")
OTHER = Entry(1, 2, "exec/a/step-2")


@pytest.fixture
def store() -> MemoryStore:
    """A root with an old publication."""
    store = MemoryStore()
    store.create("pub", OLD.name())
    return store


def fates(store: MemoryStore) -> list[str]:
    return sorted(store.names("fates")[0])


def test_a_prune_takes_what_nobody_has(store: MemoryStore) -> None:
    """And again, after one that died."""
    for _ in range(2):
        assert doom(store, [OLD, OTHER], []) == Fates([OLD, OTHER])
    assert store.claimed("fates", OLD.name()) == "-"
    assert doom(store, [], [OLD]) == Fates()


def test_what_is_taken_over_stays(store: MemoryStore) -> None:
    """Until it is published that it was."""
    take_over(store, OLD, NEW)
    take_over(store, OLD, NEW)  # every rank does it
    assert read_fates(store, [OLD, OTHER], []) == Fates([OTHER], [OLD])
    assert store.claimed("fates", OTHER.name()) is None
    assert doom(store, [OLD, OTHER], []) == Fates([OTHER], [OLD])
    assert doom(store, [OLD, OTHER], [NEW]) == Fates([OLD, OTHER])
    assert store.claimed("fates", NEW.name()) is None


def test_what_a_prune_has_is_not_taken_over(store: MemoryStore) -> None:
    doom(store, [OLD], [])
    with pytest.raises(NotFoundError, match="is being removed by a prune") as caught:
        take_over(store, OLD, NEW)
    assert caught.value.kind == "save-missing"


def test_what_is_not_published_any_more_is_not_taken_over(store: MemoryStore) -> None:
    """A prune that could make no fate may have removed it before it looked for ours."""
    store.remove("pub", [OLD.name()])
    with pytest.raises(NotFoundError, match="is being removed by a prune"):
        take_over(store, OLD, NEW)
    store.create("pub", NEW.name())
    take_over(store, OLD, NEW)  # another rank has published it since


def test_the_last_in_a_chain_decides(store: MemoryStore) -> None:
    """A save may be taken over again and again."""
    take_over(store, OLD, NEW)
    take_over(store, OLD, NEWER)
    assert store.claimed("fates", NEW.name()) == NEWER.name()
    assert doom(store, [OLD], []) == Fates([], [OLD])
    assert doom(store, [OLD, NEW], []) == Fates([], [OLD, NEW])
    assert doom(store, [OLD, NEW, NEWER], []) == Fates([OLD, NEW, NEWER])
    with pytest.raises(NotFoundError):
        take_over(store, OLD, Entry(7, 1, OLD.path))


def test_a_chain_goes_through_what_was_never_published(store: MemoryStore) -> None:
    """One execution died before it published, and another took the save over from it."""
    take_over(store, OLD, NEW)
    take_over(store, OLD, NEWER)
    assert doom(store, [OLD, NEWER], []) == Fates([OLD, NEWER])


def test_a_save_that_a_greater_epoch_has_is_not_taken_over(store: MemoryStore) -> None:
    """So that no chain leads back to where it began."""
    take_over(store, OLD, NEWER)
    with pytest.raises(NotFoundError, match="taken over by epoch 6") as caught:
        take_over(store, OLD, NEW)
    assert caught.value.kind == "save-missing"


def test_what_a_dead_execution_took_over_can_be_given_up(store: MemoryStore) -> None:
    """A person retracts its claim; what it published stays as it is."""
    take_over(store, OLD, NEW)
    store.create("pub", OTHER.name())
    again = Entry(5, 2, OTHER.path)
    take_over(store, OTHER, again)
    store.create("pub", again.name())
    give_up_roll_backs(store, NEWER.epoch)
    assert doom(store, [OLD], []) == Fates([], [OLD])
    give_up_roll_backs(store, NEW.epoch)
    give_up_roll_backs(store, NEW.epoch)
    assert doom(store, [OLD], []) == Fates([OLD])
    assert not is_given_up(store, again)
    with pytest.raises(NotFoundError):
        take_over(store, OLD, NEWER)


@pytest.mark.parametrize("fate", ["nonsense", "--", OLD.name(), Entry(0, 0, "exec/a").name()])
def test_a_fate_that_is_none_stops_a_prune_and_a_roll_back(store: MemoryStore, fate: str) -> None:
    """Nothing was removed yet; and none leads back, on and on."""
    store.claim("fates", OLD.name(), fate)
    where = f"fates/{OLD.name()} .*'{fate}'"
    with pytest.raises(MalformedError, match=where):
        doom(store, [OLD], [])
    with pytest.raises(MalformedError, match=where):
        take_over(store, OLD, NEW)


def test_what_is_retracted_is_given_up(store: MemoryStore) -> None:
    assert not is_given_up(store, OLD)
    give_up(store, OLD)
    assert is_given_up(store, OLD)
    with pytest.raises(NotFoundError, match="or was retracted"):
        take_over(store, OLD, NEW)


def test_where_fates_are_refused_nothing_is_given_up() -> None:
    """It can't be noted; without links nobody looks for lost saves."""

    class Closed(MemoryStore):
        def claim(self, folder: str, name: str, value: str) -> str:
            raise RefusedError("creating it: EPERM")

    store = Closed()
    give_up(store, OLD)
    assert not is_given_up(store, OLD)


def test_fates_are_forgotten_with_their_saves() -> None:
    """Not of a save that is there, nor of one that an entry names."""
    store = MemoryStore()
    here = publish(store, 1, "a", 1)
    listed = publish(store, 1, "a", 2)
    gone = Entry(1, 3, "exec/a/step-3")
    around = Entry(1, 4, "exec/a/step-2/inner")  # in one that is listed
    for entry in (here, listed, gone, around):
        store.claim("fates", entry.name(), "-")
    store.claim("fates", "stray", "-")
    store.remove("pub", [here.name()])
    folder = look(store.folder, b"exec/a")
    assert isinstance(folder, Folder)
    del folder.inner[b"step-2"]
    forget(store)
    assert fates(store) == sorted([here.name(), listed.name(), around.name(), "stray"])
    forget(store)
    store.remove("fates", [listed.name(), around.name()])
    forget(store)
    assert fates(store) == sorted([here.name(), "stray"])


def test_without_fates_there_is_nothing_to_forget() -> None:
    store = MemoryStore()
    forget(store)
    assert fates(store) == []
