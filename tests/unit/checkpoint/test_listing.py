"""A listing that can't have been torn, and a latest that trusts no name."""

import gc
import itertools
from collections.abc import Callable, Iterable, Iterator

import pytest

from dispatch.checkpoint import listing
from dispatch.checkpoint.entry import Entry, encode_path, parse_entry_name
from dispatch.checkpoint.listing import latest_of, parse_all, read_names
from dispatch.errors import DispatchError, MalformedError, UnavailableError
from tests.data.vectors import ENTRIES, MALFORMED_NAMES

Pass = tuple[list[str], bool | None]
HEADER = f"{1:020}-{1:020}-"


class Passes:
    """A folder of names that answers each pass as it was told."""

    def __init__(self, passes: Iterable[Pass]) -> None:
        self.passes: Iterator[Pass] = iter(passes)
        self.count = 0

    def names(self, folder: str, in_vain: int = 0) -> Pass:
        assert folder == "pub"
        assert in_vain == self.count
        self.count += 1
        return next(self.passes)

    def create(self, folder: str, name: str) -> bool:
        raise NotImplementedError

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        raise NotImplementedError

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        raise NotImplementedError


def name_of(path: bytes, step: int = 1) -> str:
    """Spell a name, also one for a path that is not valid."""
    return f"{1:020}-{step:020}-{encode_path(path)}"


def test_a_pass_that_the_store_vouches_for_is_enough() -> None:
    """One listing, whatever it holds."""
    store = Passes([(["b", "a"], True)])
    assert read_names(store) == ["b", "a"]
    assert store.count == 1


def test_two_passes_with_the_same_names_count_in_whatever_order() -> None:
    """A folder need not be listed in the same order twice."""
    store = Passes([(["a", "b"], False), (["b", "a"], False)])
    assert sorted(read_names(store)) == ["a", "b"]
    assert store.count == 2
    assert read_names(Passes([([], False), ([], False)])) == []


def test_a_torn_pass_is_never_the_answer() -> None:
    """The old latest was pruned ahead of the reader, the newer came behind it: not "nothing"."""
    store = Passes([([], False), (["new"], False), (["new"], False)])
    assert read_names(store) == ["new"]


def test_a_pass_counts_only_with_the_one_right_before() -> None:
    """Names that came, went and came back are not two passes alike."""
    store = Passes([(["a"], False), (["b"], False), (["a"], False), (["b"], True)])
    assert read_names(store) == ["b"]
    assert store.count == 4


def test_a_pass_that_is_known_to_be_torn_agrees_with_no_other() -> None:
    """Two that were torn alike would find the same names."""
    store = Passes([([], None), ([], None), ([], False), (["new"], None), (["new"], False)])
    with pytest.raises(StopIteration):
        read_names(store)
    assert read_names(Passes([([], None), (["new"], False), (["new"], False)])) == ["new"]
    assert read_names(Passes([(["new"], False), ([], None), (["new"], True)])) == ["new"]


def test_after_ten_differing_passes_there_is_no_answer() -> None:
    """Exactly ten are tried, and the error says so."""
    store = Passes(([str(number)], False) for number in itertools.count())
    with pytest.raises(UnavailableError) as caught:
        read_names(store)
    assert store.count == 10
    assert caught.value.kind == "listing-torn"
    assert str(caught.value) == "pub/ changed during each of 10 listings"
    assert caught.value.hint


def test_the_tenth_pass_can_still_count() -> None:
    """The bound is on passes, not on differences."""
    numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert read_names(Passes(([str(number)], False) for number in numbers)) == ["8"]


def test_nothing_published_has_no_latest() -> None:
    """None, and no error."""
    assert latest_of([]) is None
    assert parse_all([]) == []


def test_all_publications_come_in_order() -> None:
    """Ascending by epoch, step and path bytes, however they were listed."""
    expected = sorted(Entry(*vector[:3]) for vector in ENTRIES)
    names = [vector.name for vector in ENTRIES]
    assert parse_all(names) == expected
    assert parse_all(names[::-1]) == expected
    assert latest_of(names) == expected[-1] == Entry(2**64 - 1, 2**64 - 1, "exec/x/step-1")


@pytest.mark.parametrize("read", [parse_all, latest_of])
@pytest.mark.parametrize("name", MALFORMED_NAMES, ids=MALFORMED_NAMES.values())
def test_a_malformed_name_fails_every_reading(
    read: Callable[[list[str]], object], name: str
) -> None:
    """It is named and never skipped, though it would be the lowest of them all."""
    names = [Entry(5, step, f"exec/1/checkpoint-{step}").name() for step in range(100)]
    with pytest.raises(MalformedError) as caught:
        read([*names, name, *names])
    assert repr(name) in str(caught.value)


INVALID = {
    "an absolute path": b"/abc",
    "a trailing slash": b"abc/",
    "an empty element": b"a//b",
    "a dot": b"./ab",
    "a dot inside": b"a/./b",
    "a dot at the end": b"abc/.",
    "a dot-dot": b"../a",
    "a dot-dot inside": b"a/../b",
    "pub": b"pub",
    "inside pub": b"pub/ab",
    "a NUL": b"a\0b",
    "a NUL in front": b"\0ab",
    "a NUL at the end": b"ab\0",
}


