"""`runs/`: which attempt has an epoch, and what each execution resumes from (format §10)."""

from __future__ import annotations

import os

from dispatch.checkpoint.listing import read_names
from dispatch.errors import MalformedError, OvertakenError
from dispatch.model.number import parse_uint64

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch.checkpoint.entry import Entry
    from dispatch.ports.store import ClaimsStore, NamesStore

RUNS = "runs"
NOTHING = "-"
"""The resume point of an execution that starts from scratch."""
_DIGITS = 20
_RESUME = ".resume"


def claim_name(epoch: int) -> str:
    """What the claim of ``epoch`` is called."""
    return f"{epoch:0{_DIGITS}d}"


def resume_name(epoch: int) -> str:
    """What the resume point of the execution with ``epoch`` is called."""
    return claim_name(epoch) + _RESUME


class Claims:
    """What `runs/` held when it was listed.

    Attributes:
        epochs: The claimed epochs, ascending.
        names: The names of all claims and resume points.
        others: Names that are neither; nothing but a start cares.
    """

    __slots__ = ("epochs", "names", "others")

    def __init__(
        self, epochs: tuple[int, ...], names: tuple[str, ...], others: tuple[str, ...]
    ) -> None:
        self.epochs = epochs
        self.names = names
        self.others = others

    @property
    def greatest(self) -> int | None:
        """The greatest claimed epoch; None when there is none."""
        return self.epochs[-1] if self.epochs else None

    def require_no_others(self) -> None:
        """Refuse to start beside what can't be understood.

        Raises:
            MalformedError: A name in `runs/` is neither a claim nor a resume point.
        """
        if self.others:
            message = f"{RUNS}/{self.others[0]!r} is neither a claim nor a resume point"
            hint = "It isn't ours: look at it, and move it away."
            if self.others[0].startswith(".nfs"):
                hint = "NFS keeps a removed file under this name while a process has it open."
            raise MalformedError(message, kind="malformed-claim", hint=hint)

    def below(self, epoch: int) -> list[str]:
        """The names of claims and resume points below ``epoch``; never of the greatest claim.

        While the greatest stays, a second start of any of the others is still refused.
        """
        limit = epoch if self.greatest is None else min(epoch, self.greatest)
        return [name for name in self.names if int(name[:_DIGITS]) < limit]


def read_claims(store: NamesStore) -> Claims:
    """The claims of a root. One without any has none; a root without `runs/` likewise.

    Raises:
        UnavailableError: No listing could be trusted (kind ``listing-torn``).
    """
    return _parse(read_names(store, RUNS))


def _parse(names: Iterable[str]) -> Claims:
    epochs, known, others = [], [], []
    for name in sorted(names):
        epoch = _epoch_of(name.removesuffix(_RESUME))
        if epoch is None:
            others.append(name)
            continue
        known.append(name)
        if not name.endswith(_RESUME):
            epochs.append(epoch)
    return Claims(tuple(epochs), tuple(known), tuple(others))


def _epoch_of(digits: str) -> int | None:
    return parse_uint64(digits) if len(digits) == _DIGITS else None


def why_held(claims: Claims, epoch: int | None, latest: Entry | None) -> str | None:
    """Why a prune must remove nothing now; None when it may (format §7).

    Args:
        claims: Read after ``latest`` was listed: an execution that claims later resolves later,
            and finds its choice still kept.
        epoch: The pruning execution's own; None when a person prunes.
        latest: The latest publication.
    """
    greatest = claims.greatest
    if greatest is None:
        return None
    if epoch is not None and greatest > epoch:
        return f"epoch {greatest} is claimed, above this execution's {epoch}: it was overtaken"
    if latest is not None and greatest == epoch and greatest > latest.epoch:
        return "this execution has published nothing yet"
    if latest is not None and greatest > latest.epoch:
        return f"the execution that claimed epoch {greatest} may still be loading any of the saves"
    return None


def taken(epoch: int, held: str, attempt: str) -> OvertakenError:
    """The error to raise where another attempt has the epoch."""
    message = f"epoch {epoch} belongs to attempt {held!r}, not to {attempt!r}"
    hint = "The scheduler started it twice, or the root was used before: see `publish log`."
    return OvertakenError(message, kind="epoch-taken", hint=hint)


def refuse_if_taken(store: ClaimsStore, epoch: int, attempt: bytes) -> None:
    """Refuse to publish under an epoch that another attempt has claimed.

    Raises:
        OvertakenError: Another attempt has it (kind ``epoch-taken``).
    """
    value = os.fsdecode(attempt)
    held = store.claimed(RUNS, claim_name(epoch))
    if held is not None and held != value:
        error = taken(epoch, held, value)
        raise error
