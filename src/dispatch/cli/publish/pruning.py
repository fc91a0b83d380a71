"""A prune that is not waited for for ever, at the end of `publish run`."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

import dispatch.adapters.posix.removal  # noqa: F401 - now: publish.pyz may be replaced later
import dispatch.checkpoint.prune  # noqa: F401 - likewise
import dispatch.model.claimed  # noqa: F401 - likewise
from dispatch.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.log import Log
    from dispatch.checkpoint.prune import PruneResult

_LOOK_S = 0.2


def prune_patiently(
    log: Log,
    keep: int,
    keep_every: int | None,
    *,
    epoch: int,
    time_out: float,
    is_over: Callable[[], bool],
) -> PruneResult:
    """Prune, unless nothing is heard of it for ``time_out`` seconds, or ``is_over`` becomes true.

    What it has not removed by then goes with the next prune.

    Raises:
        UnavailableError: It was left behind; what it does still goes on in the background.
        DispatchError: As `dispatch.checkpoint.Log.prune`.
    """
    outcomes: SimpleQueue[PruneResult | BaseException] = SimpleQueue()
    heard = [monotonic()]

    def note(_: str) -> None:
        heard[0] = monotonic()

    def work() -> None:
        try:
            outcomes.put(log.prune(keep, keep_every, epoch=epoch, progress=note))
        except BaseException as error:  # noqa: BLE001 - raised again below
            outcomes.put(error)

    Thread(target=work, name="dispatch-prune", daemon=True).start()
    while (outcome := _next(outcomes)) is None:
        if is_over():
            message = "pruning was ended by a signal"
            raise UnavailableError(message, hint="The next prune goes on.")
        if monotonic() - heard[0] > time_out:
            message = f"nothing was heard of the prune for {time_out:g} s"
            raise UnavailableError(message, kind="store-silent", hint="The next prune goes on.")
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _next(
    outcomes: SimpleQueue[PruneResult | BaseException],
) -> PruneResult | BaseException | None:
    try:
        return outcomes.get(timeout=_LOOK_S)
    except Empty:
        return None
