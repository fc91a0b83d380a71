"""Saves whose marker is there before the rest: real Trainers on two ranks, and a copied DCP save.

Each is left in that state for as long as a test likes, and no publication may be younger than it.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry
from tests.real.programs.executions import PUBLISH, Execution, Site

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(400)]

CANARY = 100_000  # a step that no training here reaches
STATE, LATE = "trainer_state.json", "rng_state_1.pth"
CHUNKS = 20  # in which the last shard of a copy comes
CHUNK_SECONDS = 0.4  # so that it takes longer than the five seconds a save has to settle


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.end()


def let_a_scan_pass(site: Site, execution: Execution, step: int) -> None:
    """Write a save of one process and wait for it: all lower steps have been looked at since."""
    save = execution.folder / f"checkpoint-{step}"
    save.mkdir()
    (save / "model.safetensors").write_bytes(b"weights")
    (save / STATE).write_text(f'{{"global_step": {step}}}', "utf-8")
    site.wait_for(lambda: step in execution.steps(), f"the publication of {save.name}")


def youngest_ns(save: Path) -> int:
    """When the last file of a save was last written to."""
    return max(path.stat().st_mtime_ns for path in save.iterdir())


def copying_slowly(source: Path, target: Path) -> Iterator[int]:
    """Copy a file in chunks; after each but the last, and a pause, its number."""
    content = source.read_bytes()
    size = -(-len(content) // CHUNKS)
    with target.open("wb", buffering=0) as file:
        for number in range(CHUNKS):
            file.write(content[number * size : (number + 1) * size])
            if number < CHUNKS - 1:
                time.sleep(CHUNK_SECONDS)
                yield number


@pytest.mark.parametrize("flags", ["", "-ranks 2 -settle 0s"], ids=["as it shows", "ranks given"])
def test_a_save_whose_second_rank_is_late_is_published_when_it_is_whole(
    site: Site, flags: str
) -> None:
    """However late: Trainer writes its state without waiting for the other ranks."""
    run = site.start("job_ranks.sh", "1.1.0", 1_000_000, DISPATCH_TEST_WATCH=flags)
    run.wait_for_steps(1)
    held = run.folder / run.hold_next_save()
    site.wait_for((held / STATE).exists, "rank 0 to write the state")
    for number in range(3):
        let_a_scan_pass(site, run, CANARY + number)
        assert not (held / LATE).exists()
        assert int(held.name.removeprefix("checkpoint-")) not in run.steps()
    run.release_save()
    site.wait_for(lambda: int(held.name.removeprefix("checkpoint-")) in run.steps(), held.name)
    assert run.finish() == 0

    published = [entry for entry in site.log.entries() if entry.step < CANARY]
    assert len(published) >= 3
    for entry in published:
        save = site.save(entry)
        assert zipfile.is_zipfile(save / LATE)
        in_pub = site.root / "pub" / entry.name()
        assert in_pub.stat().st_mtime_ns >= youngest_ns(save), f"{save} was published too early"
    assert "passed over" not in run.printed()
    for number in range(3):
        shutil.rmtree(run.folder / f"checkpoint-{CANARY + number}")
    again = site.start("job_ranks.sh", "2.1.0", 2_000_000, DISPATCH_TEST_WATCH=flags)
    assert again.wait_for_event("started")["step"] == published[-1].step
    assert again.printed().count("the save is not there") == 3  # by resolve, which fell back
    assert again.finish() == 0


def test_a_rank_that_dies_before_its_file_leaves_no_publication(site: Site) -> None:
    """The state is there for ever; the watch names the save and what it lacks, at its end."""
    run = site.start("job_ranks.sh", "1.1.0", 1_000_000, DISPATCH_TEST_WATCH="")
    run.wait_for_steps(1)
    held = run.folder / run.hold_next_save()
    site.wait_for((held / STATE).exists, "rank 0 to write the state")
    run.signal(signal.SIGKILL, "pid-1")
    assert run.status() == 1
    assert int(held.name.removeprefix("checkpoint-")) not in run.steps()
    assert f"{held.name}: the save has no random state of rank 1" in run.printed()


def test_a_dcp_save_that_is_copied_metadata_first_is_published_when_it_is_whole(
    site: Site,
) -> None:
    """As a copy in the order of names does it; the last shard grows for longer than it settles."""
    run = site.start("job_dcp.sh", "1.1.0", 1_000_000, DISPATCH_TEST_SAVING="sync")
    run.wait_for_steps(1)
    assert run.finish() == 0
    source = site.save(site.log.entries()[0])
    files = sorted(path.name for path in source.iterdir())
    assert files == [".metadata", "__0_0.distcp", "__1_0.distcp"]

    copy = site.root / "exec/2.1.0/step-5"
    copy.mkdir(parents=True)
    flags = ["-checkpoint", str(site.root), "-framework", "dcp", "-interval", "100ms"]
    identity = ["-attempt", "2.1.0", "-epoch", "2000000"]
    watch = subprocess.Popen([*PUBLISH, "watch", *flags, *identity])
    entry = Entry(2_000_000, 5, "exec/2.1.0/step-5")
    try:
        for name in files[:-1]:
            shutil.copyfile(source / name, copy / name)
        canary = copy.with_name("step-1")
        canary.mkdir()
        (canary / ".metadata").write_bytes(b"another writer's")
        older = Entry(2_000_000, 1, "exec/2.1.0/step-1")
        site.wait_for(lambda: older in site.log.entries(), "a save that came later has settled")
        assert entry not in site.log.entries(), "published without its last shard"
        for number in copying_slowly(source / files[-1], copy / files[-1]):
            assert entry not in site.log.entries(), f"published after chunk {number}"
        site.wait_for(lambda: entry in site.log.entries(), "the copy is published")
        in_pub = site.root / "pub" / entry.name()
        assert in_pub.stat().st_mtime_ns >= youngest_ns(copy)
    finally:
        watch.send_signal(signal.SIGTERM)
        assert watch.wait() == 0
    assert site.resolved() == copy
