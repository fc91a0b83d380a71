"""A pseudo-terminal with a person at the other end."""

import os
import pty
import select
import time

from tests.cli.program import PATIENCE_S


class Terminal:
    """What a program takes for a terminal."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        self._shown = b""

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def wait_until_shown(self, text: str) -> None:
        """Look at the screen until it shows something."""
        self.wait_until_shown_after(0, text)

    def wait_until_shown_after(self, start: int, text: str) -> bytes:
        """Look until something follows the first ``start`` bytes; return what is between."""
        deadline = time.monotonic() + PATIENCE_S
        while (at := self._shown.find(text.encode(), start)) < 0:
            remaining = deadline - time.monotonic()
            assert remaining > 0, f"the terminal never showed {text!r}: {self._shown[start:]!r}"
            self._read(remaining)
        return self._shown[start:at]

    def shown(self) -> bytes:
        """What it has shown up to now, with lines as they were written."""
        while self._read(0):
            pass
        return self._shown.replace(b"\r\n", b"\n")

    def close(self) -> None:
        """Give both ends back."""
        os.close(self._master)
        os.close(self.slave)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        self._shown += os.read(self._master, 65_536)
        return True
