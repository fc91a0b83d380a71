"""The name of a publication is the publication: one spelling, both ways, one order."""

import copy
import itertools
import os
import pickle
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry, latest, parse_entry_name, parse_epoch, parse_step, valid_save
from dispatch.checkpoint.entry import PATH_BYTES_MAX, decode_path, encode_path
from dispatch.errors import InvalidInputError, MalformedError
from dispatch.model.number import UINT64_MAX
from tests.data.vectors import (
    ENTRIES,
    INVALID_PATHS,
    MALFORMED_NAMES,
    MALFORMED_NUMBERS,
    NamedEntry,
)

EXAMPLE = "00000000000001000000-00000000000000000500-MV4GKYZPGEXDIMJQGEXDAL3DNBSWG23QN5UW45BNGUYDA"
NOT_CLEAN = "is not clean: it has an empty element, '.', a trailing slash or a NUL"
HEADER = "00000000000001000000-00000000000000000500-"

FURTHER_MALFORMED = {
    "a NUL behind the name": EXAMPLE + "\0",
    "a lone surrogate": HEADER + "ME\udcff",
    "a full-width letter, which upper-case rules would fold": HEADER + "\uff2d\uff25",
    "a long s, whose upper case is S": HEADER + "MV4GKYZPPAXXG5DFOAWT\u017f",
    "an underscore between digits of the epoch": "0000000000000100_000-" + EXAMPLE[21:],
    "an underscore in the path": HEADER + "M_",
    "a superscript digit": "0000000000000100000\u00b2-" + EXAMPLE[21:],
    "a digit of base 32 as int() reads it": HEADER + "10",
    "impossible length 9": HEADER + "MFRGGZDFA",
    "only the numbers": HEADER[:-1],
    "a dash too many": HEADER + "-ME",
    "the second dash missing": HEADER[:-1] + "AME",
    "a path of 134 bytes": HEADER + encode_path(b"p" * 134),
    "an element that is dot-dot": HEADER + encode_path(b"a/.."),
    "an element that is a dot": HEADER + encode_path(b"./a"),
    "hidden junk": ".DS_Store",
}


@pytest.mark.parametrize("vector", ENTRIES)
def test_a_publication_has_the_name_that_the_format_says(vector: NamedEntry) -> None:
    """The vectors of the format hold in both directions."""
    entry = Entry(vector.epoch, vector.step, vector.path)
    assert entry.name() == vector.name
    assert parse_entry_name(vector.name) == entry
    assert (entry.epoch, entry.step, entry.path) == vector[:3]
    assert entry.save == os.fsdecode(vector.path)
    assert decode_path(encode_path(vector.path)) == vector.path


@pytest.mark.parametrize(
    "name",
    [*MALFORMED_NAMES, *FURTHER_MALFORMED.values()],
    ids=[*MALFORMED_NAMES.values(), *FURTHER_MALFORMED],
)
def test_any_other_spelling_is_malformed(name: str) -> None:
    """The error shows the name, and what to do about it."""
    with pytest.raises(MalformedError) as caught:
        parse_entry_name(name)
    assert str(caught.value) == f"{name!r} in pub/ is not an entry's name"
    assert caught.value.kind == "malformed-entry"
    assert "move it away" in caught.value.hint or name.startswith(".nfs")


def test_an_nfs_client_s_leftover_is_explained() -> None:
    """Nobody can move a silly-renamed file away: the hint says when it goes."""
    with pytest.raises(MalformedError) as caught:
        parse_entry_name(".nfs000000000001")
    assert "NFS client" in caught.value.hint


@pytest.mark.parametrize("cut", range(len(EXAMPLE)))
def test_a_name_cut_short_is_never_another_publication_s(cut: int) -> None:
    """Base32 without padding can be cut to a shorter valid path: then it names that path."""
    name = EXAMPLE[:cut]
    try:
        entry = parse_entry_name(name)
    except MalformedError:
        return
    assert entry.name() == name
    assert entry.path == b"exec/1.4101.0/checkpoint-500"[: len(entry.path)]


@pytest.mark.parametrize("path", INVALID_PATHS, ids=INVALID_PATHS.values())
def test_an_invalid_path_can_not_be_published(path: bytes) -> None:
    """It is refused where an entry is made, and its name doesn't parse."""
    assert not valid_save(path)
    with pytest.raises(InvalidInputError):
        Entry(1, 1, path)
    with pytest.raises(MalformedError):
        parse_entry_name(f"{1:020}-{1:020}-{encode_path(path)}")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (b"", "is the root itself"),
        (b".", "is the root itself"),
        (b"a\0b", NOT_CLEAN),
        (b"/a", "leads outside the root"),
        (b"a/../b", "leads outside the root"),
        (b"a//b", NOT_CLEAN),
        (b"./a", NOT_CLEAN),
        (b"a/", NOT_CLEAN),
        (b"pub", "is pub or inside it"),
        (b"pub/a", "is pub or inside it"),
        (b"p" * 134, "is 134 bytes long; at most 133 fit an entry's name"),
    ],
)
def test_the_message_says_what_is_wrong_with_a_path(path: bytes, reason: str) -> None:
    """Each rule of validity has its own words."""
    with pytest.raises(InvalidInputError) as caught:
        Entry(1, 1, path)
    assert str(caught.value) == f"save {os.fsdecode(path)!r} {reason}"


@pytest.mark.parametrize(
    "path",
    [b"pub.old/x", b"public", b"a/pub", b"runs", b"runs/1", b"...", b"a/.b", b"..a", b"\xff"],
)
def test_look_alikes_of_invalid_paths_are_valid(path: bytes) -> None:
    """Only whole elements count; `runs` parses, though nobody may publish it."""
    assert valid_save(path)
    assert parse_entry_name(Entry(1, 1, path).name()).path == path


