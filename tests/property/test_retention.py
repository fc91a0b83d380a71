"""The laws of retention, and overlaps against their definition."""

from hypothesis import given
from hypothesis import strategies as st

from dispatch.checkpoint import Entry, overlaps
from dispatch.checkpoint.retention import Named, is_protected, kept

paths = st.lists(st.sampled_from([b"a", b"b", b"ab", b"exec"]), min_size=1, max_size=4).map(
    b"/".join
)
entries = st.lists(
    st.builds(Entry, st.integers(0, 3), st.integers(0, 8), paths), unique=True, max_size=25
).map(sorted)
keeps = st.integers(1, 30)
steps = st.none() | st.integers(1, 10)


@given(entries, keeps, steps)
def test_the_latest_stay_and_what_stays_was_there(
    all_entries: list[Entry], keep: int, keep_every: int | None
) -> None:
    """The greatest always, and as many as asked for."""
    stay = kept(all_entries, keep, keep_every)
    assert stay <= set(all_entries)
    assert set(all_entries[-keep:]) <= stay
    assert len(stay) >= min(keep, len(all_entries))
    if all_entries:
        assert max(all_entries) in stay


@given(entries, keeps)
def test_without_further_rules_exactly_the_latest_stay(all_entries: list[Entry], keep: int) -> None:
    """Everything that goes is less than everything that stays."""
    stay = kept(all_entries, keep)
    assert len(stay) == min(keep, len(all_entries))
    assert all(gone < entry for gone in set(all_entries) - stay for entry in stay)


@given(entries, keeps, st.integers(1, 10))
def test_each_step_that_the_number_divides_keeps_its_best_entry(
    all_entries: list[Entry], keep: int, keep_every: int
) -> None:
    """One for each such step, the greatest, and none besides the latest."""
    best = {
        max(entry for entry in all_entries if entry.step == step)
        for step in {entry.step for entry in all_entries}
        if step % keep_every == 0
    }
    assert kept(all_entries, keep, keep_every) == best | set(all_entries[-keep:])


@given(entries, keeps, keeps, steps)
def test_a_greater_number_keeps_no_less(
    all_entries: list[Entry], one: int, other: int, keep_every: int | None
) -> None:
    """And keep-every only adds."""
    low, high = sorted((one, other))
    assert kept(all_entries, low, keep_every) <= kept(all_entries, high, keep_every)
    assert kept(all_entries, low) <= kept(all_entries, low, keep_every)


@given(entries, keeps, steps)
def test_what_stays_stays_the_next_time(
    all_entries: list[Entry], keep: int, keep_every: int | None
) -> None:
    """A second prune has nothing to remove."""
    stay = kept(all_entries, keep, keep_every)
    assert kept(sorted(stay), keep, keep_every) == stay


@given(entries, keeps, steps, st.builds(Entry, st.integers(0, 3), st.integers(0, 8), paths))
def test_a_new_publication_never_brings_back_what_would_go(
    all_entries: list[Entry], keep: int, keep_every: int | None, new: Entry
) -> None:
    """So two prunes that see different listings don't disagree about what to keep."""
    before = kept(all_entries, keep, keep_every)
    after = kept(sorted({*all_entries, new}), keep, keep_every)
    assert after <= before | {new}


def naive_overlaps(save: bytes, other: bytes) -> bool:
    """Say whether one is the other, or inside it."""
    return (save + b"/").startswith(other + b"/") or (other + b"/").startswith(save + b"/")


@given(paths, entries)
def test_a_save_overlaps_what_is_the_same_inside_or_above(
    save: bytes, all_entries: list[Entry]
) -> None:
    """By the definition, one entry at a time."""
    expected = any(naive_overlaps(save, entry.path) for entry in all_entries)
    assert Named(all_entries).overlaps(save) == expected
    assert overlaps(save, all_entries) == expected


@given(paths, paths)
def test_overlapping_goes_both_ways(one: bytes, other: bytes) -> None:
    """Whichever of the two is published."""
    assert overlaps(one, [Entry(1, 1, other)]) == overlaps(other, [Entry(1, 1, one)])


@given(st.lists(st.sampled_from([b"exec", b"pub", b"runs", b"a"]), min_size=1, max_size=3))
def test_the_root_s_own_folders_are_protected(elements: list[bytes]) -> None:
    """They themselves, and all of runs/."""
    expected = elements[0] == b"runs" or (len(elements) == 1 and elements[0] != b"a")
    assert is_protected(b"/".join(elements)) == expected
