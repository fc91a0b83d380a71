"""What a prune keeps: pure functions over entries and paths."""

import pytest

from dispatch.checkpoint import Entry, overlaps
from dispatch.checkpoint.retention import Named, is_protected, kept, parent
from dispatch.errors import InvalidInputError


def entry(epoch: int, step: int, path: str = "") -> Entry:
    """Make an entry whose path says what it is."""
    return Entry(epoch, step, path or f"exec/{epoch}/checkpoint-{step}")


ENTRIES = [
    entry(1, 100),
    entry(1, 200),
    entry(1, 300),
    entry(1, 9000),
    entry(2, 100),
    entry(2, 150),
    entry(2, 200),
]


@pytest.mark.parametrize("keep", range(1, 10))
def test_the_latest_are_kept(keep: int) -> None:
    """By epoch and step, so an old run's high step is not among them."""
    assert kept(ENTRIES, keep) == set(ENTRIES[-keep:])
    assert entry(2, 200) in kept(ENTRIES, keep)


@pytest.mark.parametrize("keep", [1, 5])
def test_of_nothing_nothing_is_kept(keep: int) -> None:
    """And it is no error."""
    assert kept([], keep, keep_every=100) == set()


def test_keep_every_keeps_the_best_entry_of_each_step_it_divides() -> None:
    """Of step 100 and 200 the second epoch's, of 300 and 9000 the only one."""
    assert kept(ENTRIES, 1, keep_every=100) == {
        entry(1, 300),
        entry(1, 9000),
        entry(2, 100),
        entry(2, 200),
    }
    assert kept(ENTRIES, 2, keep_every=4500) == {entry(1, 9000), entry(2, 150), entry(2, 200)}


def test_every_number_divides_step_zero() -> None:
    """The first save of all is kept, too."""
    first = entry(1, 0)
    assert kept([first, *ENTRIES], 1, keep_every=7000) == {first, entry(2, 200)}


def test_of_two_paths_with_one_epoch_and_step_the_greater_is_kept() -> None:
    """One entry for each step, also in a tie."""
    tied = [entry(1, 100, "exec/a"), entry(1, 100, "exec/b"), entry(2, 5)]
    assert kept(tied, 1, keep_every=100) == {entry(1, 100, "exec/b"), entry(2, 5)}


@pytest.mark.parametrize(
    ("keep", "keep_every", "message"),
    [
        (0, None, "keep 0 is below 1"),
        (-1, None, "keep -1 is below 1"),
        (1, 0, "keep-every 0 is below 1"),
        (1, -5, "keep-every -5 is below 1"),
    ],
)
def test_a_number_below_one_is_refused(keep: int, keep_every: int | None, message: str) -> None:
    """Nobody deletes every checkpoint by a limit of 0 or -1."""
    with pytest.raises(InvalidInputError) as caught:
        kept(ENTRIES, keep, keep_every)
    assert str(caught.value) == message
    assert "always kept" in caught.value.hint


@pytest.mark.parametrize(
    ("save", "expected"),
    [
        (b"exec/a/checkpoint-1", True),
        (b"exec/a/checkpoint-1/inner", True),
        (b"exec/a/checkpoint-1/inner/most", True),
        (b"exec/a", True),
        (b"exec", True),
        (b"exec/a/checkpoint-10", False),
        (b"exec/a/checkpoint", False),
        (b"exec/a/checkpoint-2", False),
        (b"exec/b", False),
        (b"exec/a/checkpoint-1.old", False),
        (b"a/checkpoint-1", False),
    ],
)
def test_a_folder_overlaps_what_is_itself_inside_or_above(save: bytes, *, expected: bool) -> None:
    """By whole elements of the path, not by characters."""
    entries = [entry(1, 1, "exec/a/checkpoint-1"), entry(1, 2, "other/x")]
    assert overlaps(save, entries) is expected
    assert Named(entries).overlaps(save) is expected


def test_text_and_bytes_are_the_same_path() -> None:
    """Bytes that are not UTF-8 are spelled with lone surrogates in text."""
    assert overlaps("exec/\udcff", [Entry(1, 1, b"exec/\xff/a")])
    assert not overlaps("exec/a", [])


@pytest.mark.parametrize("save", [b"exec", b"pub", b"runs", b"runs/1", b"runs/1/2"])
def test_the_root_s_own_folders_are_protected(save: bytes) -> None:
    """No entry can have them removed, whatever it names."""
    assert is_protected(save)


@pytest.mark.parametrize("save", [b"exec/a", b"execs", b"runs.old", b"pub.old/x", b"a/runs"])
def test_other_folders_are_not_protected(save: bytes) -> None:
    """Names that look like them are somebody's saves."""
    assert not is_protected(save)


def test_a_parent_is_the_folder_that_holds_a_path() -> None:
    """Empty for what is directly in the root."""
    assert parent(b"exec/a/checkpoint-1") == b"exec/a"
    assert parent(b"exec") == b""
