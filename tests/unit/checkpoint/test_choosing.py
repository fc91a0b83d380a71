"""Which publication to resume from: by bounds, by a look at its save, and never by nothing."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.checkpoint import Choice, Entry, Framework, Log
from dispatch.checkpoint.choosing import Bounds, candidates, examine
from dispatch.errors import InvalidInputError, NotFoundError
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import parent_of
from tests.unit.stores import InlinePatience, trainer_state

SAVES = [(1, 500), (1, 1000), (1, 1500), (2, 1100), (2, 1200)]
LATEST = (2, 1200)


class Site:
    """A root in memory whose saves are published and whole."""

    def __init__(self, *saves: tuple[int, int]) -> None:
        self.store = MemoryStore()
        self.log = Log(self.store, InlinePatience())
        self.told: list[tuple[tuple[int, int], str]] = []
        for epoch, step in saves or SAVES:
            self.publish(epoch, step)

    def publish(self, epoch: int, step: int) -> None:
        """Make a whole save, and publish it."""
        path = f"exec/{epoch}/checkpoint-{step}"
        state = trainer_state(step)
        for name, content in (("model.safetensors", b"w"), ("trainer_state.json", state)):
            folder, last = parent_of(self.store.folder, f"{path}/{name}".encode())
            folder.inner[last] = content
        self.log.publish(epoch, step, path)

    def remove(self, epoch: int, step: int, name: str = "") -> None:
        """Take a save away, or a file of it."""
        path = f"exec/{epoch}/checkpoint-{step}/{name}".rstrip("/").encode()
        folder, last = parent_of(self.store.folder, path)
        del folder.inner[last]

    def choose(self, framework: Framework | None = Framework.hf, **options: Any) -> Choice:  # noqa: ANN401 - bounds
        """Choose, and note what was passed over."""
        return self.log.choose(
            framework,
            passed_over=lambda entry, why: self.told.append(((entry.epoch, entry.step), why)),
            **options,
        )

    def chosen(self, framework: Framework | None = None, **options: Any) -> tuple[int, int]:  # noqa: ANN401 - bounds
        """Choose; epoch and step."""
        entry = self.choose(framework, **options).entry
        assert entry is not None
        return entry.epoch, entry.step


@pytest.mark.parametrize(
    ("epoch_below", "step_at_most", "expected"),
    [
        (None, None, (2, 1200)),
        (3, None, (2, 1200)),
        (2, None, (1, 1500)),
        (None, 1200, (2, 1200)),
        (None, 1199, (2, 1100)),
        (None, 1099, (1, 1000)),  # the epoch comes first, and then the step
        (2, 1499, (1, 1000)),
        (2, 500, (1, 500)),
    ],
)
def test_the_greatest_within_the_bounds_is_chosen(
    epoch_below: int | None, step_at_most: int | None, expected: tuple[int, int]
) -> None:
    bounds = {"epoch_below": epoch_below, "step_at_most": step_at_most}
    assert Site().chosen(None, **bounds) == expected
    assert Site().chosen(Framework.hf, **bounds) == expected


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"epoch_below": 1}, "none of 5 publications is of an epoch below 1"),
        ({"step_at_most": 499}, "none of 5 publications is of a step of at most 499"),
        (
            {"epoch_below": 2, "step_at_most": 0},
            "none of 5 publications is of an epoch below 2 and a step of at most 0",
        ),
    ],
)
@pytest.mark.parametrize("framework", [None, Framework.hf])
def test_bounds_that_admit_none_are_an_error_and_not_from_scratch(
    bounds: dict[str, int], message: str, framework: Framework | None
) -> None:
    with pytest.raises(NotFoundError) as caught:
        Site().choose(framework, **bounds)
    assert (str(caught.value), caught.value.kind) == (message, "none-chosen")


@pytest.mark.parametrize("fallback", [False, True])
def test_of_an_empty_root_nothing_is_chosen(fallback: bool) -> None:
    """There is nothing to lose: training begins."""
    log = Log(MemoryStore(), InlinePatience())
    assert log.choose(Framework.hf, fallback=fallback, step_at_most=5) == Choice(None)
    assert log.choose() == Choice(None)


Spoil = Callable[[Site], object]
SPOILS: dict[str, Spoil] = {
    "is not there": lambda site: site.remove(*LATEST),
    "holds no weights": lambda site: site.remove(*LATEST, "model.safetensors"),
    "has no trainer_state.json": lambda site: site.remove(*LATEST, "trainer_state.json"),
}


@pytest.mark.parametrize("reason", SPOILS)
def test_a_save_that_is_gone_or_incomplete_is_an_error_that_names_it(reason: str) -> None:
    site = Site()
    SPOILS[reason](site)
    with pytest.raises(NotFoundError) as caught:
        site.choose()
    save = "/memory/root/exec/2/checkpoint-1200"
    assert str(caught.value) == f"'{save}': the save {reason}"
    assert caught.value.kind == "save-unfit"
    assert "-fallback" in caught.value.hint
    assert site.told == []  # nothing was passed over: the error says it
    assert site.chosen() == LATEST  # who asks for no look gets none


@pytest.mark.parametrize("reason", SPOILS)
def test_falling_back_goes_to_the_next_older_and_says_what_it_passed_over(reason: str) -> None:
    site = Site()
    SPOILS[reason](site)
    site.remove(2, 1100)
    choice = site.choose(fallback=True)
    assert choice.entry == Entry(1, 1500, "exec/1/checkpoint-1500")
    assert site.told == [(LATEST, reason), ((2, 1100), "is not there")]
    assert [(entry.step, why) for entry, why in choice.passed_over] == [
        (1200, reason),
        (1100, "is not there"),
    ]


def test_falling_back_keeps_to_the_bounds() -> None:
    site = Site()
    site.remove(1, 1000)
    assert site.chosen(Framework.hf, fallback=True, epoch_below=2, step_at_most=1499) == (1, 500)
    assert site.told == [((1, 1000), "is not there")]


def test_when_none_is_left_it_is_an_error_after_all_were_named() -> None:
    site = Site()
    for epoch, step in SAVES:
        site.remove(epoch, step)
    with pytest.raises(NotFoundError) as caught:
        site.choose(fallback=True, epoch_below=2)
    message = "none of 3 publications of an epoch below 2 can be resumed from"
    assert (str(caught.value), caught.value.kind) == (message, "none-chosen")
    assert [which for which, _ in site.told] == [(1, 1500), (1, 1000), (1, 500)]


def test_to_fall_back_takes_a_framework() -> None:
    with pytest.raises(InvalidInputError, match="takes a framework"):
        Site().choose(None, fallback=True)


def test_no_more_saves_are_looked_at_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    looked: list[bytes] = []
    has_save = site.store.has_save

    def look(save: bytes) -> bool:
        looked.append(save)
        return has_save(save)

    monkeypatch.setattr(site.store, "has_save", look)
    site.choose(fallback=True)
    assert looked == [b"exec/2/checkpoint-1200"]


def test_a_root_that_is_gone_is_no_missing_save() -> None:
    site = Site()
    entries = site.log.entries()
    site.store.destroy(replaced=True)
    with pytest.raises(Exception, match="no longer the folder it was"):
        next(examine(site.store, Framework.hf, entries))


@pytest.mark.parametrize("fallback", [False, True])
def test_what_was_pruned_under_our_eyes_gives_way_to_the_newer_one(
    fallback: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer save is published and the listed ones are pruned, before they are looked at."""
    site = Site()

    def overtake() -> None:
        monkeypatch.undo()
        site.publish(3, 2000)
        site.log.prune(1)

    def has_save(save: bytes) -> bool:
        overtake()
        return site.store.has_save(save)

    monkeypatch.setattr(site.store, "has_save", has_save)
    choice = site.choose(fallback=fallback)
    assert choice == Choice(Entry(3, 2000, "exec/3/checkpoint-2000"))


