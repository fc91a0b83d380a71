"""What can go wrong with one request, and for which requests it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from dispatch.testing.s3fake.request import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.testing.s3fake.request import Request

    When = Callable[[Request], bool]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an error; nothing is done.

    Attributes:
        status: Of HTTP; also one that is no error, such as 304.
        code: S3's, in the body.
        message: For people.
        headers: Further ones, such as ``Retry-After``.
    """

    status: int
    code: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


CONFLICT = Refuse(409, "ConditionalRequestConflict", "Another write is under way. Try again.")
ABORTED = Refuse(409, "OperationAborted", "A conflicting operation is under way. Try again.")
PRECONDITION_FAILED = Refuse(412, "PreconditionFailed", "A precondition did not hold.")
NOT_MODIFIED = Refuse(304)
ACCESS_DENIED = Refuse(403, "AccessDenied", "Access Denied")
EXPIRED_TOKEN = Refuse(400, "ExpiredToken", "The provided token has expired.")
INTERNAL_ERROR = Refuse(500, "InternalError", "We encountered an internal error. Try again.")
NOT_IMPLEMENTED = Refuse(501, "NotImplemented", "A header implies something not implemented.")
SLOW_DOWN = Refuse(503, "SlowDown", "Reduce your request rate.")


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with these very bytes; nothing is done. What a proxy in between may say.

    Attributes:
        status: Of HTTP.
        body: Whatever it says.
        content_type: And what it says that it is.
    """

    status: int
    body: bytes
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class LoseReply:
    """Do it, then close the connection.

    Attributes:
        bytes_sent: How much of the answer goes out before.
    """

    bytes_sent: int = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection; nothing is done."""


@dataclass(frozen=True, slots=True)
class Drip:
    """Do it, then send the answer slowly.

    Attributes:
        pause_s: Between two pieces.
        piece_bytes: The size of one.
    """

    pause_s: float
    piece_bytes: int = 1


@dataclass(frozen=True, slots=True)
class Before:
    """Call something, then do it: another's step in between, or a wait for an event."""

    action: Callable[[], object]


@dataclass(frozen=True, slots=True)
class After:
    """Do it, call something, then answer."""

    action: Callable[[], object]


@dataclass(frozen=True, slots=True)
class LoseToken:
    """A page of a listing says that there is more, but not where."""


@dataclass(frozen=True, slots=True)
class RepeatToken:
    """A page of a listing leads to itself; the first page, to one that does."""


@dataclass(frozen=True, slots=True)
class EmptyPage:
    """A page of a listing has no keys and leads to the page that was asked for. S3 may do so."""


@dataclass(frozen=True, slots=True)
class KeepKeys:
    """A DeleteObjects that answers 200 leaves some keys, with an error for each.

    Attributes:
        codes: S3's code for each key that is left.
    """

    codes: Mapping[str, str]


PageFault = LoseToken | RepeatToken | EmptyPage
Delivery = LoseReply | Drip
Fault = Refuse | Say | Reset | Before | After | KeepKeys | PageFault | Delivery
MakeFault = Callable[["Request"], Fault]
"""What goes wrong, made from the request: a server that repeats what it was sent."""


def on(operation: str = "", *, key: str | None = None, prefix: str = "") -> When:
    """Requests of one operation, on one key, or on keys with a prefix (of a listing: its own).

    Raises:
        ValueError: There is no such operation.
    """
    if operation and operation not in OPERATIONS:
        message = f"operation {operation!r} is not one of: {', '.join(OPERATIONS)}"
        raise ValueError(message)

    def matches(request: Request) -> bool:
        name = request.query.get("prefix", "") if not request.key else request.key
        return (
            (not operation or request.operation == operation)
            and (key is None or request.key == key)
            and name.startswith(prefix)
        )

    return matches


@dataclass(slots=True)
class _Line:
    fault: Fault | MakeFault
    when: When
    times: int | None
    skip: int
    used: int = 0

    def take(self, request: Request) -> bool:
        if self.times == 0 or not self.when(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.used += 1
        if self.times is not None:
            self.times -= 1
        return True


@dataclass(slots=True)
class Script:
    """Faults in the order in which they were added; a request meets the first that fits."""

    _lines: list[_Line] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def add(self, fault: Fault | MakeFault, when: When, *, times: int | None, skip: int) -> None:
        """Let ``fault`` happen to ``times`` requests after ``skip`` that fit; None: to all."""
        with self._lock:
            self._lines.append(_Line(fault, when, times, skip))

    def take(self, request: Request) -> Fault | None:
        """What happens to ``request``."""
        with self._lock:
            for line in self._lines:
                if line.take(request):
                    return line.fault(request) if callable(line.fault) else line.fault
        return None

    def unused(self) -> list[Fault | MakeFault]:
        """Those that never happened: the test doesn't test what it says."""
        with self._lock:
            return [line.fault for line in self._lines if not line.used]
