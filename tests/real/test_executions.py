"""Claims and resume points where many want them at once: real file systems, servers, processes."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry, Framework, open_store
from dispatch.checkpoint.execution import Execution, Start
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.lost import Saves
from dispatch.errors import OvertakenError
from tests.cli.program import Ended, Program
from tests.contracts.buckets import BucketBench, open_log, variables_of
from tests.real.mounts import KINDS, Kind, mounted
from tests.servers.stores import Store, real_store

pytestmark = pytest.mark.real

SERVERS = ("radosgw", "seaweedfs")
RACERS = 32
RANKS, LATE = 8, 5
ROUNDS = {"radosgw": 30, "seaweedfs": 2}  # losers on SeaweedFS wait for up to 14 s
ROUNDS_OF_RANKS = {"radosgw": 2, "seaweedfs": 1}
PROCESSES, PROCESS_ROUNDS, KILLS_MAX = 8, 12, 5
START_S = 0.4  # about what a program needs to come to its claim, beside seven others
OTHERS = 50
WAIT_S = 120.0


@dataclass(frozen=True)
class Place:
    """Where a root is.

    Attributes:
        name: As a test's identifier shows it.
        open: Open the root as a process of its own would.
        write: Write one file below it.
    """

    name: str
    open: Callable[[], Log]
    write: Callable[[bytes, bytes], None]


@pytest.fixture(
    scope="module",
    params=[*(pytest.param(kind, marks=pytest.mark.root) for kind in KINDS), *SERVERS],
    ids=str,
)
def where(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path | Store]:
    """A file system, or a server."""
    if isinstance(request.param, Kind):
        with mounted(request.param, tmp_path_factory.mktemp(request.param.name)) as top:
            yield top
    else:
        yield real_store(request.getfixturevalue(request.param))


NUMBERS = itertools.count(1)


@pytest.fixture
def place(where: Path | Store) -> Iterator[Place]:
    """A root of the test's own there."""
    with contextlib.ExitStack() as opened:
        if isinstance(where, Path):
            root = where / f"root-{next(NUMBERS)}"
            root.mkdir()

            def write(path: bytes, content: bytes) -> None:
                file = root / os.fsdecode(path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

            yield Place("posix", lambda: opened.enter_context(open_store(root)), write)
        else:
            bench = BucketBench(where)
            yield Place(
                where.name, lambda: opened.enter_context(open_log(where, bench.root)), bench.write
            )


def at_once(work: Callable[[int], str | None], count: int) -> list[str | None]:
    """Let so many threads do something at the same moment; what each is told."""
    together = threading.Barrier(count)

    def run(number: int) -> str | None:
        together.wait(WAIT_S)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.timeout(900)
def test_of_many_attempts_exactly_one_has_an_epoch(place: Place) -> None:
    """32 at once, again and again; the others are told whose it is."""
    logs = [place.open() for _ in range(RACERS)]
    for epoch in range(1, 1 + ROUNDS.get(place.name, OTHERS)):

        def claim(number: int, epoch: int = epoch) -> str | None:
            attempt = f"attempt-{epoch}-{number}"
            try:
                Execution(logs[number].store, epoch, attempt.encode()).claim()
            except OvertakenError as error:  # "epoch 1 belongs to attempt 'attempt-7', not to …"
                return str(error).split("'")[1]
            return attempt

        told = Counter(at_once(claim, RACERS))
        [(attempt, count)] = told.items()
        assert count == RACERS
        assert logs[0].claim_of(epoch) == (attempt, None)


@pytest.mark.timeout(900)
def test_all_ranks_that_start_at_once_load_one_save(place: Place) -> None:
    """While an old execution publishes on, and a prune comes again and again."""
    logs = [place.open() for _ in range(RANKS + 2)]
    place.write(b"exec/old/step-1/.metadata", b"m")
    logs[0].publish(1, 1, "exec/old/step-1")
    for epoch in range(2, 2 + ROUNDS_OF_RANKS.get(place.name, OTHERS)):
        first = epoch * LATE
        for step in range(first, first + LATE):
            place.write(b"exec/old/step-%d/.metadata" % step, b"m")

        def work(number: int, epoch: int = epoch, first: int = first) -> str | None:
            if number == RANKS:
                for step in range(first, first + LATE):
                    logs[number].publish(1, step, f"exec/old/step-{step}")
                return None
            if number > RANKS:
                for _ in range(LATE):
                    logs[number].prune(2)
                return None
            resume = start(logs[number], epoch).resume
            return resume.name() if resume else "none"

        told = set(at_once(work, RANKS + 2)) - {None}
        assert len(told) == 1
        [resume] = told
        assert logs[0].claim_of(epoch) == (f"new-{epoch}", resume)
        assert any(entry.name() == resume for entry in logs[0].entries())


def start(log: Log, epoch: int) -> Start:
    """Claim and start, as `run` does."""
    execution = Execution(log.store, epoch, b"new-%d" % epoch)
    execution.claim()
    return execution.start(Saves(Framework.dcp, settle=0.0), latest)


def latest(entries: list[Entry]) -> Entry | None:
    """The usual choice."""
    return entries[-1] if entries else None


# ------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class Claimers:
    """Real programs that claim in one root."""

    program: Program
    root: str
    more: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()

    def claim_at_once(self, epoch: int, kills: int, rng: random.Random) -> list[tuple[str, Ended]]:
        """Let eight claim, and kill some at random moments; what each attempt was told."""
        line = ("claim", "-checkpoint", self.root, *self.more)
        attempts = [f"attempt-{epoch}-{number}" for number in range(PROCESSES)]
        running = []
        for attempt in attempts:
            own = {"DISPATCH_ATTEMPT": attempt, "DISPATCH_EPOCH": str(epoch)}
            environment = {**dict(self.variables), **own}
            running.append(self.program.start(*line, environment=environment))
        time.sleep(rng.random() * START_S)  # not to wait for anything: to come at any moment
        for victim in rng.sample(running, kills):
            victim.send(signal.SIGKILL)
        return [(a, r.wait(WAIT_S)) for a, r in zip(attempts, running, strict=True)]


def check_claimed(told: list[tuple[str, Ended]], log: Log, epoch: int) -> None:
    """Nobody who lives was told anything else than what is so."""
    statuses = Counter(ended.status for _, ended in told)
    assert set(statuses) <= {0, 76, -signal.SIGKILL}, [ended.err for _, ended in told]
    winners = {attempt for attempt, ended in told if ended.status == 0}
    assert len(winners) <= 1
    if statuses[0] or statuses[76]:
        attempt, resume = log.claim_of(epoch)
        assert winners <= {attempt}
        assert resume is None
        for _, ended in told:
            assert ended.status != 76 or f"belongs to attempt '{attempt}'" in ended.err.decode()
    names = log.store.names("runs")[0]
    assert len([name for name in names if int(name) == epoch]) <= 1


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """The program."""
    made = Program([sys.executable, "-m", "dispatch.cli.publish"], tmp_path)
    yield made
    made.kill_started()


@pytest.mark.timeout(600)
def test_of_many_processes_one_has_an_epoch_whichever_die(
    tmp_path: Path, program: Program, seed: int
) -> None:
    """Replay with the seed that the run's header shows."""
    rng = random.Random(seed)
    root = tmp_path / "root"
    root.mkdir()
    claimers = Claimers(program, str(root))
    with open_store(root) as log:
        for epoch in range(1, PROCESS_ROUNDS + 1):
            check_claimed(claimers.claim_at_once(epoch, rng.randint(0, KILLS_MAX), rng), log, epoch)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SERVERS)
def test_of_many_processes_one_has_an_epoch_on_s3(
    request: pytest.FixtureRequest, program: Program, name: str, seed: int
) -> None:
    """Likewise."""
    rng = random.Random(seed)
    store = real_store(request.getfixturevalue(name))
    root = BucketBench(store).root
    more = ("-endpoint", store.server.url, "-creds", "env")
    claimers = Claimers(program, root, more, tuple(variables_of(store).items()))
    with open_log(store, root) as log:
        for epoch in range(1, 4):
            check_claimed(claimers.claim_at_once(epoch, rng.randint(0, KILLS_MAX), rng), log, epoch)
