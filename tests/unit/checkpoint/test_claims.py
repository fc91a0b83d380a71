"""The names in `runs/`, and when they hold a prune back."""

import pytest

from dispatch.checkpoint.claims import Claims, claim_name, read_claims, resume_name, why_held
from dispatch.checkpoint.entry import Entry
from dispatch.errors import MalformedError
from dispatch.testing.memory import MemoryStore

MAX = 2**64 - 1


def test_names_have_twenty_digits() -> None:
    """So that they sort as their epochs do."""
    assert claim_name(1_000_000) == "00000000000001000000"
    assert resume_name(MAX) == "18446744073709551615.resume"


def test_claims_and_resume_points_are_told_apart() -> None:
    """And from everything else."""
    store = MemoryStore()
    for epoch in (3, MAX, 0):
        store.claim("runs", claim_name(epoch), "a")
    store.claim("runs", resume_name(3), "-")
    store.create("runs", "stray")
    claims = read_claims(store)
    assert claims.epochs == (0, 3, MAX)
    assert claims.greatest == MAX
    assert set(claims.names) == {*map(claim_name, (0, 3, MAX)), resume_name(3)}
    assert claims.others == ("stray",)


def test_a_root_without_claims_has_none() -> None:
    """Also one without `runs/`."""
    claims = read_claims(MemoryStore())
    assert (claims.epochs, claims.names, claims.others) == ((), (), ())
    assert read_claims(MemoryStore()).greatest is None


@pytest.mark.parametrize(
    "name",
    [
        "1",
        "0000000000000000001",
        "000000000000000000001",
        "18446744073709551616",
        "+0000000000000000001",
        "0000000000000000001 ",
        "00000000000000000001.resume.resume",
        "00000000000000000001.tmp",
        ".resume",
        "\u0660" * 20,
        ".nfs000000000001",
    ],
)
def test_a_name_that_is_no_claim_fails_a_start_and_nothing_else(name: str) -> None:
    """It is named."""
    store = MemoryStore()
    store.create("runs", name)
    claims = read_claims(store)
    assert claims.epochs == ()
    with pytest.raises(MalformedError) as caught:
        claims.require_no_others()
    assert name in str(caught.value)
    assert ("NFS" in caught.value.hint) == name.startswith(".nfs")
    assert why_held(claims, 1, None) is None


@pytest.mark.parametrize(
    ("claimed", "own", "latest", "held"),
    [
        ((), None, None, False),
        ((), 5, 9, False),
        ((5,), None, None, False),
        ((5,), None, 5, False),
        ((5,), None, 6, False),
        ((5,), None, 4, True),
        ((4, 5), 5, 5, False),
        ((4, 5), 4, 5, True),
        ((4, 5), 4, 9, True),
        ((4, 5), 6, 9, False),
        ((4, 5), 6, 4, True),
        ((0,), None, 0, False),
    ],
)
def test_what_holds_a_prune_back(
    claimed: tuple[int, ...], own: int | None, latest: int | None, *, held: bool
) -> None:
    """A claim above one's own epoch, or above the latest publication's."""
    claims = Claims(claimed, tuple(map(claim_name, claimed)), ())
    entry = None if latest is None else Entry(latest, 1, "exec/a/step-1")
    why = why_held(claims, own, entry)
    assert bool(why) == held
    if held and own == claims.greatest:
        assert why == "this execution has published nothing yet"


@pytest.mark.parametrize(
    ("claimed", "lowest", "going"),
    [((1, 2, 5), 3, (1, 2)), ((1, 2), 3, (1,)), ((1,), 3, ()), ((), 3, ()), ((3, 4), 3, ())],
)
def test_claims_below_the_lowest_kept_epoch_go_but_the_greatest(
    claimed: tuple[int, ...], lowest: int, going: tuple[int, ...]
) -> None:
    """With their resume points."""
    names = [name(epoch) for epoch in claimed for name in (claim_name, resume_name)]
    expected = [name(epoch) for epoch in going for name in (claim_name, resume_name)]
    assert Claims(claimed, tuple(names), ()).below(lowest) == expected