def test_the_longest_path_fills_a_name() -> None:
    """133 bytes are 255 characters, which is NAME_MAX; 134 would be 257."""
    longest = Entry(UINT64_MAX, UINT64_MAX, b"p" * 133)
    assert PATH_BYTES_MAX == 133
    assert len(longest.name()) == 255
    assert parse_entry_name(longest.name()) == longest


@pytest.mark.parametrize(
    ("epoch", "step", "message"),
    [
        (-1, 0, "epoch -1 is not an integer from 0 to 18446744073709551615"),
        (2**64, 0, "epoch 18446744073709551616 is not an integer from 0 to 18446744073709551615"),
        (0, -1, "step -1 is not an integer from 0 to 18446744073709551615"),
        (0, 2**64, "step 18446744073709551616 is not an integer from 0 to 18446744073709551615"),
    ],
)
def test_numbers_outside_64_bits_are_refused(epoch: int, step: int, message: str) -> None:
    """The message shows the value and the limit."""
    with pytest.raises(InvalidInputError) as caught:
        Entry(epoch, step, "a")
    assert str(caught.value) == message


class Count:
    """An integer of another type, as NumPy has them."""

    def __index__(self) -> int:
        return 7


def test_other_integer_types_become_int() -> None:
    """NumPy's can be a trainer's step; a float, or text, is no integer."""
    entry = Entry(Count(), True, "a")  # type: ignore[arg-type]  # not an int, but an integer
    assert (type(entry.epoch), type(entry.step)) == (int, int)
    assert entry == Entry(7, 1, "a")
    for wrong in (1.0, "1", None):
        with pytest.raises(InvalidInputError, match="is not an integer from 0 to"):
            Entry(1, wrong, "a")  # type: ignore[arg-type]  # what callers without mypy give


def test_entries_order_by_epoch_then_step_then_path_bytes() -> None:
    """A later execution's first step outranks an earlier one's last."""
    rising = [
        Entry(1, 1, "a"),
        Entry(1, 1, "b"),
        Entry(1, 2, "a"),
        Entry(1, 9, "a"),
        Entry(1, 10, "a"),
        Entry(2, 1, "a"),
        Entry(10, 0, "a"),
        Entry(10**19, 0, "a"),
    ]
    for lower, higher in itertools.pairwise(rising):
        assert lower < higher
        assert lower <= higher
        assert higher > lower
        assert higher >= lower
        assert lower != higher
    assert sorted(rising[3:] + rising[:3]) == rising


def test_ties_order_by_bytes_though_their_names_order_otherwise() -> None:
    """Base32 writes 26 to 31 as 2 to 7, which sort before A as characters."""
    low, high = Entry(1, 1, b"exec/x"), Entry(1, 1, b"exec/\xff")
    assert low < high
    low, high = Entry(1, 1, b"a"), Entry(1, 1, b"\xff")
    assert low < high
    assert low.name() > high.name()
    assert latest([high, low]) == high


def test_equal_entries_are_one() -> None:
    """They hash alike, and equal nothing else."""
    entry = Entry(1, 2, "exec/a")
    assert entry == Entry(1, 2, b"exec/a")
    assert entry <= Entry(1, 2, Path("exec/a"))
    assert entry >= Entry(1, 2, "exec/a")
    assert len({entry, Entry(1, 2, "exec/a")}) == 1
    assert (entry < Entry(1, 2, "exec/a")) is False
    assert (entry > Entry(1, 2, "exec/a")) is False
    assert entry != (1, 2, b"exec/a")
    assert entry.__eq__("a") is NotImplemented


def test_an_entry_is_immutable() -> None:
    """An entry in a set or a callback can't change behind anybody's back."""
    entry = Entry(1, 2, "a")
    with pytest.raises(AttributeError, match="immutable: step can't be set"):
        entry.step = 3
    with pytest.raises(AttributeError, match="immutable: path can't be deleted"):
        del entry.path
    assert entry == Entry(1, 2, "a")


def test_an_entry_can_be_copied_and_pickled() -> None:
    """It crosses to other processes, odd bytes included."""
    entry = Entry(1, 2, b"exec/\xff")
    assert pickle.loads(pickle.dumps(entry)) == entry
    assert copy.deepcopy(entry) == entry
    assert repr(entry) == "Entry(epoch=1, step=2, save='exec/\\udcff')"


def test_the_latest_is_the_greatest() -> None:
    """None of none."""
    entries = [Entry(2, 1, "b"), Entry(1, 9, "a"), Entry(2, 1, "a")]
    assert latest(iter(entries)) == Entry(2, 1, "b")
    assert latest([]) is None


@pytest.mark.parametrize("text", MALFORMED_NUMBERS)
def test_malformed_numbers_are_refused_by_name(text: str) -> None:
    """The message says which of the two it was."""
    with pytest.raises(InvalidInputError, match=r"^epoch "):
        parse_epoch(text)
    with pytest.raises(InvalidInputError, match=r"^step "):
        parse_step(text)


def test_numbers_are_taken_to_their_bounds() -> None:
    """0 and 2^64-1 are the ends."""
    assert parse_epoch("18446744073709551615") == UINT64_MAX
    assert parse_step("000") == 0


@pytest.mark.parametrize(
    "text", ["", "A", "AAA", "AAAAAA", "MF", "me", "M1", "ME======", "\u00c9A"]
)
def test_text_that_nothing_encodes_to_is_not_decoded(text: str) -> None:
    """Nothing, impossible lengths, set bits behind the end, other alphabets."""
    assert decode_path(text) is None