@pytest.mark.parametrize("position", [0, 1, 6, 7, 8, 20])
@pytest.mark.parametrize("path", INVALID.values(), ids=INVALID)
def test_an_invalid_path_is_found_among_valid_ones_of_its_length(
    monkeypatch: pytest.MonkeyPatch, path: bytes, position: int
) -> None:
    """Names are checked thousands at a time; no neighbour hides one, nor a chunk's border."""
    monkeypatch.setattr(listing, "_CHUNK", 14)
    monkeypatch.setattr(listing, "_GROUP", 7)
    names = [name_of(b"x" * len(path), step) for step in range(20)]
    assert latest_of(names) == Entry(1, 19, b"x" * len(path))
    hostile = name_of(path, 0)
    names.insert(position, hostile)
    with pytest.raises(MalformedError) as caught:
        latest_of(names)
    assert repr(hostile) in str(caught.value)


@pytest.mark.parametrize("path", [b"pub.", b"pubs", b"xpub", b"...", b".a", b"a/.b", b"a/..b"])
def test_look_alikes_of_invalid_paths_take_a_closer_look_and_pass(path: bytes) -> None:
    """What the check of thousands can't decide is parsed one by one."""
    names = [name_of(path), name_of(b"x" * len(path), 0)]
    assert latest_of(names) == Entry(1, 1, path)


def test_a_nul_does_not_balance_set_bits_behind_another_path_s_end() -> None:
    """Counting zero bytes alone would find as many as there should be."""
    with_nul, with_bits = name_of(b"a\0b"), name_of(b"abc")
    assert len(with_nul) == len(with_bits)
    with_bits = with_bits[:-1] + chr(ord(with_bits[-1]) + 1)
    for names in ([with_nul, with_bits], [with_bits, with_nul], [with_bits], [with_nul]):
        with pytest.raises(MalformedError):
            latest_of(names)


def test_numbers_from_ten_to_the_nineteenth_are_looked_at_closely() -> None:
    """20 digits can be more than 64 bits hold."""
    assert latest_of([f"{10**19:020}-{1:020}-ME", f"{1:020}-{1:020}-ME"]) == Entry(10**19, 1, "a")
    assert latest_of([f"{1:020}-{10**19:020}-ME"]) == Entry(1, 10**19, "a")
    for numbers in (f"{2**64:020}-{1:020}", f"{1:020}-{2**64:020}", f"{'9' * 20}-{'9' * 20}"):
        with pytest.raises(MalformedError):
            latest_of([f"{numbers}-ME", f"{1:020}-{1:020}-ME"])


@pytest.mark.parametrize(
    "name",
    [
        "0" * 20 + "_" + HEADER[21:] + "ME",
        HEADER[:41] + "_ME",
        "x" + HEADER[1:] + "ME",
        HEADER[:21] + "x" + HEADER[22:] + "ME",
        "\u0661" * 20 + HEADER[20:] + "ME",
        HEADER + "m1",
        HEADER + "M!",
        HEADER + "AAA",
        HEADER,
        HEADER[:-1],
        HEADER + encode_path(b"p" * 134),
    ],
)
def test_a_low_malformed_name_is_found_beside_a_good_latest(name: str) -> None:
    """Each column, the alphabet, the lengths: alone of its length, and with company."""
    good = f"{9:020}-{9:020}-"
    for other in (good + "ME", good + "MFRA", good + "MFRGG"):
        with pytest.raises(MalformedError):
            latest_of([other, name])
        with pytest.raises(MalformedError):
            latest_of([name, other, name])


@pytest.mark.parametrize("column", range(42))
@pytest.mark.parametrize("character", ["x", " ", "+", "_", "/", ":", "\u0661"])
def test_every_column_of_the_numbers_is_checked(column: int, character: str) -> None:
    """For each name, also between good ones of its length."""
    good = [f"{1:020}-{step:020}-ME" for step in range(3)]
    hostile = good[0][:column] + character + good[0][column + 1 :]
    for read in (latest_of, parse_all):
        with pytest.raises(MalformedError):
            read([good[1], hostile, good[2]])


@pytest.mark.parametrize("length", range(1, 134))
def test_usual_names_are_not_parsed_one_by_one(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """Whatever their length: of a million, only those that could be the latest are."""
    parsed: list[str] = []

    def parse(name: str) -> Entry:
        parsed.append(name)
        return parse_entry_name(name)

    monkeypatch.setattr(listing, "parse_entry_name", parse)
    path = (b"exec/1.1.0/checkpoint-" * 7)[: length - 1] + b"x"
    entries = [Entry(1, step, path) for step in range(100)]
    names = [entry.name() for entry in entries]
    assert latest_of(names) == entries[-1]
    assert parsed == [names[-1]]
    parsed.clear()
    assert parse_all(names) == entries
    assert parsed == []


@pytest.mark.parametrize("is_collecting", [True, False])
@pytest.mark.parametrize("names", [[HEADER + "ME"], [".DS_Store"]])
def test_parsing_leaves_the_garbage_collector_as_it_was(
    names: list[str], *, is_collecting: bool
) -> None:
    """On or off, and also when a name is malformed."""
    was_collecting = gc.isenabled()
    (gc.enable if is_collecting else gc.disable)()
    try:
        parse_all(names)
    except MalformedError:
        pass
    finally:
        found = gc.isenabled()
        (gc.enable if was_collecting else gc.disable)()
    assert found is is_collecting


def test_ties_of_epoch_and_step_go_to_the_greatest_bytes() -> None:
    """Base32 characters order otherwise: 2 to 7 stand for more than A to Z."""
    names = [f"{5:020}-{5:020}-{encode_path(path)}" for path in (b"a", b"\xff", b"b", b"\xffa")]
    assert latest_of(names) == Entry(5, 5, b"\xffa")
    assert max(names).endswith(encode_path(b"b"))
