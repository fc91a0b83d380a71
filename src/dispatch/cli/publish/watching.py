"""Publishing beside a command, on a thread of its own: no hung store delays a signal."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from dispatch.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.watch import Watcher
    from dispatch.cli.publish.execution import Execution
    from dispatch.cli.publish.output import Output

_PAUSE_S_MAX = 300.0  # so long a save that came while the store was ill stays unpublished at most
_LAST_PAUSE_S, _LAST_PAUSE_S_MAX = 0.5, 10.0  # between last looks: the job's end waits for them


class Watching:
    """Looks for saves every interval until told to look a last time. Errors never end it.

    Args:
        watcher: What publishes.
        execution: Asked at each look whether it is overtaken.
        output: Where publications and errors are said.
        wake: Called when `overtaken_by` is set.

    Attributes:
        overtaken_by: The newer epoch, once it is known.
        is_well: Whether the last look so far went well.
    """

    def __init__(
        self,
        watcher: Watcher,
        execution: Execution,
        output: Output,
        wake: Callable[[], None],
    ) -> None:
        self._watcher = watcher
        self._execution = execution
        self._output = output
        self._wake = wake
        self._hurry = Event()
        self._deadline: float | None = None
        self.is_well = True
        self._thread = Thread(target=self._run, name="dispatch-watching", daemon=True)
        self._unread = ""
        self.overtaken_by: int | None = None

    def start(self) -> None:
        """Begin, with a look at once."""
        self._thread.start()

    def hurry(self) -> None:
        """Let the next look begin at once."""
        self._hurry.set()

    def end(self) -> bool:
        """Look until a look that began after this call went well; whether one did.

        No other look begins after the watcher's time-out, and one that hangs ends by then too: a
        store that hangs is waited for twice as long at most.
        """
        self._deadline = monotonic() + self._watcher.time_out
        self._hurry.set()
        self._thread.join()
        return self.is_well

    def _run(self) -> None:
        pause = self._watcher.interval
        while self._deadline is None:
            pause = self._pause_after(self._look(self._watcher.scan), pause)
            self._hurry.wait(pause)
            self._hurry.clear()
        pause = _LAST_PAUSE_S
        while not self._look(self._watcher.last_look) and monotonic() + pause < self._deadline:
            Event().wait(pause)
            pause = min(2 * pause, _LAST_PAUSE_S_MAX)

    def _pause_after(self, is_well: bool, pause: float) -> float:  # noqa: FBT001 - its one argument
        if is_well:
            return self._watcher.pause_s
        return max(self._watcher.interval, min(2 * pause, _PAUSE_S_MAX))

    def _look(self, look: Callable[[], object]) -> bool:
        """Look once; whether all that is complete is published."""
        try:
            self._try_to_note_overtaken()
            look()
        except DispatchError as error:
            self._note(f"publishing failed, and is tried again: {_with_hint(error)}", error.kind)
        except BaseException as error:  # noqa: BLE001 - training goes on whatever this is
            self._note(f"fault while publishing, which is tried again: {error!r}", "fault")
        else:
            if not self.is_well:
                self._output.say("publishing works again", fields={"event": "works-again"})
            self.is_well = True
            return True
        return False

    def _note(self, message: str, kind: str) -> None:
        self.is_well = False
        self._output.say(message, "warning", {"event": "publishing-failed", "kind": kind})

    def _try_to_note_overtaken(self) -> None:
        """Saves are published also when only claims can't be read.

        Raises:
            DispatchError: The store is silent (``store-silent``); a look would wait as long.
        """
        try:
            self._note_overtaken()
        except DispatchError as error:
            if error.kind == "store-silent":
                raise
            message = f"can't tell whether a newer execution runs: {_with_hint(error)}"
            fields = {"event": "claims-unread", "kind": error.kind}
            if message != self._unread:  # the same thing at each look is said once
                self._output.say(message, "warning", fields)
            self._unread = message
        else:
            self._unread = ""

    def _note_overtaken(self) -> None:
        if self.overtaken_by is None:
            newer = self.overtaken_by = self._execution.overtaken()
            if newer is not None:
                self._wake()
                message = f"overtaken: a newer execution, of epoch {newer}, has claimed the root"
                self._output.say(message, "warning", {"event": "overtaken", "by_epoch": newer})


def _with_hint(error: DispatchError) -> str:
    return f"{error}. {error.hint}" if error.hint else str(error)
