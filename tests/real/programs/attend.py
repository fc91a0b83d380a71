"""Run a command as `publish run` does, without a store: its status is our own.

usage: attend.py [--withhold NUMBER] [--left SECONDS] -- COMMAND...
"""

import argparse
import os
import time

from dispatch.adapters.process import Child, ExecuteError, Signals
from dispatch.cli.publish import start


def say(text: str) -> None:
    """Write a line to stderr."""
    os.write(2, text.encode() + b"\n")


def main() -> int:
    """Attend to the command until it has ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--withhold", type=int, action="append", default=[])
    parser.add_argument("--left", type=float, default=0)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    command = [os.fsencode(word) for word in given.command]
    start.die_of_signals()
    signals = Signals(start.ignored, start.blocked)
    child = Child(command, os.environb, signals=signals, withheld=given.withhold)
    try:
        child.start()
    except ExecuteError as error:
        say(str(error))
        return 127 if error.is_missing else 126
    while (status := child.poll()) is None:
        signals.wait(3600)
    deadline = time.monotonic() + given.left
    while (left := child.left_behind()) and time.monotonic() < deadline:
        signals.wait(0.1)
    for process in left:
        say(f"left {process.pid} {process.name}")
    child.release()
    return status


if __name__ == "__main__":
    os._exit(main())
