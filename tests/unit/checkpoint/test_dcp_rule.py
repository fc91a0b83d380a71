"""A DCP save has every shard that its metadata names; the metadata is searched, not unpickled."""

import pickle
from dataclasses import dataclass
from pathlib import Path

import pytest

from dispatch.checkpoint import Framework, Look
from dispatch.checkpoint.dcp import shards_in
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Node, Pipe, parent_of
from tests.unit.stores import ScriptedStore

SAVE = b"exec/a/step-500"


@dataclass
class StorageInfo:
    """As torch's `_StorageInfo`: where one part of a tensor is."""

    relative_path: str
    offset: int
    length: int


def metadata(*shards: str, protocol: int = 4) -> bytes:
    """Write metadata as DCP does: each shard's name once, however many tensors are in it."""
    tensors = {
        f"layer.{place}.{part}": StorageInfo(name, part * 100, 100)
        for place, name in enumerate(shards)
        for part in range(3)
    }
    return pickle.dumps({"storage_data": tensors}, protocol)


class Save:
    """A save of step 500 in memory."""

    def __init__(self, **_: object) -> None:
        self.store = MemoryStore()

    def add(self, name: str, content: Node = b"shard") -> "Save":
        """Make a file."""
        folder, last = parent_of(self.store.folder, SAVE + b"/" + name.encode())
        folder.inner[last] = content
        return self

    def missing(self, ranks: int | None = None) -> str | None:
        """Ask the rule what it lacks."""
        return Framework.dcp.missing(self.store, SAVE, 500, ranks)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_shard_that_the_metadata_names_has_to_be_there(protocol: int) -> None:
    """Also where the metadata was there first, as in a copy, which begins with its name."""
    names = [f"__{rank}_{number}.distcp" for rank in (0, 1, 10) for number in (0, 1)]
    save = Save().add(".metadata", metadata(*names, protocol=protocol))
    for place, name in enumerate(sorted(names)):
        assert str(save.missing()).startswith(f"lacks {sorted(names)[place]}")
        save.add(name)
    assert save.missing() is None


def test_what_is_missing_is_named() -> None:
    save = Save().add("__0_0.distcp").add(".metadata", metadata("__0_0.distcp", "__1_0.distcp"))
    assert save.missing() == "lacks __1_0.distcp, which .metadata names"
    save.add("__1_0.distcp", Pipe())
    assert save.missing() == "lacks __1_0.distcp, which .metadata names"
    assert Save().add("__0_0.distcp").missing() == "has no .metadata"
    assert Save().add(".metadata", Pipe()).missing() == "has no .metadata"


@pytest.mark.parametrize("ranks", [None, 1, 2, 64])
def test_what_the_metadata_names_is_all_whatever_the_ranks(ranks: int | None) -> None:
    """A rank whose tensors another one has writes no file."""
    save = Save().add("__0_0.distcp").add(".metadata", metadata("__0_0.distcp"))
    assert save.missing(ranks) is None


def test_metadata_that_is_cut_short_is_not_whole() -> None:
    whole = metadata("__0_0.distcp", "__1_0.distcp")
    save = Save().add("__0_0.distcp").add("__1_0.distcp")
    for length in range(len(whole)):
        # What is cut right behind a full stop is not to be told from something whole.
        if not whole[:length].endswith(b"."):
            save.add(".metadata", whole[:length])
            assert save.missing() == "has a .metadata that is not whole"
    assert save.add(".metadata", whole).missing() is None


def test_what_is_no_pickle_names_nothing() -> None:
    """Another writer's metadata counts by being there, as it did; a save is not lost by it."""
    assert Save().add(".metadata", b"{'__5_5.distcp'}").missing() is None
    assert Save().add(".metadata", metadata()).missing() is None


def test_nothing_is_unpickled() -> None:
    """A pickle can run any program when it is loaded."""
    hostile = b"\x80\x04cos\nabort\n(tR."
    assert Save().add(".metadata", hostile).missing() is None


def test_a_shard_s_name_counts_only_as_a_whole_text_of_a_pickle() -> None:
    """Not inside a tensor's name, nor in bytes."""
    names = ["model.__7_7.distcp", "__7_7.distcp.bak", "x" * 300 + "__7_7.distcp"]
    assert shards_in(pickle.dumps([*names, b"__7_7.distcp"], 4)) == set()
    assert shards_in(metadata("__0_0.distcp", "__12_345.distcp")) == {
        b"__0_0.distcp",
        b"__12_345.distcp",
    }
    assert shards_in(metadata("__0_0" + "0" * 300 + ".distcp")) == set()  # no file's name


def test_the_names_are_found_whatever_their_length_is_as_a_byte() -> None:
    """Ten characters and more have lengths that are line ends to a careless pattern."""
    name = "__0_0.distcp"
    for digits in range(1, 60):
        name = f"__{'1' * digits}_0.distcp"
        assert shards_in(metadata(name)) == {name.encode()}


def test_metadata_of_each_rank_is_as_good() -> None:
    """`use_collectives=False`: each rank writes its own, after its own shards."""
    save = Save()
    for rank in (0, 1, 2):
        save.add(f"__{rank}_0.distcp").add(f"__{rank}.metadata", metadata(f"__{rank}_0.distcp"))
    assert save.missing() is None
    assert save.missing(3) is None
    assert save.missing(4) == "has no metadata of rank 3"
    assert save.missing(2) == "has a metadata of rank 2, of 2 ranks"
    assert save.add("__3_0.distcp").missing() == "has no metadata of rank 3"
    save.add("__3.metadata", metadata("__3_0.distcp", "__3_1.distcp"))
    assert save.missing() == "lacks __3_1.distcp, which __3.metadata names"
    save.add("__3.metadata", b"")
    assert save.missing() == "has a __3.metadata that is not whole"
    save.add("__4.metadata", Pipe())
    save.add("__3.metadata", metadata("__3_0.distcp"))
    assert save.missing() is None


def test_metadata_that_comes_after_the_first_try_is_read_all_the_same(
    root: Path, store: ScriptedStore
) -> None:
    """It is in the listing then, and what it names may not be."""
    folder = root / "exec/a/step-500"
    folder.mkdir(parents=True)
    late = metadata("__0_0.distcp")
    store.before("contents", lambda: (folder / ".metadata").write_bytes(late))
    assert Framework.dcp.missing(store, SAVE, 500) == "lacks __0_0.distcp, which .metadata names"


def test_metadata_too_large_to_be_read_counts_by_being_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As before: the largest saves shall not wait for ever."""
    monkeypatch.setattr("dispatch.checkpoint.look.FILE_BYTES_MAX", 10)
    assert Save().add(".metadata", metadata("__0_0.distcp")).missing() is None


def test_any_dcp_save_may_still_grow() -> None:
    """Who wrote it can't be told: a copy begins with the metadata."""
    save = Save().add(".metadata", b"m")
    assert Framework.dcp.judge(Look(save.store, SAVE, 500)).may_grow
