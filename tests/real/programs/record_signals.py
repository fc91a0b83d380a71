"""Write down each signal that comes, until told to end: the command whose signals a test counts.

usage: record_signals.py FILE [CHILDREN]

FILE gets a line for each signal; the children's are FILE.0, FILE.1, … A line "ready" comes first,
when all are to be noticed. It ends with status 0 once FILE.end exists.
"""

import os
import signal
import sys
import time
from pathlib import Path

NOTICED = {
    signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGQUIT,
    signal.SIGWINCH, signal.SIGALRM, signal.SIGRTMIN, signal.SIGXCPU, signal.SIGPWR,
}  # fmt: skip
LIMIT_S = 100


def main() -> None:
    """Record until the end."""
    path, number = Path(sys.argv[1]), int([*sys.argv, "0"][2])
    end = path.with_name(path.name + ".end")
    signal.pthread_sigmask(signal.SIG_BLOCK, NOTICED)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    children: list[int] = []
    for child in range(number):
        pid = os.fork()
        if not pid:
            path = path.with_name(f"{path.name}.{child}")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            children = []
            break
        children.append(pid)
    os.write(descriptor, b"ready\n")
    limit = time.monotonic() + LIMIT_S  # whatever becomes of the test
    while not end.exists() and time.monotonic() < limit:
        come = signal.sigtimedwait(NOTICED, 0.01)
        # (When it was stopped meanwhile, Python returns what it has not filled in.)
        if come is not None and come.si_signo in NOTICED:
            os.write(descriptor, signal.Signals(come.si_signo).name.encode() + b"\n")
    for pid in children:
        os.waitpid(pid, 0)
    os._exit(0)


main()
