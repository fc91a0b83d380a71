"""What can become of a save: values without behaviour."""

from dispatch.model.removal import Aside, Gone, Left


def test_outcomes_are_values() -> None:
    """Equal when they say the same, and immutable, so that they can be kept."""
    assert Aside(b"a", b".pruned-1.a") == Aside(b"a", b".pruned-1.a")
    assert Left("it is a link", failed=False) != Left("it is a link", failed=True)
    assert len({Gone(), Gone()}) == 1
