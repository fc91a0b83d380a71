"""A program that calls each operation of a log on S3 and tells all that an error report could hold.

It meets every second failure of `tests.real.s3_failures`, from the number on that it is given.
With `--debug` every logger logs everything to stderr; without it, logging is as Python leaves it,
and each error is reported with the variables of its frames.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import botocore.httpsession

from dispatch.adapters.system.clock import SystemClock
from dispatch.adapters.system.racing import race
from dispatch.checkpoint import Entry, Watcher, open_store, parse_framework
from dispatch.checkpoint.execution import Execution
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.lost import Saves
from dispatch.checkpoint.probe import Probe, Surroundings
from dispatch.cli.publish.stopping import SignalStop
from dispatch.errors import DispatchError
from tests.cli.program import ATTEMPT, EPOCH
from tests.real.ask_for_keys import log_everything, report
from tests.real.hurried import break_botocore, hurry
from tests.real.s3_failures import FAILURES, SAVES, STEPS, Failure, scene_of
from tests.servers.certificates import Certificates, make_certificates

SEND = botocore.httpsession.URLLib3Session.send


def save(step: int) -> str:
    return f"{SAVES}/checkpoint-{step}"


def watch(log: Log) -> object:
    """Scan as `publish watch` does, on a thread of its own."""
    return Watcher(log, parse_framework("hf"), SAVES, EPOCH, time_out=60).scan()


def probe(log: Log) -> object:
    """Probe as `publish probe` does."""
    around = Surroundings(SystemClock(), time.time, race, SignalStop(), log.patience)
    return Probe(log.store, around, b"token", time_out=60).run()


def run(log: Log) -> object:
    """Start an execution as `publish run` does, and look whether it is overtaken."""
    execution = Execution(log.store, EPOCH + 1, b"another")
    execution.claim()
    start = execution.start(Saves(parse_framework("hf")), lambda entries: entries[-1])
    return start, execution.overtaken_by()


OPERATIONS: Mapping[str, Callable[[Log], object]] = {
    "resolve": lambda log: log.resolve(),
    "publish": lambda log: log.publish(EPOCH, STEPS[-1], save(STEPS[-1])),
    "log": lambda log: log.entries(),
    "retract": lambda log: log.retract(Entry(EPOCH, STEPS[-2], save(STEPS[-2]))),
    "watch": watch,
    "prune": lambda log: log.prune(1),
    "probe": probe,
    "claim": lambda log: Execution(log.store, EPOCH, os.fsencode(ATTEMPT)).claim(),
    "run": run,
}


def attempt(operation: str, log: Log) -> None:
    """Carry it out; report what fails, and what there is to see of the rest."""
    try:
        print("gave", OPERATIONS[operation](log))
    except DispatchError as error:
        print("failed", error.kind, error, error.hint)
        report_unless_logging(error)
    except Exception as error:  # noqa: BLE001 - that is what an error report is made of
        print("failed", "fault", error)
        report_unless_logging(error)
    print(log, log.store, log.store._requests)  # type: ignore[attr-defined]  # it is on S3


def report_unless_logging(error: Exception) -> None:
    """Report what logging doesn't change, once."""
    if "--debug" not in sys.argv:
        report(error)


def meet(number: int, failure: Failure, folder: Path, certificates: Certificates) -> None:
    """Let each operation meet a failure."""
    with scene_of(number, failure, folder, certificates) as scene:
        botocore.httpsession.URLLib3Session.send = SEND  # type: ignore[method-assign]  # as it was
        if "DISPATCH_TEST_FAULT" in scene.variables:
            break_botocore()
        given = {"creds": scene.creds, "environment": scene.variables}
        with open_store(scene.root, **scene.options, **given) as log:
            for at, operations in failure.met.items():
                for operation in operations:
                    scene.at = at
                    scene.fill()
                    print(f"case {failure.name}: {operation} {at}".rstrip(), flush=True)
                    attempt(operation, log)
                    sys.stdout.flush()


def main() -> None:
    """Work through the table."""
    if "--debug" in sys.argv:
        log_everything()
    hurry()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates = make_certificates(folder)
        first = int(sys.argv[1])
        for number, failure in list(enumerate(FAILURES.values()))[first::2]:
            meet(number, failure, folder, certificates)


if __name__ == "__main__":
    main()
