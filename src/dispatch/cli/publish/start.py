"""The first lines of `publish`: signals and descriptors, before anything else is loaded."""

from __future__ import annotations

# The module signal loads enum, which costs 4 ms at start. (No stub is to be had for this one.)
import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = (_signal.SIGTERM, _signal.SIGINT)
received: list[int] = []


def _remember(number: int, _frame: object) -> None:
    received.append(number)


def handle(handler: Callable[[int, object], None]) -> None:
    """From now on let ``handler`` see the signals that end a program."""
    for number in SIGNALS:
        _signal.signal(number, handler)


handle(_remember)


def die_of_signals() -> None:
    """From now on let a signal end the process, as one that came before does now.

    Whatever dies here leaves nothing that the next call does not mend, and dying of the signal,
    without a word, is what shells expect.
    """
    for number in SIGNALS:
        _signal.signal(number, _signal.SIG_DFL)
    if received:
        os.kill(os.getpid(), received[0])


def _open_missing_descriptors() -> None:
    """Give descriptors 0 to 2 to something that can't be written, where they are closed.

    Otherwise the root or an entry would get such a number, and a message would be written there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open("/", os.O_RDONLY)  # gets the lowest free number


def main() -> None:
    """Run the program and end the process with its status."""
    _open_missing_descriptors()
    from dispatch.cli.publish.main import run

    # Nothing is buffered, and a thread that is stuck in a hung file system must not keep us.
    os._exit(run([os.fsencode(argument) for argument in sys.argv[1:]]))
