"""Many publications on S3, resolved by the real program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from dispatch.checkpoint import Entry
from dispatch.testing.s3fake import Before, on
from dispatch.testing.s3fake.listing import PAGE_KEYS_MAX
from tests.cli.program import PATIENCE_S, Program
from tests.cli.terminals import Terminal
from tests.contracts.buckets import BucketBench, variables_of
from tests.servers.s3 import S3Server
from tests.servers.stores import Store, fake_store, real_store

MANY = {"radosgw": (2_500, 10_000), "seaweedfs": (2_500,)}
"""How many; more take real servers minutes to be given: 700 to 900 a second."""
PROGRESS = 100_000
"""As many as the fake holds at once."""
PAGES_BEFORE_LOOK = 20  # the next page waits until the terminal has shown so many
WRITERS = 16


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """The program with this Python, which has the extra."""
    made = Program([sys.executable, "-m", "dispatch.cli.publish"], tmp_path)
    yield made
    made.kill_started()


def resolve_on(store: Store, root: str) -> list[str]:
    """The command line."""
    return ["resolve", "-checkpoint", root, "-endpoint", store.server.url]


def entry_of(step: int) -> Entry:
    """Name a publication."""
    return Entry(1, step, f"exec/a/step-{step}")


@pytest.mark.real
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MANY)
def test_the_program_finds_the_latest_on_the_last_page(
    request: pytest.FixtureRequest, name: str, program: Program
) -> None:
    """Each page is read: the latest is the last name of all."""
    server: S3Server = request.getfixturevalue(name)
    store = real_store(server)
    bench = BucketBench(store)
    done = 0
    for count in MANY[name]:
        with ThreadPoolExecutor(WRITERS) as pool:
            paths = (b"pub/" + entry_of(step).name().encode() for step in range(done, count))
            list(pool.map(lambda path: bench.write(path, b""), paths))
        done = count
        ended = program.run(*resolve_on(store, bench.root), environment=variables_of(store)).well()
        assert ended.answers(f"{bench.root}/exec/a/step-{count - 1}\n").err == b""


@pytest.mark.timeout(300)
def test_a_hundred_thousand_are_resolved_with_progress_on_a_terminal(program: Program) -> None:
    """It says how many were listed so far, and takes its line away before the answer."""
    terminal, has_shown = Terminal(), Event()
    with fake_store() as store:
        assert store.fake is not None
        bench = BucketBench(store)
        for step in range(PROGRESS):
            bench.write(b"pub/" + entry_of(step).name().encode(), b"")
        held = Before(lambda: has_shown.wait(PATIENCE_S))
        store.fake.script(held, on("ListObjectsV2"), skip=PAGES_BEFORE_LOOK)
        running = program.start(
            *resolve_on(store, bench.root),
            environment=variables_of(store),
            stderr=terminal.slave,
        )
        listed = PAGES_BEFORE_LOOK * PAGE_KEYS_MAX
        terminal.wait_until_shown(f"publish: listing publications, {listed} so far (")
        has_shown.set()
        ended = running.wait(240).well()
        assert store.fake.counts() == {"ListObjectsV2": PROGRESS // PAGE_KEYS_MAX}
    ended.answers(f"{bench.root}/exec/a/step-{PROGRESS - 1}\n")
    shown = terminal.shown()
    assert shown.endswith(b"\r\x1b[K")
    assert b"\n" not in shown
    terminal.close()
