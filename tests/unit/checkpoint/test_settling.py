"""A save has settled when it has looked the same for long enough, by one clock."""

import pytest

from dispatch.checkpoint.settling import Settling
from dispatch.model.contents import Contents

YOUNG, GROWN = Contents({b"a": 1}), Contents({b"a": 2})


def left(settling: Settling, contents: Contents, now: float, save: bytes = b"s") -> float:
    """Look, in no time at all."""
    return settling.left_s(save, contents, 5, began=now, ended=now)


def test_it_takes_two_looks_that_far_apart() -> None:
    settling = Settling()
    assert left(settling, YOUNG, 100) == 5
    assert left(settling, YOUNG, 103) == 2
    assert left(settling, YOUNG, 105) == 0


def test_a_change_begins_it_anew() -> None:
    settling = Settling()
    left(settling, YOUNG, 100)
    assert left(settling, GROWN, 104) == 5
    assert left(settling, GROWN, 108) == 1
    assert left(settling, YOUNG, 200) == 5  # also back to what was seen before


def test_each_save_has_its_own_time() -> None:
    settling = Settling()
    left(settling, YOUNG, 100)
    assert left(settling, YOUNG, 105, b"other") == 5
    assert left(settling, YOUNG, 105) == 0


def test_the_time_runs_from_the_end_of_one_look_to_the_beginning_of_another() -> None:
    """Within a look nobody knows when a file was looked at."""
    settling = Settling()
    assert settling.left_s(b"s", YOUNG, 5, began=100, ended=110) == 5
    assert settling.left_s(b"s", YOUNG, 5, began=112, ended=120) == 3
    assert settling.left_s(b"s", YOUNG, 5, began=115, ended=130) == 0


@pytest.mark.parametrize(("unchanged", "expected"), [(None, 5), (0.0, 5), (3.0, 2), (9.0, 0)])
def test_an_age_that_the_store_vouches_for_counts(unchanged: float | None, expected: float) -> None:
    """Then an old save needs one look."""
    assert left(Settling(), Contents({b"a": 1}, unchanged), 100) == expected


def test_an_age_alone_is_no_change() -> None:
    settling = Settling()
    left(settling, Contents({b"a": 1}, 1.0), 100)
    assert left(settling, Contents({b"a": 1}, 2.0), 104) == 1


def test_what_is_forgotten_is_new_again() -> None:
    settling = Settling()
    left(settling, YOUNG, 100)
    left(settling, YOUNG, 100, b"other")
    settling.forget_all_but({b"other"})
    assert left(settling, YOUNG, 105) == 5
    assert left(settling, YOUNG, 105, b"other") == 0
