"""`dispatch.checkpoint` has its public names, loads each when it is used, and no other."""

import importlib

import pytest

from dispatch import checkpoint

PUBLIC = [
    "Choice",
    "Entry",
    "FRAMEWORKS",
    "Framework",
    "Log",
    "Look",
    "PruneResult",
    "SkippedFolder",
    "Verdict",
    "Watcher",
    "latest",
    "open_store",
    "overlaps",
    "parse_entry_name",
    "parse_epoch",
    "parse_framework",
    "parse_step",
    "valid_save",
]


def test_the_public_names_are_these() -> None:
    """A name once public stays."""
    assert checkpoint.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_is_the_one_of_its_home(name: str) -> None:
    """The same object, however it is reached."""
    home = importlib.import_module(f"dispatch.checkpoint.{checkpoint._HOMES[name]}")
    assert getattr(checkpoint, name) is getattr(home, name)


def test_other_names_are_missing_as_in_any_module() -> None:
    """With the message that Python itself gives."""
    with pytest.raises(
        AttributeError, match=r"^module .dispatch\.checkpoint. has no attribute .x.$"
    ):
        _ = getattr(checkpoint, "x")  # noqa: B009 - mypy knows that there is none