def test_changes_without_end_end_with_an_answer_nevertheless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five more listings at most: what was found then is as good as any."""
    site = Site()
    site.remove(*LATEST)
    steps = iter(range(100))
    has_save = site.store.has_save

    def publish_more(save: bytes) -> bool:
        with monkeypatch.context() as undone:
            undone.setattr(site.store, "has_save", has_save)
            site.publish(1, next(steps))
        return has_save(save)

    monkeypatch.setattr(site.store, "has_save", publish_more)
    choice = site.choose(fallback=True)
    assert choice.entry == Entry(2, 1100, "exec/2/checkpoint-1100")
    assert next(steps) == 6 * 2


ENTRIES = st.lists(
    st.builds(Entry, st.integers(0, 4), st.integers(0, 4), st.sampled_from(["a", "b", "c/d"]))
)
BOUND = st.none() | st.integers(0, 5)


@given(ENTRIES, BOUND, BOUND)
def test_candidates_are_those_within_the_bounds_in_the_order_of_the_log(
    entries: list[Entry], epoch_below: int | None, step_at_most: int | None
) -> None:
    """The first is what resolve would answer, were the others not there."""
    chosen = candidates(entries, Bounds(epoch_below, step_at_most))
    assert all(before >= after for before, after in pairwise(chosen))
    within = [
        entry
        for entry in entries
        if (epoch_below is None or entry.epoch < epoch_below)
        and (step_at_most is None or entry.step <= step_at_most)
    ]
    assert sorted(chosen) == sorted(within)
