"""How a store is reached, as a person may be told it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """What stands between this process and a store; no secret is in it.

    Attributes:
        medium: What the store is: a type of file system (``ext4``), or the endpoint's URL.
        source: Which source gave the keys, as a person spelled it; None where none are needed.
        expires_at: When the keys end, in seconds since 1970; None when they don't, or when that
            isn't known.
        proxy: Through which proxy; None for none.
    """

    medium: str
    source: str | None = None
    expires_at: float | None = None
    proxy: str | None = None
