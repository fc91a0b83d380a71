"""The errors of dispatch: one tree, ordered by what a caller can do about each.

The class says what to do, `kind` says what happened, the message is for people. A message starts
in lower case, shows the offending value and the limit, and has no full stop; `hint` is one
sentence with the cure. Kinds are append-only: a kind once released keeps its meaning for ever.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from dispatch.checkpoint.entry import Entry

KINDS: Final = (
    "invalid-input",
    "malformed-entry",
    "root-missing",
    "root-not-a-directory",
    "root-replaced",
    "save-missing",
    "entry-missing",
    "already-published",
    "listing-torn",
    "permission-denied",
    "read-only",
    "no-space",
    "store-unavailable",
    "store-silent",
    "durability-unknown",
    "not-built",
    "credentials-missing",
    "credentials-malformed",
    "credentials-refused",
    "credentials-unreachable",
    "credentials-expired",
    "wrong-region",
    "clock-skew",
    "outcome-unknown",
    "listing-incomplete",
    "no-links",
    "malformed-claim",
    "condition-refused",
    "overtaken",
    "epoch-taken",
    "claim-missing",
    "save-unfit",
    "none-chosen",
    "attempt-used",
)
"""Every kind, in the order they were introduced (docs/reference/errors.md lists the same)."""


class DispatchError(Exception):
    """The root of the tree; never raised itself.

    Attributes:
        kind: One of `KINDS`.
        hint: One sentence with the cure, or an empty string.
    """

    kind: str = "invalid-input"

    def __init__(self, message: str, *, kind: str = "", hint: str = "") -> None:
        super().__init__(message)
        if kind:
            self.kind = kind
        self.hint = hint


class InvalidInputError(DispatchError, ValueError):
    """The call itself is wrong. Nothing was read or written; change the call."""

    kind = "invalid-input"


class MalformedError(DispatchError):
    """Stored data does not parse. It is never skipped, since it could be the latest publication."""

    kind = "malformed-entry"


class NotFoundError(DispatchError, LookupError):
    """Something that must exist does not: a root, a save or an entry. Nothing was created."""

    kind = "root-missing"


class AlreadyPublishedError(DispatchError):
    """The entry was there before this call, untouched and durable. Usually nothing to do.

    Attributes:
        entry: The publication that exists.
    """

    kind = "already-published"

    def __init__(self, message: str, *, entry: Entry) -> None:
        super().__init__(message)
        self.entry = entry


class UnavailableError(DispatchError):
    """The store did not do what was asked; this call changed nothing visible. Try later."""

    kind = "store-unavailable"


class UnknownOutcomeError(DispatchError):
    """It may have happened, or may not survive a power loss. Calling again is safe."""

    kind = "durability-unknown"


class RefusedError(DispatchError):
    """Permission or capability forbids it. Trying again changes nothing."""

    kind = "permission-denied"


class OvertakenError(DispatchError):
    """A newer execution, or another attempt, has what this one wanted: it should end."""

    kind = "overtaken"


class CredentialsError(DispatchError):
    """No keys for the store, or not valid ones. No secret is part of it.

    `credentials-unreachable` can pass by itself. The others need somebody.
    """

    kind = "credentials-missing"
