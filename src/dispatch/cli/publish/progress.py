"""A line on the terminal for whatever takes longer than two seconds."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event, Thread
    from types import TracebackType
    from typing import Self

    from dispatch.cli.publish.output import Output

_STDERR = 2
_PATIENCE_S = 2.0  # seconds; what is shorter needs no line
_REFRESH_S = 0.5
_CLEAR_LINE = b"\r\x1b[K"


class Progress:
    """While the block runs, a line says what is being done and for how long, if a terminal looks.

    Args:
        activity: What is being done; `say` changes it.
        output: Where to; nothing is shown where each line is to be a JSON object.
        found: How many things the first activity has found so far; 0 is not shown.
    """

    __slots__ = ("_activity", "_found", "_output", "_shown")

    def __init__(
        self, activity: str, output: Output, found: Callable[[], int] | None = None
    ) -> None:
        self._activity = activity
        self._output = output
        self._found = found
        self._shown: tuple[Event, Thread] | None = None

    def say(self, activity: str) -> None:
        """From now on, this is being done."""
        self._activity, self._found = activity, None

    def __enter__(self) -> Self:
        if os.isatty(_STDERR) and not self._output.is_json:
            from threading import Event, Thread

            done = Event()
            thread = Thread(target=self._show, args=(done,), daemon=True)
            try:
                thread.start()
                self._shown = done, thread
            except RuntimeError:
                pass  # no thread is to be had, and so no line
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            done, thread = self._shown
            done.set()
            thread.join()  # its line is gone before anything else is written

    def _show(self, done: Event) -> None:
        seconds = _PATIENCE_S
        if done.wait(_PATIENCE_S):
            return
        while True:
            found = self._found() if self._found is not None else 0
            so_far = f", {found} so far" if found else ""
            line = f"publish: {self._activity}{so_far} ({seconds:.0f} s)".encode(errors="replace")
            self._output.write_stderr(_CLEAR_LINE + line)
            if done.wait(_REFRESH_S):
                break
            seconds += _REFRESH_S
        self._output.write_stderr(_CLEAR_LINE)
