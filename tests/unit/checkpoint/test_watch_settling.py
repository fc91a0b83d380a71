"""A watcher publishes what others may write to once it has settled, and says what it left."""

from collections.abc import Callable
from typing import Any

import pytest

from dispatch.checkpoint import Entry, Framework, Log, Watcher
from dispatch.checkpoint.passing import TOLD_AFTER_S
from dispatch.checkpoint.settling import SETTLE_S
from dispatch.errors import InvalidInputError, UnavailableError
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import parent_of
from tests.unit.stores import InlinePatience, trainer_state

EPOCH = 1_000_000
SLACK_S = 0.01


class Stop:
    """A `dispatch.ports.waiting.Stop` that comes after some pauses, in which things happen."""

    def __init__(self, patience: InlinePatience, *pauses: Callable[[], object]) -> None:
        self.patience = patience
        self.pauses = list(pauses)
        self.waited: list[float] = []

    def is_set(self) -> bool:
        return not self.pauses

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        self.patience.now += timeout
        self.pauses.pop(0)()
        return not self.pauses


def nothing() -> None:
    """Nothing happens."""


class Site:
    """One execution's folder in memory, and its watcher."""

    def __init__(self, framework: Framework = Framework.hf, **options: Any) -> None:  # noqa: ANN401 - the watcher's own
        self.store = MemoryStore()
        self.patience = InlinePatience()
        self.told: list[tuple[str, str]] = []
        self.published: list[tuple[int, float]] = []
        self.watcher = Watcher(
            Log(self.store, self.patience),
            framework,
            "exec/a",
            EPOCH,
            published=lambda entry: self.published.append(
                (entry.step, round(self.patience.now - 1000, 6))
            ),
            passed_over=lambda save, reason: self.told.append((save.decode(), reason)),
            **options,
        )

    def add(self, step: int, *names: str, content: bytes = b"content") -> None:
        """Make files in a save."""
        for name in names:
            path = b"exec/a/checkpoint-%d/%s" % (step, name.encode())
            folder, last = parent_of(self.store.folder, path)
            is_state = name == "trainer_state.json"
            folder.inner[last] = trainer_state(step) if is_state else content

    def save(self, step: int, ranks: int = 1) -> None:
        """Make a whole save."""
        ranked = [f"rng_state_{rank}.pth" for rank in range(ranks)]
        names = ranked if ranks > 1 else ["rng_state.pth"]
        self.add(step, "model.safetensors", "optimizer.pt", *names, "trainer_state.json")


def test_whether_a_scan_has_seen_a_save_is_remembered() -> None:
    """Also one that is not complete, and that has gone since."""
    site = Site()
    site.watcher.scan()
    assert not site.watcher.has_seen_any
    site.add(1, "model.safetensors")
    site.watcher.scan()
    site.store.folder.inner.clear()
    site.watcher.scan()
    assert site.watcher.has_seen_any


def test_a_save_of_one_process_is_published_at_the_first_look() -> None:
    """Its marker came last, by who wrote all of it."""
    site = Site()
    site.save(1)
    assert [entry.step for entry in site.watcher.scan()] == [1]
    assert site.patience.slept == []


def test_a_save_of_several_is_published_once_it_has_settled() -> None:
    """The scan that finds it settled comes as early as that, not after the interval."""
    site = Site()
    site.save(1, ranks=2)
    stop = Stop(site.patience, nothing, nothing)
    site.watcher.watch(stop)
    assert site.published == [(1, SETTLE_S + SLACK_S)]
    assert stop.waited == [pytest.approx(SETTLE_S + SLACK_S), 10]


def test_a_late_rank_s_file_begins_the_wait_anew() -> None:
    """Rank 2 can't be known of before it writes."""
    site = Site(settle=4, interval=3)
    site.save(1, ranks=2)
    site.watcher.watch(Stop(site.patience, lambda: site.add(1, "rng_state_2.pth"), *[nothing] * 3))
    assert site.published == [(1, 3 + 4 + SLACK_S)]


def test_a_rank_that_is_shown_to_be_missing_is_waited_for_however_long() -> None:
    """Settled or not: rank 1 has no file."""
    site = Site()
    site.add(1, "model.safetensors", "optimizer.pt", "rng_state_0.pth", "trainer_state.json")
    site.watcher.watch(Stop(site.patience, *[nothing] * 50))
    assert site.published == []
    assert site.told == [("exec/a/checkpoint-1", "has no random state of rank 1")]


def test_ranks_that_were_given_are_waited_for() -> None:
    site = Site(ranks=3, settle=0)
    site.save(1, ranks=2)
    assert site.watcher.scan() == []
    site.add(1, "rng_state_2.pth")
    assert [entry.step for entry in site.watcher.scan()] == [1]


def test_a_rewrite_under_an_old_marker_is_seen_while_it_moves() -> None:
    """The old state stands all the while, so only the files can show it."""
    site = Site(settle=5, interval=3)
    site.save(1)

    def rewrite(content: bytes) -> Callable[[], None]:
        return lambda: site.add(1, "model.safetensors", content=content)

    site.watcher.watch(Stop(site.patience, *map(rewrite, (b"1", b"2", b"3")), *[nothing] * 3))
    assert site.published == [(1, 9 + 5 + SLACK_S)]


@pytest.mark.parametrize("unchanged", [5.0, 1e9])
def test_an_old_save_is_published_at_the_first_look(unchanged: float) -> None:
    """After a restart of the watcher, where the store can tell the age."""
    site = Site()
    site.save(1, ranks=2)
    site.store.unchanged_s = unchanged
    assert [entry.step for entry in site.watcher.scan()] == [1]


