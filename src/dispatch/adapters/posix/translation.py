"""From the kernel's errno to what a caller can do: one table, which the tests are made from."""

from __future__ import annotations

import errno
import os

from dispatch.errors import DispatchError, RefusedError, UnavailableError, UnknownOutcomeError

NOT_SYNCABLE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
"""What file systems answer that can't sync a folder."""

NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems answer that have no symbolic links: vfat, CIFS, some in user space."""

_PERMISSION = (
    RefusedError,
    "permission-denied",
    "Check the owner and the mode of the folder, and the user that this runs as.",
)
_FULL = (
    UnavailableError,
    "no-space",
    "Free space, inodes or quota there; what was published stays published.",
)
TABLE: dict[int, tuple[type[DispatchError], str, str]] = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: (RefusedError, "read-only", "It is mounted read-only here."),
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EMFILE: (UnavailableError, "store-unavailable", "Raise the limit of open files."),
    errno.ESTALE: (
        UnavailableError,
        "store-unavailable",
        "The file server no longer knows the folder; try again.",
    ),
}
"""errno -> (class, kind, hint); any other errno is a store that is unavailable."""


def translate(error: OSError, what: str) -> DispatchError:
    """The error to raise for ``error``, which came of ``what`` ("listing pub/", say)."""
    code = error.errno or 0
    default = (UnavailableError, "store-unavailable", "")
    kind_of_error, kind, hint = TABLE.get(code, default)
    return kind_of_error(f"{what}: {describe(code)}", kind=kind, hint=hint)


def unlinked(error: OSError, what: str) -> DispatchError:
    """The error to raise for ``error``, which came of ``what``: making a symbolic link."""
    code = error.errno or 0
    if code not in NO_LINKS:
        return translate(error, what)
    hint = "This file system makes no symbolic links here; keep checkpoints on another."
    return RefusedError(f"{what}: {describe(code)}", kind="no-links", hint=hint)


def unsynced(error: OSError, what: str) -> UnknownOutcomeError:
    """The error to raise when a sync failed: whatever was done may not survive a power loss."""
    code = error.errno or 0
    hint = "The device reported a fault; publish again when it is well."
    if code in NOT_SYNCABLE:
        hint = "This file system can't make names durable; keep checkpoints on another."
    message = f"the publication may not be durable: syncing {what}: {describe(code)}"
    return UnknownOutcomeError(message, kind="durability-unknown", hint=hint)


def describe(code: int) -> str:
    """``ENOSPC (no space left on device)``."""
    return f"{errno.errorcode.get(code, code)} ({os.strerror(code).lower()})"
