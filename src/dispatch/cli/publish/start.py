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
_ALL = (*SIGNALS, _signal.SIGHUP)
ignored = {number for number in _ALL if _signal.getsignal(number) == _signal.SIG_IGN}
received: list[int] = []


def _remember(number: int, _frame: object) -> None:
    received.append(number)


def handle(
    handler: Callable[[int, object], None], *, also_ignored: bool = True, hangup: bool = False
) -> None:
    """From now on let ``handler`` see the signals that end a program.

    Args:
        handler: What is called with a signal's number.
        also_ignored: Whether also those that the caller ignores; else they are ignored.
        hangup: Whether also SIGHUP.
    """
    for number in _ALL if hangup else SIGNALS:
        heeds = also_ignored or number not in ignored
        _signal.signal(number, handler if heeds else _signal.SIG_IGN)


handle(_remember)
# A blocked SIGTERM would never end a watch. What was blocked, a command that we run has to get.
blocked = _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)


def die_of_signals() -> None:
    """From now on let a signal end the process, as one that came before does now.

    Whatever dies here leaves nothing that harms (a prune may leave whole saves that nothing
    names), and dying of the signal, without a word, is what shells expect. A signal that the
    caller ignores (``trap '' TERM``, nohup) is ignored, as shells expect too.

    Process 1 of a container ends with the status that a shell would show: the kernel lets no
    signal end it.
    """
    is_first = os.getpid() == 1
    for number in _ALL:
        ends = _end if is_first else _signal.SIG_DFL
        _signal.signal(number, _signal.SIG_IGN if number in ignored else ends)
    for number in received:
        os.kill(os.getpid(), number)
    received.clear()


def _end(number: int, _frame: object) -> None:
    os._exit(128 + number)


def _open_missing_descriptors() -> None:
    """Give descriptors 0 to 2 to something that can't be written, where they are closed.

    Otherwise the root or an entry would get such a number, and a message would be written there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open("/", os.O_RDONLY)  # gets the lowest free number


def _prefer_the_standard_library() -> None:
    """Look into what PYTHONPATH names last: a training project may have a queue.py of its own."""
    given = os.environ.get("PYTHONPATH")
    if given:
        folders = {os.path.abspath(folder) for folder in given.split(os.pathsep)}
        sys.path.sort(key=folders.__contains__)  # a stable sort: the rest stays in its order


def _arguments() -> list[bytes]:
    """The arguments' own bytes.

    Python decodes them by the C library and encodes them by a codec of its own. In some locales
    (EUC-JP) these differ, so that what `sys.argv` holds can't be undone.
    """
    if sys.getfilesystemencoding() != "utf-8":
        try:
            with open("/proc/self/cmdline", "rb") as file:
                words = file.read().split(b"\0")  # a NUL ends each, so the last one is empty
            return words[len(words) - len(sys.argv) : -1]
        except OSError:
            pass
    return [os.fsencode(argument) for argument in sys.argv[1:]]


def main() -> None:
    """Run the program and end the process with its status."""
    _open_missing_descriptors()
    _prefer_the_standard_library()
    from dispatch.cli.publish.main import run

    # Nothing is buffered, and a thread that is stuck in a hung file system must not keep us.
    os._exit(run(_arguments()))
