"""The real Hugging Face Trainer, whose saves a job script uploads to S3.

One story, told once and looked at by all tests: run A loses its node when all of a save but its
marker is uploaded. Its replacement B resumes, and everything of it gets a SIGTERM; it goes on. Its
replacement C resumes beside it, while B publishes late and at higher steps. C ends well.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry
from tests.real.dcp_story import above
from tests.real.programs.buckets import BUCKET, PREFIX, BucketSite
from tests.real.programs.executions import Execution
from tests.servers.s3 import S3Server

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(400)]

SCRIPT = "job_hf_s3.sh"
STATE = "trainer_state.json"


@dataclass(slots=True)
class Story:
    """What happened, and what was seen at each turn."""

    site: BucketSite
    a: Execution
    b: Execution
    c: Execution
    half_uploaded: str  # the save whose marker A didn't upload
    files_of_half: list[str]
    published_by_a: list[int]
    saved_on_sigterm: int
    resumed_by_c: int
    published_by_b: list[int]  # when C had resumed
    late: list[Entry]  # B's publications after C's first, above its steps
    resolved_after_late: str
    writes_of_late: list[list[str]]
    status_of_c: int


def hold_next_upload(site: BucketSite, execution: Execution) -> str:
    """Stop it before the marker of the next upload; the save's location."""
    control = execution.output.parent
    (control / "hold-upload").touch()
    held = control / "held-upload"
    site.wait_for(lambda: held.exists() and held.read_text("utf-8"), "an upload that is held")
    return "s3://" + held.read_text("utf-8").strip().removeprefix("store:").removesuffix(
        f"/{STATE}"
    )


def tell(site: BucketSite) -> Story:
    """Let it all happen."""
    a = site.start(SCRIPT, "1.4101.0", 1_000_000)
    a.wait_for_steps(1)
    half_uploaded = hold_next_upload(site, a)
    a.end()
    files_of_half = site.files(half_uploaded)
    published_by_a = a.steps()

    b = site.start(SCRIPT, "2.4102.0", 2_000_000)
    b.wait_for_steps(1)
    os.killpg(b.process.pid, signal.SIGTERM)  # as a scheduler may: the shell, the upload and all
    saved_on_sigterm = b.wait_for_event("terminated")["step"]
    assert isinstance(saved_on_sigterm, int)
    site.wait_for(lambda: saved_on_sigterm in b.steps(), "B's save on SIGTERM is published")

    c = site.start(SCRIPT, "3.4103.0", 3_000_000)
    resumed_by_c = c.wait_for_event("started")["step"]
    assert isinstance(resumed_by_c, int)
    published_by_b = b.steps()
    c.wait_for_steps(2)
    known = above(site, b, c)
    site.wait_for(lambda: above(site, b, c) - known, "B publishes late, above C's steps")
    late = list(above(site, b, c) - known)
    resolved_after_late = site.answer()
    writes_of_late = [site.writes(site.log.location(entry)) for entry in late]
    status_of_c = c.finish()
    b.end()
    site.publish("prune", "-keep", "3")  # B may have published after C's own
    return Story(
        site=site,
        a=a,
        b=b,
        c=c,
        half_uploaded=half_uploaded,
        files_of_half=files_of_half,
        published_by_a=published_by_a,
        saved_on_sigterm=saved_on_sigterm,
        resumed_by_c=resumed_by_c,
        published_by_b=published_by_b,
        late=late,
        resolved_after_late=resolved_after_late,
        writes_of_late=writes_of_late,
        status_of_c=status_of_c,
    )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, radosgw: S3Server) -> Iterator[Story]:
    """The story, told once."""
    site = BucketSite(tmp_path_factory.mktemp("trainer-s3"), radosgw)
    try:
        yield tell(site)
    finally:
        site.end()


def step_of(save: str) -> int:
    return int(save.rpartition("/checkpoint-")[2])


def test_a_save_that_was_half_uploaded_is_not_published_nor_complete(story: Story) -> None:
    assert "model.safetensors" in story.files_of_half
    assert STATE not in story.files_of_half
    assert step_of(story.half_uploaded) not in story.published_by_a
    before = story.site.log.entries()
    identity = ("-attempt", story.a.attempt, "-epoch", str(story.a.epoch))
    saves = ("-saves", story.a.location)
    story.site.publish("watch", "-framework", "hf", "-once", *identity, *saves)
    assert story.site.log.entries() == before


def test_the_replacement_downloads_and_resumes_from_the_last_publication(story: Story) -> None:
    step = max(story.published_by_a)
    started = story.b.event("started")
    assert started
    assert started["step"] == step
    assert f"global step {step}\n" in story.b.printed()  # in Trainer's own words


def test_a_save_made_on_sigterm_is_uploaded_and_published(story: Story) -> None:
    assert story.saved_on_sigterm in story.published_by_b


def test_the_second_replacement_resumes_from_the_first_s_publication(story: Story) -> None:
    assert story.resumed_by_c in story.published_by_b
    assert f"global step {story.resumed_by_c}\n" in story.c.printed()


def test_a_late_publication_at_a_higher_step_does_not_win(story: Story) -> None:
    assert story.late
    assert story.resolved_after_late.startswith(f"{story.c.location}/")


def test_the_marker_is_the_last_file_that_the_store_has(story: Story) -> None:
    assert story.writes_of_late
    for names in story.writes_of_late:
        assert names.count(STATE) == 1
        assert names[-1] == STATE
        assert {"model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"} <= set(names)


def test_prune_keeps_the_latest_three_and_deletes_the_others(story: Story) -> None:
    assert story.status_of_c == 0
    site = story.site
    entries = site.log.entries()
    assert [entry.epoch for entry in entries] == [story.c.epoch] * 3
    for entry in entries:
        assert STATE in site.files(site.log.location(entry))
    for execution, steps in ((story.a, story.published_by_a), (story.b, story.published_by_b)):
        for step in steps:
            assert site.files(f"{execution.location}/checkpoint-{step}") == []


def test_the_node_keeps_the_newest_save_alone(story: Story) -> None:
    local = Path(story.c.output.parent) / f"saves.{story.c.attempt}"
    newest = max(story.c.steps())
    assert [path.name for path in local.glob("checkpoint-*[0-9]")] == [f"checkpoint-{newest}"]


def test_a_save_whose_marker_is_gone_is_not_resumed_from(
    tmp_path: Path, seaweedfs: S3Server
) -> None:
    """A prune deletes it first; and to rclone it is a success that there was nothing to copy."""
    site = BucketSite(tmp_path, seaweedfs)
    save = "exec/1.4101.0/checkpoint-5"
    key = f"{PREFIX}/{save}/model.safetensors"
    seaweedfs.client().put_object(Bucket=BUCKET, Key=key, Body=b"weights")
    site.log.publish(1_000_000, 5, save)
    execution = site.start(SCRIPT, "2.4102.0", 2_000_000)
    try:
        assert execution.status() == 1
    finally:
        site.end()
    control = execution.output.parent
    assert (control / "saves.2.4102.0" / "resume" / "model.safetensors").exists()
    assert not (control / "pid").exists(), "the trainer was started"
