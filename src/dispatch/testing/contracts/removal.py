"""The contract of taking saves away: `dispatch.ports.store.RemovalStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.model.removal import Aside, Gone, Left

if TYPE_CHECKING:
    from dispatch.ports.store import Store
    from dispatch.testing.contracts.bench import MakeStore

SAVE = b"e/a/step-1"
FILE = SAVE + b"/model/weights"


def set_aside(store: Store, save: bytes = SAVE) -> Aside:
    """Take ``save`` out of sight, which must work."""
    aside = store.set_aside(save)
    assert isinstance(aside, Aside)
    assert aside.save == save
    return aside


class RemovalContract:
    """How any store takes saves away; needs the fixture ``make_store``."""

    def test_a_save_set_aside_is_out_of_sight(self, make_store: MakeStore) -> None:
        """Where the store can rename; elsewhere its place is its own path."""
        bench = make_store()
        bench.write(FILE, b"w")
        store = bench.open()
        aside = set_aside(store)
        assert store.has_save(aside.place)
        if aside.place != SAVE:
            assert not store.has_save(SAVE)
            assert store.children(b"e/a", b"step-") == []
            assert aside.place.rpartition(b"/")[0] == b"e/a"

    def test_a_save_put_back_is_as_it_was(self, make_store: MakeStore) -> None:
        """Once: then it is no longer aside."""
        bench = make_store()
        bench.write(FILE, b"w")
        store = bench.open()
        aside = set_aside(store)
        if aside.place == SAVE:
            pytest.skip("this store can't rename")
        assert store.put_back(aside)
        assert bench.content(FILE) == b"w"
        assert store.leftovers(b"e/a") == []
        assert not store.put_back(aside)
        assert bench.content(FILE) == b"w"

    def test_a_deleted_save_is_gone_for_good(self, make_store: MakeStore) -> None:
        """Nobody can put it back, nobody finds a rest of it, and its neighbours stay."""
        bench = make_store()
        bench.write(FILE, b"w")
        bench.write(b"e/a/step-10/model", b"other")
        store = bench.open()
        aside = set_aside(store)
        assert store.delete(aside) is None
        assert not store.has_save(SAVE)
        listed = store.children(b"e/a", b"")  # some stores list an emptied folder for a time
        assert [name for name in listed if store.has_save(b"e/a/" + name)] == [b"step-10"]
        assert store.leftovers(b"e/a") == []
        assert not store.put_back(aside)
        assert store.delete(aside) == Gone()
        assert bench.content(b"e/a/step-10/model") == b"other"

    def test_a_save_of_one_file_is_removed_like_a_folder(self, make_store: MakeStore) -> None:
        """Set aside, put back, set aside and deleted."""
        bench = make_store()
        bench.write(SAVE, b"w")
        store = bench.open()
        aside = set_aside(store)
        if aside.place != SAVE:
            assert store.put_back(aside)
            assert bench.content(SAVE) == b"w"
            aside = set_aside(store)
        assert store.delete(aside) is None
        assert not store.has_save(SAVE)

    def test_a_save_that_is_not_there_is_gone(self, make_store: MakeStore) -> None:
        """Whatever of its path is missing, and also for the second of two."""
        bench = make_store()
        bench.write(b"e/file", b"")
        bench.write(FILE, b"w")
        store = bench.open()
        for save in (b"e/missing", b"missing/step-1", b"e/file/step-1", b"missing"):
            assert store.set_aside(save) == Gone()
            assert store.may_set_aside(save) == Gone()
        if set_aside(store).place != SAVE:
            assert bench.open().set_aside(SAVE) == Gone()

    def test_asking_touches_nothing(self, make_store: MakeStore) -> None:
        """`may_set_aside` says that nothing is in the way, and the save stays."""
        bench = make_store()
        bench.write(FILE, b"w")
        store = bench.open()
        assert store.may_set_aside(SAVE) is None
        assert bench.content(FILE) == b"w"
        assert store.leftovers(b"e/a") == []

    def test_a_save_written_anew_is_not_overwritten(self, make_store: MakeStore) -> None:
        """What was set aside before it stays aside, to be deleted."""
        bench = make_store()
        bench.write(FILE, b"old")
        store = bench.open()
        aside = set_aside(store)
        if aside.place == SAVE:
            pytest.skip("this store can't rename")
        bench.write(FILE, b"new")
        assert not store.put_back(aside)
        assert bench.content(FILE) == b"new"
        assert store.delete(aside) is None
        assert bench.content(FILE) == b"new"

    def test_another_process_goes_on_from_what_was_left(self, make_store: MakeStore) -> None:
        """It finds what an interrupted one set aside, with the name that it had."""
        bench = make_store()
        bench.write(FILE, b"w")
        aside = set_aside(bench.open())
        other = bench.open()
        if aside.place == SAVE:
            pytest.skip("this store can't rename")
        assert other.leftovers(b"e/a") == [aside]
        assert other.leftovers(b"e") == []
        assert other.put_back(aside)
        assert bench.content(FILE) == b"w"

    def test_leftovers_lie_in_the_root_itself_too(self, make_store: MakeStore) -> None:
        """A save may be directly below the root."""
        bench = make_store()
        bench.write(b"step-1/model", b"w")
        store = bench.open()
        aside = set_aside(store, b"step-1")
        if aside.place == b"step-1":
            pytest.skip("this store can't rename")
        assert store.leftovers(b"") == [aside]
        assert store.delete(aside) is None
        assert store.leftovers(b"") == []

    def test_what_is_no_folder_has_no_leftovers(self, make_store: MakeStore) -> None:
        """Neither what is missing nor a file."""
        bench = make_store()
        bench.write(b"e/file", b"")
        for folder in (b"missing", b"e/missing", b"e/file"):
            assert bench.open().leftovers(folder) == []

    def test_a_save_reached_through_a_link_is_left(self, make_store: MakeStore) -> None:
        """By rule, at any element of its path, and what the link leads to stays whole."""
        bench = make_store()
        bench.write(b"elsewhere/step-1/model", b"w")
        if not bench.link(b"e/a", b"../elsewhere"):
            pytest.skip("this store has no links")
        bench.link(b"e/b/step-1", b"../../elsewhere/step-1")
        bench.link(b"e/c/step-1", b"nowhere")
        store = bench.open()
        for save in (b"e/a/step-1", b"e/b/step-1", b"e/c/step-1"):
            for outcome in (store.may_set_aside(save), store.set_aside(save)):
                assert isinstance(outcome, Left)
                assert not outcome.failed
                assert "link" in outcome.reason
        assert store.leftovers(b"e/a") == []
        assert bench.content(b"elsewhere/step-1/model") == b"w"

    def test_a_link_in_a_save_goes_and_what_it_leads_to_stays(self, make_store: MakeStore) -> None:
        """To a file, to a folder, to nothing."""
        bench = make_store()
        bench.write(b"elsewhere/model", b"w")
        bench.write(FILE, b"w")
        if not bench.link(SAVE + b"/folder", b"../../../elsewhere"):
            pytest.skip("this store has no links")
        bench.link(SAVE + b"/file", b"../../../elsewhere/model")
        bench.link(SAVE + b"/lost", b"nowhere")
        bench.pipe(SAVE + b"/pipe")
        store = bench.open()
        assert store.delete(set_aside(store)) is None
        assert not store.has_save(SAVE)
        assert store.leftovers(b"e/a") == []
        assert bench.content(b"elsewhere/model") == b"w"

    def test_a_save_with_another_file_system_in_it_is_left(self, make_store: MakeStore) -> None:
        """By rule, wherever in the save it is mounted, and nothing of it is touched."""
        bench = make_store()
        bench.write(FILE, b"w")
        if not bench.mount(SAVE + b"/model/data"):
            pytest.skip("nothing can be mounted in this store")
        bench.mount(b"e/a/step-2")
        bench.write(SAVE + b"/model/data/file", b"d")
        store = bench.open()
        for save in (SAVE, b"e/a/step-2"):
            for outcome in (store.may_set_aside(save), store.set_aside(save)):
                assert isinstance(outcome, Left)
                assert not outcome.failed
        assert bench.content(FILE) == b"w"
        assert bench.content(SAVE + b"/model/data/file") == b"d"

    def test_names_of_any_bytes_are_removed(self, make_store: MakeStore) -> None:
        """Files with bytes that no locale has, in a save that has them, too."""
        bench = make_store()
        save = b"e/a/step-\xff\n "
        bench.write(save + b"/\xfe\n", b"w")
        store = bench.open()
        assert store.delete(set_aside(store, save)) is None
        assert store.children(b"e/a", b"") == []
