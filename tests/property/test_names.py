"""Names against a second, independent reading of the format, and the fast ways against it too."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dispatch.checkpoint import Entry, latest, listing, parse_entry_name, valid_save
from dispatch.checkpoint.entry import decode_path, encode_path
from dispatch.errors import InvalidInputError, MalformedError
from dispatch.model.number import parse_uint64
from tests.property import names as n
from tests.property.checking import settings_for

ParseName = Callable[[str], Entry]
LatestOf = Callable[[list[str]], Entry | None]


pieces = st.sampled_from([1, 2, 3, 8192])


@contextmanager
def in_pieces(names: int) -> Generator[None]:
    """Let names be handled so many at a time, as if there were millions."""
    with mock.patch.multiple(listing, _CHUNK=2 * names, _GROUP=names):
        yield


def check_parsing(parse_name: ParseName, *, is_wrong: bool = False) -> None:
    """Check that a parser takes the names of the format and no others."""

    @settings_for(is_wrong=is_wrong, factor=4)
    @given(n.any_names)
    @example("")
    @example("0" * 20 + "-" + "0" * 20 + "-" + "ME" + "\n")
    def check(name: str) -> None:
        expected = n.parse(name)
        try:
            entry = parse_name(name)
        except MalformedError:
            assert expected is None, f"{name!r} should parse"
        else:
            assert entry.name() == name, f"{name!r} parses as another's name"
            assert entry.key() == expected

    check()


def check_latest(latest_of: LatestOf, *, is_wrong: bool = False) -> None:
    """Check that the latest of names is the greatest, and that any malformed one is an error."""

    @settings_for(is_wrong=is_wrong, factor=4)
    @given(n.name_lists, pieces)
    def check(names: list[str], piece: int) -> None:
        parsed = [n.parse(name) for name in names]
        bad = [name for name, parts in zip(names, parsed, strict=True) if parts is None]
        complaint = ""
        found = None
        with in_pieces(piece):
            try:
                found = latest_of(list(names))
            except MalformedError as error:
                complaint = str(error)
        if bad:
            assert complaint, "a malformed name was passed over"
            assert any(repr(name) in complaint for name in bad), "it names another"
        else:
            assert not complaint
            greatest = max((parts for parts in parsed if parts is not None), default=None)
            assert (found and found.key()) == greatest

    check()


def test_only_the_names_of_the_format_parse() -> None:
    """A name parses if and only if encoding what it decodes to gives it again."""
    check_parsing(parse_entry_name)


def test_the_latest_is_the_greatest_and_every_name_is_checked() -> None:
    """However the names are chunked, mixed and tied."""
    check_latest(listing.latest_of)


def test_a_list_of_all_names_is_as_strict() -> None:
    """`entries` goes another way than `resolve`, to the same end."""
    check_latest(lambda names: latest(listing.parse_all(names)))


@given(st.lists(n.good_names(), max_size=12), pieces)
def test_all_names_are_parsed_in_order(names: list[str], piece: int) -> None:
    """Ascending, none lost and none twice."""
    with in_pieces(piece):
        entries = listing.parse_all(names)
    assert [entry.key() for entry in entries] == sorted(map(n.parse, names))  # type: ignore[type-var] # all parse


@given(n.numbers, n.numbers, n.paths)
def test_a_name_says_all_there_is_to_an_entry(epoch: int, step: int, path: bytes) -> None:
    """Both ways, for any numbers and any bytes of path, in at most 255 characters."""
    entry = Entry(epoch, step, path)
    name = entry.name()
    assert name == n.spell(epoch, step, n.b32(path))
    assert len(name) <= 255
    assert parse_entry_name(name) == entry
    assert Entry(epoch, step, entry.save) == entry


@given(st.binary(max_size=150))
def test_paths_are_encoded_as_rfc_4648_says(path: bytes) -> None:
    """And decoded to the same bytes."""
    text = encode_path(path)
    assert text == n.b32(path)
    assert decode_path(text) == (path or None)


@given(n.paths | n.wild_paths | st.binary(max_size=140))
def test_a_path_is_valid_by_either_reading(path: bytes) -> None:
    """And what is invalid makes no entry."""
    assert valid_save(path) == n.is_valid_path(path)
    if not valid_save(path):
        with pytest.raises(InvalidInputError):
            Entry(1, 1, path)


@given(st.lists(st.tuples(n.numbers, n.numbers, n.paths), max_size=12))
def test_entries_order_as_their_parts_do(parts: Sequence[n.Parts]) -> None:
    """By epoch, then step, then path bytes."""
    entries = [Entry(*part) for part in parts]
    assert [entry.key() for entry in sorted(entries)] == sorted(parts)
    greatest = latest(entries)
    assert (greatest and greatest.key()) == max(parts, default=None)


@given(st.text() | st.from_regex(r"[0-9]{1,25}", fullmatch=True))
def test_numbers_are_digits_of_at_most_64_bits(text: str) -> None:
    """Where `int` is lenient, this isn't."""
    is_digits = text != "" and set(text) <= set("0123456789")
    expected = int(text) if is_digits and int(text) <= n.UINT64_MAX else None
    assert parse_uint64(text) == expected
