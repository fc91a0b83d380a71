"""What measurements of a root mean, at and beside each limit."""

from __future__ import annotations

import pytest

from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.probe import Check, State, Topic, judgement, span, timing, unopened
from dispatch.errors import NotFoundError
from dispatch.model.access import Access

OK, WARN = State.OK, State.WARN
NOW = 1_764_453_600.0  # 2025-11-29T22:00:00Z


def test_a_root_that_can_not_be_opened_fails_and_nothing_else_is_known() -> None:
    checks = unopened(NotFoundError("there is no such root", hint="Mount it."))
    first, *others = checks
    assert (first.topic, first.state, first.found) == (
        Topic.REACHABLE, State.FAIL, "there is no such root",
    )  # fmt: skip
    assert (first.advice, first.kind) == ("Mount it.", "root-missing")
    assert {check.state for check in others} == {WARN}
    assert not any(check.was_made or check.holds for check in others)


def test_a_check_that_warns_holds() -> None:
    """Others can be made that need it."""
    assert Check(Topic.LISTABLE, WARN, "").holds
    assert not Check(Topic.LISTABLE, State.FAIL, "").holds


@pytest.mark.parametrize(
    ("left", "state", "shown"),
    [(900, OK, "15 min"), (899, WARN, "15 min"), (7200, OK, "2 h"), (-5, WARN, "-5")],
)
def test_keys_that_end_soon_are_warned_of(left: float, state: State, shown: str) -> None:
    check = timing.credentials(Access("u", "file:/k", NOW + left), NOW)
    assert check.state is state
    assert check.found.startswith("from file:/k; they end at 2025-11-")
    assert f"in {shown}" in check.found
    assert bool(check.advice) is (state is WARN)


def test_the_proxy_is_named() -> None:
    assert judgement.proxy(Access("u", "env", proxy="http://p:1")).found == "http://p:1"


@pytest.mark.parametrize(("count", "noun"), [(1, "1 publication,"), (2, "2 publications,")])
def test_publications_are_counted(count: int, noun: str) -> None:
    check = judgement.listable(count, Entry(1, 20, b"exec/a"), 0.1)
    assert check.found == f"{noun} the latest of step 20"


@pytest.mark.parametrize(
    ("before", "after", "written", "bounds"),
    [
        (100.25, 100.5, 100.375, (-0.125, 0.135)),  # kept in nanoseconds
        (100.25, 100.5, 100.0, (-0.5, 1.75)),  # cut off to seconds, perhaps every second one
        (100.25, 100.5, 170.5, (70.0, 70.26)),
        (100.25, 100.5, 30.5, (-70.0, -69.74)),
    ],
)
def test_the_skew_lies_within_bounds(
    before: float, after: float, written: float, bounds: tuple[float, float]
) -> None:
    assert timing.skew_bounds(before, after, written) == pytest.approx(bounds)


@pytest.mark.parametrize("skew", [-3.0, -0.6, 0.0, 0.3, 2.5])
@pytest.mark.parametrize("kept", [0.0, 1.0, 2.0])
def test_the_true_skew_is_always_within_the_bounds(skew: float, kept: float) -> None:
    """Whatever moment of the second it was, and however little of it the store keeps."""
    for tick in range(200):
        made = 100 + tick / 100
        stamp = made + skew
        written = stamp - stamp % kept if kept else stamp
        least, most = timing.skew_bounds(made - 0.001, made + 0.002, written)
        assert least <= skew <= most


@pytest.mark.parametrize(
    ("bounds", "state", "found"),
    [
        ((-0.5, 1.75), OK, "within 1.8 s of the store's"),
        ((-3.0, 1.0), OK, "within 3.0 s of the store's"),
        ((59.9, 61.0), OK, "59.9 s or more behind the store's"),
        ((60.0, 61.0), WARN, "60.0 s or more behind the store's"),
        ((-61.0, -60.0), WARN, "60.0 s or more ahead of the store's"),
    ],
)
def test_a_skew_of_a_minute_is_warned_of(
    bounds: tuple[float, float], state: State, found: str
) -> None:
    for is_bucket in (True, False):
        check = timing.clock(bounds, is_bucket=is_bucket)
        assert check.state is state
        assert check.found.endswith(found)
        assert ("S3 refuses" in check.advice) is (is_bucket and state is WARN)


def test_a_slow_store_is_warned_of_by_its_usual_call() -> None:
    """One slow answer among quick ones is shown, and no reason to worry; nor are slow claims."""
    quick = timing.latency({"list": [0.1, 0.2, 30.0]})
    assert (quick.state, quick.found) == (OK, "list 200.0 ms (longest 30.0 s)")
    assert timing.latency({"look": [0.1], "claim": [5.0]}).state is OK
    slow = timing.latency({"list": [0.1], "create": [1.0, 1.0, 0.1]})
    assert slow.state is WARN


def test_names_that_are_seen_late_elsewhere_are_warned_of() -> None:
    quick = timing.visibility([0.01, 4.99, 0.02])
    assert (quick.state, quick.advice) == (OK, "")
    assert "within 20.0 ms, at most 5.0 s, in 3 rounds" in quick.found
    slow = timing.visibility([0.01, 5.0, 0.02])
    assert slow.state is WARN
    for word in ("older save", "acdirmax", "actimeo", "lookupcache", "Lustre"):
        assert word in slow.advice


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0000234, "0.023 ms"), (0.0012, "1.2 ms"), (0.9, "900.0 ms"), (1, "1.0 s"),
        (14.26, "14.3 s"), (119, "119.0 s"), (120, "2 min"), (3300, "55 min"), (7200, "2 h"),
        (172_800, "2 days"), (864_000, "10 days"),
    ],
)  # fmt: skip
def test_a_span_is_shown_as_people_say_it(seconds: float, shown: str) -> None:
    assert span(seconds) == shown
