"""The contract of names that hold a value: `dispatch.ports.store.ClaimsStore`."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from dispatch.errors import MalformedError, NotFoundError

if TYPE_CHECKING:
    from dispatch.ports.store import PublishingStore
    from dispatch.testing.contracts.bench import MakePublishingStore, PublishingBench

VALUE_BYTES_MAX = 255
RACERS, READERS = 8, 2
WAIT_S = 60.0  # for what takes milliseconds; on SeaweedFS seconds


class ClaimsContract:
    """What any store does with claims; needs the fixture ``make_store``."""

    def test_the_first_value_wins(self, make_store: MakePublishingStore) -> None:
        """Whoever comes later is told it, in the same and in another process."""
        bench = make_store()
        one, other = bench.open(), bench.open()
        assert one.claim("runs", "1", "a") == "a"
        assert other.claim("runs", "1", "b") == "a"
        assert one.claim("runs", "1", "c") == "a"
        assert bench.open().claimed("runs", "1") == "a"

    def test_the_same_value_again_is_the_value(self, make_store: MakePublishingStore) -> None:
        """A start that is made again has what it has."""
        bench = make_store()
        assert [bench.open().claim("runs", "1", "a") for _ in range(3)] == ["a"] * 3

    def test_several_are_claimed_at_once(self, make_store: MakePublishingStore) -> None:
        """Each for itself: one that was there has what it had."""
        bench = make_store()
        assert bench.open().claim("fates", "2", "a") == "a"
        values = {str(number): f"b{number}" for number in range(5)}
        assert bench.open().claim_all("fates", values) == {**values, "2": "a"}
        assert bench.open().claim_all("fates", {"4": "c", "5": "c"}) == {"4": "b4", "5": "c"}
        assert sorted(bench.open().names("fates")[0]) == list("012345")
        assert bench.open().claimed("fates", "3") == "b3"

    def test_what_nobody_claimed_has_no_value(self, make_store: MakePublishingStore) -> None:
        """Whether there is a folder or not; and asking makes none."""
        store = make_store().open()
        assert store.claimed("runs", "1") is None
        assert store.names("runs") == ([], True)
        store.claim("runs", "2", "a")
        assert store.claimed("runs", "1") is None

    def test_claims_are_names(self, make_store: MakePublishingStore) -> None:
        """Listed, dated, and in the way of a name without a value."""
        store = make_store().open()
        store.claim("runs", "1", "nowhere")
        store.claim("runs", "2", "..")
        assert sorted(store.names("runs")[0]) == ["1", "2"]
        written = store.written("runs", ["1", "2", "3"])
        assert sorted(written) == ["1", "2"]
        assert store.written("runs", ["1"]) == {"1": written["1"]}
        assert store.create("runs", "1") is False
        assert store.claimed("runs", "1") == "nowhere"

    def test_a_claim_is_older_than_what_its_value_happens_to_name(
        self, make_store: MakePublishingStore
    ) -> None:
        """A value is no path: nothing looks where it would lead."""
        bench = make_store()
        store = bench.open()
        store.claim("runs", "1", "2")
        before = store.written("runs", ["1"])
        store.claim("runs", "2", "value")
        bench.write(b"runs/3", b"content")
        store.claim("runs", "4", "3")
        assert store.written("runs", ["1"]) == before
        assert store.claimed("runs", "4") == "3"
        assert store.remove("runs", ["4", "1"]) == (["4", "1"], {})
        assert sorted(store.names("runs")[0]) == ["2", "3"]

    def test_names_share_no_value(self, make_store: MakePublishingStore) -> None:
        """Each name in each folder has its own."""
        store = make_store().open()
        for folder, name in (("runs", "1"), ("runs", "1.resume"), ("pub", "1")):
            assert store.claim(folder, name, f"{folder} {name}") == f"{folder} {name}"
        assert store.claimed("runs", "1") == "runs 1"
        assert store.claimed("runs", "1.resume") == "runs 1.resume"

    def test_a_claim_that_was_removed_can_be_made_anew(
        self, make_store: MakePublishingStore
    ) -> None:
        """One alone, and one of several."""
        store = make_store().open()
        for name in "123":
            store.claim("runs", name, "a")
        assert store.remove("runs", ["1"]) == (["1"], {})
        assert store.remove("runs", ["2", "missing", "3"]) == (["2", "3"], {})
        for name in "123":
            assert store.claimed("runs", name) is None
            assert store.claim("runs", name, "b") == "b"

    @pytest.mark.parametrize(
        "value",
        [
            b"x" * VALUE_BYTES_MAX,
            b"\xff" * VALUE_BYTES_MAX,
            b"\xc3\x28",
            b"\x01\n\r\t ",
            b" ",
            b".",
            b"/",
            b"a//b/../c/",
            "Ω".encode(),
            b"-",
        ],
        ids=repr,
    )
    def test_any_value_comes_back_as_it_is(
        self, make_store: MakePublishingStore, value: bytes
    ) -> None:
        """Byte for byte, up to the longest."""
        bench = make_store()
        text = os.fsdecode(value)
        assert bench.open().claim("runs", "1", text) == text
        assert os.fsencode(bench.open().claimed("runs", "1") or "") == value
        assert bench.open().claim("runs", "1", "other") == text

    def test_a_name_of_255_bytes_holds_a_value_of_255(
        self, make_store: MakePublishingStore
    ) -> None:
        """The longest of both."""
        bench = make_store()
        name, value = "n" * VALUE_BYTES_MAX, "v" * VALUE_BYTES_MAX
        assert bench.open().claim("runs", name, value) == value
        assert bench.open().names("runs")[0] == [name]
        assert bench.open().claimed("runs", name) == value

    @pytest.mark.parametrize("size", [0, VALUE_BYTES_MAX + 1, 1 << 16])
    def test_a_file_of_somebody_else_is_no_claim(
        self, make_store: MakePublishingStore, size: int
    ) -> None:
        """It is told, not taken for a value, and not overwritten."""
        bench = make_store()
        bench.write(b"runs/1", b"x" * size)
        _require_malformed(bench)
        assert bench.content(b"runs/1") == b"x" * size

    def test_a_name_without_a_value_is_no_claim(self, make_store: MakePublishingStore) -> None:
        """Made by `create`."""
        bench = make_store()
        bench.open().create("runs", "1")
        _require_malformed(bench)

    def test_a_folder_is_no_claim(self, make_store: MakePublishingStore) -> None:
        """Nor is a link that is longer than any value."""
        bench = make_store()
        if not bench.make_folder(b"runs/1"):
            pytest.skip("there are no folders in this store")
        _require_malformed(bench)
        other = make_store()
        other.link(b"runs/1", b"x" * (VALUE_BYTES_MAX + 1))
        _require_malformed(other)

    def test_without_its_root_nothing_is_claimed(self, make_store: MakePublishingStore) -> None:
        """Above all it is not "nobody has it"."""
        bench = make_store()
        store = bench.open()
        bench.destroy()
        with pytest.raises(NotFoundError) as caught:
            store.claimed("runs", "1")
        assert caught.value.kind == "root-missing"


class ClaimRacesContract:
    """What any store does when many claim at once; needs the fixture ``make_store``.

    Beside `ClaimsContract`, for a store that several threads may use.
    """

    def test_all_who_claim_at_once_are_told_one_value(
        self, make_store: MakePublishingStore
    ) -> None:
        """One of theirs, which is all that anybody ever reads, and never a part of it."""
        bench = make_store()
        values = [f"{number}".ljust(VALUE_BYTES_MAX, ".") for number in range(RACERS)]
        stores = [bench.open() for _ in range(RACERS + READERS)]
        together = threading.Barrier(RACERS + READERS)
        is_over = threading.Event()

        def claim(store: PublishingStore, value: str) -> str:
            together.wait(WAIT_S)
            return store.claim("runs", "1", value)

        def look(store: PublishingStore) -> set[str | None]:
            together.wait(WAIT_S)
            seen: set[str | None] = set()
            while not is_over.is_set():
                seen.add(store.claimed("runs", "1"))
            return seen

        with ThreadPoolExecutor(RACERS + READERS) as pool:
            looking = [pool.submit(look, store) for store in stores[RACERS:]]
            claiming = [pool.submit(claim, *pair) for pair in zip(stores, values, strict=False)]
            try:
                told = {future.result() for future in claiming}
            finally:
                is_over.set()
            seen = set[str | None]().union(*(future.result() for future in looking))
        assert len(told) == 1
        assert told <= set(values)
        assert seen <= {None, *told}
        assert bench.open().claimed("runs", "1") in told


def _require_malformed(bench: PublishingBench) -> None:
    store = bench.open()
    with pytest.raises(MalformedError, match="runs/1 is no claim") as read:
        store.claimed("runs", "1")
    with pytest.raises(MalformedError, match="runs/1 is no claim") as claimed:
        store.claim("runs", "1", "a")
    assert read.value.kind == claimed.value.kind == "malformed-claim"
    assert store.names("runs")[0] == ["1"]
