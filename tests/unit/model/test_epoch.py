"""Epochs: three parts, one integer, one order."""

import itertools

import pytest

from dispatch.errors import InvalidInputError
from dispatch.model.epoch import Epoch
from tests.data.vectors import EPOCHS, INVALID_EPOCHS, EpochParts


@pytest.mark.parametrize("vector", EPOCHS)
def test_an_epoch_is_one_integer_and_back(vector: EpochParts) -> None:
    """The vectors of the format hold in both directions."""
    epoch = Epoch(vector.generation, vector.submission, vector.restart)
    assert int(epoch) == vector.integer
    assert Epoch.parse(vector.integer) == epoch


@pytest.mark.parametrize("vector", INVALID_EPOCHS, ids=lambda vector: vector.why)
def test_a_part_outside_its_bounds_is_refused(vector: EpochParts) -> None:
    """No part may spill over into the next."""
    with pytest.raises(InvalidInputError, match="is outside"):
        Epoch(vector.generation, vector.submission, vector.restart)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((-1, 1, 0), "generation -1 is outside 0 to 18446743"),
        ((18_446_744, 1, 0), "generation 18446744 is outside 0 to 18446743"),
        ((0, 0, 0), "submission 0 is outside 1 to 999999"),
        ((0, 1_000_000, 0), "submission 1000000 is outside 1 to 999999"),
        ((0, 1, -1), "restart -1 is outside 0 to 999999"),
        ((0, 1, 1_000_000), "restart 1000000 is outside 0 to 999999"),
    ],
)
def test_the_message_names_the_part_its_value_and_its_bounds(
    parts: tuple[int, int, int], message: str
) -> None:
    """A person sees at once which number is wrong."""
    with pytest.raises(InvalidInputError) as caught:
        Epoch(*parts)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "integer", [-1, 0, 999_999, 10**12, 18_446_744 * 10**12, 18_446_744_000_001_000_000, 2**64 - 1]
)
def test_integers_that_no_epoch_has_are_refused(integer: int) -> None:
    """Submission 0 does not exist, and beyond the last generation not every epoch would fit."""
    with pytest.raises(InvalidInputError):
        Epoch.parse(integer)


def test_every_later_execution_is_greater() -> None:
    """A restart, a new submission and a new generation each outrank all that came before."""
    rising = [
        Epoch(0, 1, 0),
        Epoch(0, 1, 1),
        Epoch(0, 1, 999_999),
        Epoch(0, 2, 0),
        Epoch(0, 999_999, 999_999),
        Epoch(1, 1, 0),
        Epoch(18_446_743, 999_999, 999_999),
    ]
    for lower, higher in itertools.pairwise(rising):
        assert lower < higher
        assert int(lower) < int(higher)
    assert int(rising[-1]) <= 2**64 - 1


def test_an_epoch_reads_well() -> None:
    """The log shows it as its three parts."""
    assert str(Epoch(0, 1, 0)) == "g0 n1 r0"
    assert str(Epoch(18_446_743, 999_999, 7)) == "g18446743 n999999 r7"
