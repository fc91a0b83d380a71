"""A program that asks sources for keys and tells everything that an error report could hold.

It reads cases from its standard input: places, an environment, how to go on. With `--debug` every
logger logs everything to stderr; without it, logging is as Python leaves it.
"""

import contextlib
import json
import logging
import os
import sys
import time
import traceback

from dispatch.adapters.credentials import Surroundings, open_keys, parse_places
from dispatch.errors import DispatchError


def report(error: BaseException) -> None:
    """Print a traceback with the variables of each frame, and what hangs on each error."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    print("".join(whole.format()))
    seen: BaseException | None = error
    while seen is not None:
        print(repr(seen), vars(seen), getattr(seen, "__notes__", ()))
        seen = seen.__cause__ or seen.__context__


def ask(places: list[str]) -> None:
    """Get keys and renew them; report what fails, and what there is to see of the rest."""
    around = Surroundings(dict(os.environ), now_ns=time.time_ns, monotonic=time.monotonic)
    parsed = parse_places(places)
    keys = open_keys(parsed, around)
    for question in (keys.current, keys.renew, keys.current):
        try:
            print("gave", question())
        except DispatchError as error:
            print("failed", type(error).__name__, error.kind, error.hint)
            report(error)
    print(around, parsed, keys, keys._held)


def log_everything() -> None:
    """Let every logger log to stderr, whatever its level."""
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    for name in ("botocore", "hvac", "requests", "urllib3"):
        logging.getLogger(name).setLevel(logging.DEBUG)


def main() -> None:
    """Work through the cases."""
    if "--debug" in sys.argv:
        log_everything()
    for case in json.load(sys.stdin):
        print("case", case["name"], flush=True)
        os.environ.clear()
        os.environ.update(case["variables"])
        try:
            ask(case["places"])
        except DispatchError as error:  # of the spelling: its frames hold what was spelled
            print("refused", error, error.hint, error.__cause__, error.__context__)
        with contextlib.suppress(ValueError):
            sys.stdout.flush()


if __name__ == "__main__":
    main()
