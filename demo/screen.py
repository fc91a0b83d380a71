"""What the person sees: a time line in 80 columns; colour and a live line on a terminal alone."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field

WIDTH = 80
COLUMNS = (6, 18, 19, 14, 14)  # and a space or two between them: 79 in all
OLD, NEW, GOOD, BAD, DIM, BOLD = "33", "36", "1;32", "1;31", "2", "1"  # SGR parameters


@dataclass(frozen=True, slots=True)
class Text:
    """Words and how they are shown.

    Attributes:
        words: What is printed.
        style: Parameters of the terminal's SGR sequence; empty for plain.
    """

    words: str = ""
    style: str = ""


NOTHING = Text()


@dataclass(slots=True)
class Screen:
    """Standard output.

    Attributes:
        is_terminal: Whether a live line may be drawn and drawn over.
        has_colour: Whether colours are wanted; `NO_COLOR` and dumb terminals say no.
    """

    is_terminal: bool = field(default_factory=sys.stdout.isatty)
    has_colour: bool = field(init=False)
    _since: float = field(init=False, default_factory=time.monotonic)
    _live: str = field(init=False, default="")

    def __post_init__(self) -> None:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
        self.has_colour = self.is_terminal and not plain

    def say(self, words: str = "", style: str = "") -> None:
        """Print a line."""
        self._clear()
        print(self._styled(Text(words, style), len(words)), flush=True)

    def live(self, words: str) -> None:
        """Show what is being waited for, on a terminal, until the next line."""
        if self.is_terminal:
            line = f"{self._seconds():>6}  ... {words}"[: WIDTH - 1]
            if line != self._live:
                self._clear()
                self._live = line
                print(self._styled(Text(line, DIM), len(line)), end="\r", flush=True)

    def start_clock(self) -> None:
        """Begin a time line at zero."""
        self._since = time.monotonic()

    def row(self, *cells: Text) -> None:
        """Print one moment of a time line, with the time before it."""
        self.columns(Text(self._seconds(), DIM), *cells)

    def columns(self, *cells: Text) -> None:
        """Print cells below each other's like."""
        self._clear()
        last = max((index for index, cell in enumerate(cells) if cell.words), default=0)
        shown = [
            self._styled(cell, 0 if index == last else COLUMNS[index])
            for index, cell in enumerate(cells[: last + 1])
        ]
        print("  ".join(shown), flush=True)

    def join(self, *texts: Text) -> None:
        """Print texts one after another on a line."""
        self._clear()
        shown = [self._styled(text, len(text.words)) for text in texts]
        print("".join(shown).rstrip(), flush=True)

    def _seconds(self) -> str:
        return f"{time.monotonic() - self._since:5.1f}s"

    def _styled(self, text: Text, width: int) -> str:
        padded = text.words.ljust(width)
        if not (self.has_colour and text.style):
            return padded
        return f"\x1b[{text.style}m{padded}\x1b[0m"

    def _clear(self) -> None:
        if self._live:
            self._live = ""
            print("\r\x1b[K", end="")
