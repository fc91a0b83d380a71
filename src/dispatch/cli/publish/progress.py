"""A line on the terminal for whatever takes longer than two seconds."""

from __future__ import annotations

import os

from dispatch.cli.publish.output import write_stderr

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from threading import Event
    from types import TracebackType
    from typing import Self

_STDERR = 2
_PATIENCE_S = 2.0  # 06: progress on anything longer than two seconds
_REFRESH_S = 0.5
_CLEAR_LINE = b"\r\x1b[K"


class Progress:
    """While the block runs, a line says what is being done and for how long, if a terminal looks.

    Args:
        activity: What is being done; `say` changes it.
    """

    __slots__ = ("_activity", "_done")

    def __init__(self, activity: str) -> None:
        self._activity = activity
        self._done: Event | None = None

    def say(self, activity: str) -> None:
        """From now on, this is being done."""
        self._activity = activity

    def __enter__(self) -> Self:
        if os.isatty(_STDERR):
            from threading import Event, Thread

            self._done = Event()
            Thread(target=self._show, args=(self._done,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._done is not None:
            self._done.set()

    def _show(self, done: Event) -> None:
        seconds = _PATIENCE_S
        if done.wait(_PATIENCE_S):
            return
        while True:
            line = f"publish: {self._activity} ({seconds:.0f} s)".encode(errors="replace")
            write_stderr(_CLEAR_LINE + line)
            if done.wait(_REFRESH_S):
                break
            seconds += _REFRESH_S
        write_stderr(_CLEAR_LINE)
