"""Each save that was passed over is told of once."""

from dispatch.checkpoint.passing import TOLD_AFTER_S, PassedOver


def test_a_save_is_told_of_once_its_reason_has_stood_for_ten_minutes() -> None:
    told: list[tuple[bytes, str]] = []
    passed = PassedOver(lambda name, reason: told.append((name, reason)))
    passed.note(b"a", "early", 0)
    passed.note(b"a", "early", TOLD_AFTER_S - 1)
    passed.note(b"a", "late", TOLD_AFTER_S + 1)
    passed.note(b"a", "late", 2 * TOLD_AFTER_S)
    assert told == []
    passed.note(b"a", "late", 2 * TOLD_AFTER_S + 1)
    passed.note(b"a", "late", 9 * TOLD_AFTER_S)
    assert told == [(b"a", "late")]
    passed.note(b"a", "another", 10 * TOLD_AFTER_S)
    passed.tell_all()
    assert told == [(b"a", "late")]


def test_in_the_end_all_that_are_left_are_told_of() -> None:
    told: list[bytes] = []
    passed = PassedOver(lambda name, _: told.append(name))
    for name in (b"d", b"c", b"b", b"a"):
        passed.note(name, "why", 0)
    passed.forget(b"b")
    passed.forget(b"never seen")
    passed.forget_all_but({b"a", b"b", b"d"})
    passed.tell_all()
    passed.tell_all()
    assert told == [b"a", b"d"]
