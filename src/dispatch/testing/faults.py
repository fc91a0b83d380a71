"""Rules for `dispatch.testing.calls.WatchedFilesystem`: faults at any call of any file system.

For example, a store whose disk fills up at its third call, with every call logged::

    filesystem = WatchedFilesystem(OsFilesystem(), fail(3, errno.ENOSPC))
    store = PosixStore(b"/scratch/root", filesystem)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dispatch.testing.calls import SkipCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.testing.calls import Call, Rule

NEVER_FAIL = frozenset({"close", "is_local", "mount", "type_name"})
"""Methods that have no errno to raise: the last three answer "unknown" by their port, and a handle
that is only read from or synced has nothing left to lose when it is closed.
"""


class PowerLost(BaseException):
    """The machine is off: raised by every call from then on, past every ``except Exception``."""


def fail(number: int, code: int) -> Rule:
    """Let call ``number`` fail with errno ``code``; it is not made."""

    def rule(call: Call) -> None:
        if call.number == number:
            raise OSError(code, os.strerror(code))

    return rule


def fail_always(code: int, matches: Callable[[Call], bool]) -> Rule:
    """Let every call that ``matches`` fail with errno ``code``: a full disk, a dead device."""

    def rule(call: Call) -> None:
        if matches(call):
            raise OSError(code, os.strerror(code))

    return rule


def skip_fsync(k: int, matches: Callable[[Call], bool] = lambda _: True) -> Rule:
    """Let the ``k``-th fsync (from 1) that ``matches`` do nothing and say that it did."""
    seen = 0

    def rule(call: Call) -> None:
        nonlocal seen
        if call.method == "fsync" and matches(call):
            seen += 1
            if seen == k:
                raise SkipCall

    return rule


def before(number: int, action: Callable[[], object]) -> Rule:
    """Do ``action`` right before call ``number``: another process's step, between two of ours."""

    def rule(call: Call) -> None:
        if call.number == number:
            action()

    return rule


def power_loss(number: int) -> Rule:
    """Lose power before call ``number``: that call and all later ones raise `PowerLost`."""

    def rule(call: Call) -> None:
        if call.number >= number:
            raise PowerLost

    return rule
