"""The contract of flat folders of names: `dispatch.ports.store.NamesStore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dispatch.testing.contracts.bench import MakePublishingStore

MANY = 1000
NAME_BYTES_MAX = 255


class NamesContract:
    """What any store does with names; needs the fixture ``make_store``."""

    def test_a_folder_that_is_not_there_has_no_names(self, make_store: MakePublishingStore) -> None:
        """Nothing was made yet, and that answer is not torn."""
        assert make_store().open().names("pub") == ([], True)

    def test_a_created_name_is_listed(self, make_store: MakePublishingStore) -> None:
        """Creating makes the folder where it is missing."""
        store = make_store().open()
        assert store.create("pub", "b")
        assert store.create("pub", "a")
        assert sorted(store.names("pub")[0]) == ["a", "b"]

    def test_only_the_first_of_two_creates_a_name(self, make_store: MakePublishingStore) -> None:
        """Whoever comes later learns that it was there, in the same and in another process."""
        bench = make_store()
        one, other = bench.open(), bench.open()
        assert [store.create("pub", "name") for store in (one, other, one)] == [True, False, False]
        assert other.names("pub")[0] == ["name"]

    def test_a_name_of_255_bytes_is_kept_whole(self, make_store: MakePublishingStore) -> None:
        """The longest name of any file system comes back as it was."""
        store = make_store().open()
        name = "x" * NAME_BYTES_MAX
        assert store.create("pub", name)
        assert store.names("pub")[0] == [name]

    def test_upper_and_lower_case_are_two_names(self, make_store: MakePublishingStore) -> None:
        """A store that folds case would take two publications for one."""
        store = make_store().open()
        assert store.create("pub", "A")
        assert store.create("pub", "a")

    def test_folders_do_not_share_names(self, make_store: MakePublishingStore) -> None:
        """A claim is no publication."""
        store = make_store().open()
        assert store.create("pub", "name")
        assert store.create("runs", "name")
        assert store.remove("pub", ["name"]) == (["name"], {})
        assert store.names("runs")[0] == ["name"]

    def test_all_of_many_names_are_listed_once(self, make_store: MakePublishingStore) -> None:
        """No page of a listing is lost or doubled."""
        bench = make_store()
        expected = [f"{number:04d}" for number in range(MANY)]
        for name in expected:
            bench.write(b"pub/" + name.encode(), b"")
        assert sorted(bench.open().names("pub")[0]) == expected

    def test_two_listings_of_an_unchanged_folder_agree(
        self, make_store: MakePublishingStore
    ) -> None:
        """What `whole` says may differ, the names may not."""
        store = make_store().open()
        store.create("pub", "a")
        store.create("pub", "b")
        assert sorted(store.names("pub")[0]) == sorted(store.names("pub")[0])

    @pytest.mark.parametrize("name", [b"\xff", b"\xc3\x28", b" ", "Ω".encode(), b"-n"])
    def test_any_bytes_come_back_as_they_are(
        self, make_store: MakePublishingStore, name: bytes
    ) -> None:
        """Somebody else's names are shown, never dropped: they could be anything."""
        bench = make_store()
        bench.write(b"pub/" + name, b"")
        assert bench.open().names("pub")[0] == [name.decode("utf-8", "surrogateescape")]
        assert os.fsencode(bench.open().names("pub")[0][0]) == name

    def test_removed_names_are_gone(self, make_store: MakePublishingStore) -> None:
        """What was removed is told, in the order asked for; what was not there is no error."""
        store = make_store().open()
        for name in "abc":
            store.create("pub", name)
        assert store.remove("pub", ["c", "missing", "a"]) == (["c", "a"], {})
        assert store.names("pub")[0] == ["b"]
        assert store.remove("pub", ["c", "missing", "a"]) == ([], {})

    def test_one_name_alone_is_removed(self, make_store: MakePublishingStore) -> None:
        """And it is told whether it was there."""
        store = make_store().open()
        store.create("pub", "a")
        store.create("pub", "b")
        assert store.remove("pub", ["a"]) == (["a"], {})
        assert store.remove("pub", ["a"]) == ([], {})
        assert store.names("pub")[0] == ["b"]
        assert store.remove("pub", []) == ([], {})

    def test_nothing_can_be_removed_from_a_folder_that_is_not_there(
        self, make_store: MakePublishingStore
    ) -> None:
        """That is no error, and makes no folder."""
        bench = make_store()
        assert bench.open().remove("pub", ["name"]) == ([], {})
        assert bench.open().names("pub") == ([], True)

    def test_a_removed_name_can_be_created_again(self, make_store: MakePublishingStore) -> None:
        """And is new then."""
        store = make_store().open()
        store.create("pub", "name")
        store.remove("pub", ["name"])
        assert store.create("pub", "name")

    def test_a_folder_is_dropped_once_it_has_no_names(
        self, make_store: MakePublishingStore
    ) -> None:
        """And may be used again; one that was never there is no fault."""
        bench = make_store()
        store = bench.open()
        folder = ".probe-0123456789abcdef"
        assert store.drop(folder)
        for _ in range(2):
            store.create(folder, "name")
            assert store.children(b"", b".probe-") == [folder.encode()]
            store.remove(folder, ["name"])
            assert store.drop(folder)
            assert store.names(folder)[0] == []
            assert not store.has_save(folder.encode())

    def test_dropping_a_folder_that_has_names_removes_none(
        self, make_store: MakePublishingStore
    ) -> None:
        """Somebody may have added one meanwhile."""
        store = make_store().open()
        store.create(".probe-a", "name")
        store.claim(".probe-a", "claim", "value")
        store.drop(".probe-a")
        assert sorted(store.names(".probe-a")[0]) == ["claim", "name"]

    def test_a_name_has_a_time_while_it_is_there(self, make_store: MakePublishingStore) -> None:
        """One that is not there is left out."""
        store = make_store().open()
        assert store.written("pub", ["name"]) == {}
        store.create("pub", "name")
        written = store.written("pub", ["name"])
        assert list(written) == ["name"]
        assert written["name"] > 0
        assert store.written("pub", ["name"]) == written
        store.remove("pub", ["name"])
        assert store.written("pub", ["name"]) == {}

    def test_the_times_of_several_names_are_those_of_each(
        self, make_store: MakePublishingStore
    ) -> None:
        """Asked for alone or with others; those that are not there are left out."""
        store = make_store().open()
        assert store.written("pub", ["a", "b"]) == {}
        for name in "abc":
            store.create("pub", name)
        both = store.written("pub", ["b", "missing", "a"])
        assert set(both) == {"a", "b"}
        assert {**store.written("pub", ["a"]), **store.written("pub", ["b"])} == both
        assert store.written("pub", []) == {}
