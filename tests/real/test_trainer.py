"""The job script of the documentation with the real Hugging Face Trainer.

One story, told once and looked at by all tests: run A is killed in the middle of a save. Its
replacement B resumes, is preempted by a SIGTERM to its trainer alone, and goes on. Its replacement
C resumes beside it, while B publishes late and at higher steps. C ends well and is restarted as D,
which ends well, too. Then B is killed.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo import reports
from dispatch.checkpoint import Entry
from tests.real.programs.executions import Execution, Site

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(400)]

SAVE_STEPS = 5
STATE = "trainer_state.json"


@dataclass(slots=True)
class Story:
    """What happened, and what was seen at each turn."""

    site: Site
    a: Execution
    b: Execution
    c: Execution
    d: Execution
    half_written: Path  # the save in which A was killed
    resolved_after_a: Path
    published_by_a: list[int]
    resolved_before_c: Path
    resumed_by_c: int
    published_by_b: list[int]  # when C had resumed
    status_of_a: int
    status_of_b: int
    status_of_c: int
    status_of_d: int
    steps_of_c: list[int]
    resolved_in_overlap: Path  # when both B and C had published
    late: list[Entry]  # B's publications after C's first, above its steps
    resolved_after_late: Path


def wait_for_late_publications(site: Site, old: Execution, new: Execution) -> list[Entry]:
    """What the old run publishes from now on, above the new one's steps."""
    before = set(site.log.entries())
    highest = max(new.steps())

    def late() -> list[Entry]:
        return [
            entry
            for entry in set(site.log.entries()) - before
            if entry.epoch == old.epoch and entry.step > highest
        ]

    site.wait_for(late, f"{old.attempt} publishes late, above {new.attempt}'s steps")
    return late()


def tell(site: Site) -> Story:
    """Let it all happen."""
    a = site.start("job.sh", "1.4101.0", 1_000_000)
    a.wait_for_steps(1)
    half_written = a.folder / a.hold_next_save()
    a.signal(signal.SIGKILL)
    status_of_a = a.status()
    resolved_after_a = site.resolved()
    published_by_a = a.steps()

    b = site.start("job.sh", "2.4102.0", 2_000_000)
    b.wait_for_steps(1)
    b.signal(signal.SIGTERM)
    saved_on_sigterm = b.wait_for_event("terminated")["step"]
    site.wait_for(lambda: saved_on_sigterm in b.steps(), "B's save on SIGTERM is published")

    resolved_before_c = site.resolved()
    c = site.start("job.sh", "3.4103.0", 3_000_000)
    resumed_by_c = c.wait_for_event("started")["step"]
    assert isinstance(resumed_by_c, int)
    published_by_b = b.steps()
    c.wait_for_steps(3)
    resolved_in_overlap = site.resolved()
    late = wait_for_late_publications(site, b, c)
    resolved_after_late = site.resolved()
    status_of_c = c.finish()
    steps_of_c = c.steps()
    d = site.start("job.sh", "3.4103.1", 3_000_001)
    status_of_d = d.finish()
    b.signal(signal.SIGKILL)
    status_of_b = b.status()
    return Story(
        site=site,
        a=a,
        b=b,
        c=c,
        d=d,
        half_written=half_written,
        resolved_after_a=resolved_after_a,
        published_by_a=published_by_a,
        resolved_before_c=resolved_before_c,
        resumed_by_c=resumed_by_c,
        published_by_b=published_by_b,
        status_of_a=status_of_a,
        status_of_b=status_of_b,
        status_of_c=status_of_c,
        status_of_d=status_of_d,
        steps_of_c=steps_of_c,
        resolved_in_overlap=resolved_in_overlap,
        late=late,
        resolved_after_late=resolved_after_late,
    )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The story, told once."""
    site = Site(tmp_path_factory.mktemp("trainer"))
    try:
        yield tell(site)
    finally:
        site.end()


def lineage(save: Path) -> list[tuple[str, int]]:
    """Which executions trained a save, and where each resumed, as Trainer's own state says."""
    links = reports.lineage_of(save)
    assert links is not None, f"{save} has no whole state"
    return [(link.attempt, link.step) for link in links]


