"""One of two processes that use one root at the same time: a request a line in, an answer out.

Besides the log it knows the design that the log replaces: a pointer file that is checked, then
renamed over.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.adapters.system.entropy import token
from dispatch.adapters.system.patience import ThreadPatience
from dispatch.checkpoint import Entry, Log
from dispatch.errors import AlreadyPublishedError, NotFoundError

Request = dict[str, Any]
Answer = dict[str, Any]

FILES = ("model.safetensors", "trainer_state.json")
CALLS = frozenset({"stat", "open_dir", "create"})  # those of a publication that others can notice


class StoppingFilesystem(OsFilesystem):
    """The running system, less its syncs; before one of its calls the process stops itself.

    Without syncs a publication takes microseconds, so that more of them overlap; what power takes
    is not at issue here.

    Attributes:
        calls: How many calls of a publication come before; None: it never stops.
    """

    calls: int | None = None

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - what the class has
        if name in CALLS and self.calls is not None:
            self.calls -= 1
            if self.calls < 0:
                self.calls = None
                os.kill(os.getpid(), signal.SIGSTOP)
        return super().__getattribute__(name)

    def fsync(self, handle: int) -> None:
        """Do nothing."""


def open_log(root: str, stop_at: int | None = None) -> Log:
    """Open the root; the calls are counted from here."""
    filesystem = StoppingFilesystem()
    store = PosixStore(root.encode(), filesystem, now_ns=time.time_ns, token=token)
    filesystem.calls = stop_at
    return Log(store, ThreadPatience())


def save(root: str, epoch: int, step: int) -> str:
    """Write a save; return its path relative to the root."""
    path = f"exec/{epoch}/checkpoint-{step}"
    os.makedirs(f"{root}/{path}")  # noqa: PTH103 - as fast as it can be
    for name in FILES:
        with open(f"{root}/{path}/{name}", "wb") as file:  # noqa: PTH123 - as above
            file.write(b"%d %d" % (epoch, step))
    return path


def publish(request: Request) -> Answer:
    """Write and publish saves; publish some again; prune now and then."""
    log = open_log(request["root"], request.get("stop_at"))
    rng = random.Random(request["seed"])
    answer: Answer = {"published": [], "again": [], "removed": [], "missing": []}
    for step in request["steps"]:
        entry = Entry(request["epoch"], step, save(request["root"], request["epoch"], step))
        answer[publish_one(log, entry)].append(entry.name())
        if request["again"] and rng.random() < 0.5:
            old = rng.choice(request["again"])
            entry = Entry(request["epoch"], old, f"exec/{request['epoch']}/checkpoint-{old}")
            answer[publish_one(log, entry)].append(entry.name())
        if request["keep"] and rng.random() < 0.5:
            pruned = log.prune(request["keep"])
            answer["removed"] += [entry.name() for entry in pruned.entries]
    return answer


def publish_one(log: Log, entry: Entry) -> str:
    """Publish, and say how it went: a prune may take a save while it is published."""
    try:
        log.publish(entry.epoch, entry.step, entry.path)
    except AlreadyPublishedError:
        return "again"
    except NotFoundError:
        return "missing"
    return "published"


def point(request: Request) -> Answer:
    """Move a pointer to a save, unless it points to a greater one: checked, then renamed over."""
    pointer = f"{request['root']}/latest"
    mine = [request["epoch"], request["steps"][0]]
    path = save(request["root"], *mine)
    try:
        with open(pointer, encoding="utf-8") as file:  # noqa: PTH123 - as short as it can be
            theirs = json.load(file)["of"]
    except FileNotFoundError:
        theirs = [0, 0]
    if request.get("stop_at") is not None:
        os.kill(os.getpid(), signal.SIGSTOP)
    if mine > theirs:
        with open(f"{pointer}.{request['epoch']}", "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            json.dump({"of": mine, "save": path}, file)
        os.replace(f"{pointer}.{request['epoch']}", pointer)  # noqa: PTH105 - as above
    return {"moved": mine > theirs}


def main() -> None:
    """Answer requests until there are no more."""
    operations: dict[str, Callable[[Request], Answer]] = {"publish": publish, "point": point}
    for line in sys.stdin:
        request = json.loads(line)
        began = time.monotonic_ns()
        answer = operations[request["do"]](request)
        answer["time"] = [began, time.monotonic_ns()]
        os.write(1, json.dumps(answer).encode() + b"\n")


main()
