"""Keys for a store, wherever they come from, for as long as a job runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Credentials:
    """One set of keys.

    Attributes:
        access_key_id: The public half; it may be shown.
        secret_access_key: Never shown: not in a `repr`, a message, a log or a process title.
        session_token: For temporary keys; never shown.
        expires_at: When they end, in seconds since 1970 (UTC); None when they don't, or when
            that isn't known.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """A source that isn't there, which is no fault: the next one is asked.

    Attributes:
        why: For the list of what was tried; no secret is in it.
    """

    why: str


class CredentialSource(Protocol):
    """One place that keys can come from."""

    @property
    def name(self) -> str:
        """How a person spelled it, without any secret."""
        ...

    def load(self) -> Credentials | Absent:
        """The keys that the place holds now, read afresh.

        Returns:
            Absent when the source isn't there (the variable is unset, the file isn't there, no
            metadata service within 1 s).

        Raises:
            CredentialsError: It is there but broken: malformed, refused, unreachable. It is
                named, and never skipped. No secret is in the error, in what it was raised from,
                or in a variable of a frame that it passed.
        """
        ...

    def has_changed(self) -> bool:
        """Whether what `load` read last has changed since (a file that was rotated), cheaply."""
        ...


class Keys(Protocol):
    """The keys to sign the next request with.

    Whichever source gave the first keys is asked for all later ones: a job doesn't change
    who it is under way.
    """

    def current(self) -> Credentials:
        """Valid keys, renewed before their end. Cheap enough to ask at every request.

        A renewal that fails is tried again while the keys in hand are good; then it is raised.

        Raises:
            CredentialsError: No source has any (what was tried is listed), one is broken, or
                the keys have ended and the source gives no others.
        """
        ...

    def source(self) -> str:
        """The name of the source that gave the current keys, asking for them if need be.

        Raises:
            CredentialsError: As `current`.
        """
        ...

    def renew(self) -> Credentials:
        """Other keys, since the store said that the current ones have expired.

        Raises:
            CredentialsError: The source gives the same expired keys again, or none.
        """
        ...