def test_the_script_runs_unchanged(story: Story) -> None:
    if not story.site.is_unchanged:
        pytest.skip("job.sh ran with its first line changed: this user may not mount")


def test_a_save_that_was_being_written_at_the_kill_is_not_published(story: Story) -> None:
    assert (story.half_written / "model.safetensors").exists()
    assert not (story.half_written / STATE).exists()
    assert reports.step_of(story.half_written) not in story.published_by_a


def test_the_save_before_it_was_published_at_the_last_look(story: Story) -> None:
    half_written = reports.step_of(story.half_written)
    assert half_written
    assert max(story.published_by_a) == half_written - SAVE_STEPS
    assert story.resolved_after_a == story.a.folder / f"checkpoint-{half_written - SAVE_STEPS}"


def test_the_replacement_resumes_from_the_last_complete_save(story: Story) -> None:
    step = max(story.published_by_a)
    started = story.b.event("started")
    assert started
    assert started["step"] == step
    assert f"global step {step}\n" in story.b.printed()  # in Trainer's own words


def test_the_second_replacement_resumes_from_the_first_s_newest_publication(
    story: Story,
) -> None:
    assert story.resolved_before_c.parent == story.b.folder
    assert (reports.step_of(story.resolved_before_c) or 0) <= story.resumed_by_c
    assert story.resumed_by_c in story.published_by_b
    assert f"global step {story.resumed_by_c}\n" in story.c.printed()


def test_a_late_publication_at_a_higher_step_does_not_win(story: Story) -> None:
    assert story.resolved_in_overlap.parent == story.c.folder
    assert story.late
    assert all(entry.epoch == story.b.epoch for entry in story.late)
    assert story.resolved_after_late.parent == story.c.folder


def test_a_restart_after_the_late_publications_resumes_from_the_right_lineage(
    story: Story,
) -> None:
    step = max(story.steps_of_c)
    assert f"global step {step}\n" in story.d.printed()
    [newest] = story.d.steps()
    assert lineage(story.d.folder / f"checkpoint-{newest}") == [
        (story.a.attempt, 0),
        (story.b.attempt, max(story.published_by_a)),
        (story.c.attempt, story.resumed_by_c),
        (story.d.attempt, step),
    ]


def test_prune_keeps_the_latest_three(story: Story) -> None:
    entries = story.site.log.entries()
    assert [entry.epoch for entry in entries] == [story.c.epoch, story.c.epoch, story.d.epoch]
    assert story.site.resolved() == story.site.save(entries[-1])
    complete = [path.parent for path in (story.site.root / "exec").glob(f"*/*/{STATE}")]
    assert sorted(complete) == sorted(story.site.save(entry) for entry in entries)
    assert story.half_written.exists()  # it was never published, so it is nobody's to remove


def test_the_script_s_status_is_training_s(story: Story) -> None:
    killed = 128 + signal.SIGKILL
    assert (story.status_of_a, story.status_of_b) == (killed, killed)
    assert (story.status_of_c, story.status_of_d) == (0, 0)


def warnings(execution: Execution) -> list[str]:
    """What `publish` has said beside its publications."""
    said = [line for line in execution.printed().splitlines() if line.startswith("publish: ")]
    assert any("published step" in line for line in said)
    return [line for line in said if "published step" not in line]


def test_publish_warns_the_overtaken_run_alone(story: Story) -> None:
    assert warnings(story.a) == []
    assert warnings(story.c) == []
    assert warnings(story.d) == []
    [warning] = warnings(story.b)
    assert f"epoch {story.d.epoch}, above this execution's {story.b.epoch}" in warning
