"""A folder that changes while it is read, on a real ext4: one pass loses what two don't.

Another process publishes the next step and removes the one before, again and again, among so many
older publications that a listing takes many system calls.
"""

import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path

import pytest

from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.checkpoint import Entry, open_store
from dispatch.checkpoint.listing import latest_of
from dispatch.errors import UnavailableError
from tests.real.mounts import EXT4, mounted

pytestmark = [pytest.mark.real, pytest.mark.root]

OLD = 8_000  # publications: a listing takes about thirty getdents calls
BOUND_S = 20.0
READS = 60  # answers, at least, once a single pass was seen to be torn
PAUSE_S = 0.02  # the most between two publications, so that reads come to an end now and then
COUNTER = struct.Struct("=Q")

PROGRAM = """
import os, random, sys, time
from mmap import mmap
from dispatch.checkpoint import Entry

pub, shared, pause, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
folder = os.open(pub, os.O_RDONLY)
rng = random.Random(seed)
with open(shared, "r+b") as file, mmap(file.fileno(), 8) as counter:
    step, before = 0, None
    while True:
        step += 1
        name = Entry(1, step, "exec/b/step").name()
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=folder))
        counter[:] = step.to_bytes(8, sys.byteorder)
        if before:
            os.unlink(before, dir_fd=folder)
        before = name
        time.sleep(rng.random() * pause)
"""


@dataclass(slots=True)
class Churn:
    """A root in which another process publishes and prunes.

    Attributes:
        root: The root.
        counter: What that process last published.
    """

    root: Path
    counter: mmap

    def published(self) -> int:
        """The latest step that is surely published by now."""
        step: int = COUNTER.unpack(self.counter[:])[0]
        return step


@pytest.fixture
def churn(tmp_path: Path, seed: int) -> Iterator[Churn]:
    """Give a root on ext4 that changes all the time."""
    shared = tmp_path / "counter"
    shared.write_bytes(bytes(COUNTER.size))
    with mounted(EXT4, tmp_path) as root, shared.open("r+b") as file:
        pub = root / "pub"
        pub.mkdir()
        for step in range(OLD):
            (pub / Entry(0, step, f"exec/a/step-{step}").name()).touch()
        command = [sys.executable, "-c", PROGRAM, *map(str, (pub, shared, PAUSE_S, seed))]
        with mmap(file.fileno(), COUNTER.size) as counter, subprocess.Popen(command) as process:
            yield Churn(root, counter)
            assert process.poll() is None, "the other process ended by itself"
            process.kill()


def single_pass(root: Path) -> list[str]:
    """List pub/ as a program would that knows no better."""
    filesystem = OsFilesystem()
    handle = filesystem.open_dir(os.fsencode(root / "pub"))
    try:
        return filesystem.listdir(handle)
    finally:
        filesystem.close(handle)


def is_stale(answer: Entry | None, published: int) -> bool:
    """Whether an answer is older than what was published before the question."""
    return answer is None or (answer.epoch, answer.step) < (1, published)


@pytest.mark.timeout(120)
def test_a_torn_listing_is_never_answered_from(churn: Churn) -> None:
    """One pass is seen to be wrong; `resolve` is right or says that it can't tell."""
    log = open_store(churn.root)
    end = time.monotonic() + BOUND_S
    while not churn.published():
        assert time.monotonic() < end
    torn, answered, kinds = 0, 0, set[str]()
    while time.monotonic() < end and (not torn or answered < READS):
        published = churn.published()
        torn += is_stale(latest_of(single_pass(churn.root)), published)
        published = churn.published()
        try:
            answer = log.resolve()
        except UnavailableError as error:
            kinds.add(error.kind)
        else:
            answered += 1
            assert not is_stale(answer, published), f"{answer} after step {published}"
    assert torn, f"no single pass was torn in {BOUND_S} s"
    assert answered
    assert kinds <= {"listing-torn"}
