"""What can become of a save that is to be removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Aside:
    """A save that was taken out of sight: renamed, where the store can rename.

    Attributes:
        save: The path that it had, relative to the root; empty when nothing may put it back.
        place: The path that it has now; equal to `save` where the store can't rename.
    """

    save: bytes
    place: bytes


@dataclass(frozen=True, slots=True)
class Left:
    """A save that stays where it is.

    Attributes:
        reason: Why, for a person.
        failed: False when a rule left it (a link, another file system), True when the store
            refused or failed.
    """

    reason: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such save (any more): somebody else removed it, which is not an error."""