def test_a_settle_that_was_given_is_for_all_saves_and_0_is_none() -> None:
    """Also for that of one process; and for none of several."""
    site = Site(settle=7)
    site.save(1)
    assert site.watcher.scan() == []
    assert site.watcher.pause_s == 7 + SLACK_S
    site = Site(settle=0)
    site.save(1, ranks=2)
    assert [entry.step for entry in site.watcher.scan()] == [1]
    assert site.watcher.pause_s == 10


def test_the_last_look_waits_once_for_what_was_complete_at_the_stop() -> None:
    """As long as the latest needs, and no longer."""
    site = Site()
    site.save(1, ranks=2)
    site.watcher.watch(Stop(site.patience))
    assert site.published == [(1, SETTLE_S + SLACK_S)]
    assert site.patience.slept == [pytest.approx(SETTLE_S + SLACK_S)]
    assert site.told == []


def test_the_last_look_waits_for_nothing_that_cannot_settle() -> None:
    site = Site()
    site.add(1, "model.safetensors")
    site.watcher.watch(Stop(site.patience))
    assert site.patience.slept == []
    assert site.told == [("exec/a/checkpoint-1", "has no trainer_state.json")]


def test_what_changes_during_the_last_wait_is_not_published_and_named() -> None:
    """A stop must not publish what nobody saw at rest; the others are."""
    site = Site()
    site.save(1, ranks=2)
    site.save(2, ranks=2)
    site.patience.while_asleep.append(lambda: site.add(1, "rng_state_2.pth"))
    site.watcher.watch(Stop(site.patience))
    assert [step for step, _ in site.published] == [2]
    assert site.told == [("exec/a/checkpoint-1", "has not looked the same for 5 s")]


def test_each_is_published_in_its_order_as_it_settles() -> None:
    """The latest is the best of what was published at each moment: it may be an older step."""
    site = Site(interval=2)
    site.save(1, ranks=2)
    stop = Stop(site.patience, lambda: site.save(2, ranks=2), lambda: site.save(3))
    assert [entry.step for entry in site.watcher.scan()] == []
    site.watcher.watch(stop)
    assert [step for step, _ in site.published] == [3, 1, 2]


def test_what_was_passed_over_is_told_once_after_ten_minutes() -> None:
    """A wrong framework, or a rank that died, is no longer silent for ever."""
    site = Site(interval=100)
    site.add(1, "model.safetensors")
    seen: list[int] = []
    pauses = [lambda: seen.append(len(site.told)) for _ in range(12)]
    site.watcher.watch(Stop(site.patience, *pauses))
    assert seen == [0] * int(TOLD_AFTER_S / 100) + [1] * (12 - int(TOLD_AFTER_S / 100))
    assert len(site.told) == 1


def test_a_reason_that_changes_shows_progress_and_is_not_told() -> None:
    """Until the end; then the last one is."""
    site = Site(interval=400)
    site.add(1, "config.json")
    seen: list[int] = []
    site.watcher.watch(
        Stop(
            site.patience,
            nothing,
            lambda: site.add(1, "trainer_state.json"),
            lambda: seen.append(len(site.told)),
        )
    )
    assert seen == [0]
    assert site.told == [("exec/a/checkpoint-1", "holds no weights")]


def test_what_is_published_or_gone_in_the_end_was_not_passed_over() -> None:
    site = Site()
    site.add(1, "model.safetensors")
    site.add(2, "model.safetensors")
    site.watcher.scan()
    site.add(1, "trainer_state.json")
    folder, last = parent_of(site.store.folder, b"exec/a/checkpoint-2")
    del folder.inner[last]
    site.watcher.last_look()
    assert site.told == []
    assert [step for step, _ in site.published] == [1]


def test_what_was_passed_over_is_told_although_an_error_ends_the_watch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From memory: the store may not answer any more."""
    site = Site()
    site.add(1, "model.safetensors")
    fault = UnavailableError("EIO")

    def fail() -> None:
        raise fault

    def break_down() -> None:
        monkeypatch.setattr(site.store, "check", fail)

    with pytest.raises(UnavailableError):
        site.watcher.watch(Stop(site.patience, break_down, nothing))
    assert [save for save, _ in site.told] == ["exec/a/checkpoint-1"]


def test_a_watch_for_another_framework_names_its_highest_save() -> None:
    """Once, at the end, and only when it saw no save of its own."""
    site = Site(Framework.dcp)
    for step in (9, 10):
        site.save(step)
    site.watcher.watch(Stop(site.patience, nothing))
    assert site.told == [("exec/a/checkpoint-10", "is named as hf names its saves, not dcp")]
    site = Site()
    site.save(1)
    folder, _ = parent_of(site.store.folder, b"exec/a/step-5/.metadata")
    folder.inner[b".metadata"] = b"m"
    site.watcher.watch(Stop(site.patience))
    assert site.told == []
    empty = Site()
    empty.watcher.watch(Stop(empty.patience))
    assert empty.told == []


def test_looking_again_publishes_what_the_first_scan_left() -> None:
    """Its answer holds both scans' publications."""
    site = Site()
    site.save(1)
    site.save(2, ranks=2)
    expected = [Entry(EPOCH, step, f"exec/a/checkpoint-{step}") for step in (1, 2)]
    assert site.watcher.last_look() == expected


@pytest.mark.parametrize(
    "options", [{"settle": -1}, {"settle": float("nan")}, {"ranks": 0}, {"ranks": -2}]
)
def test_settle_and_ranks_have_bounds(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=r"below 0 s|below 1"):
        Site(Framework.hf, **options)
