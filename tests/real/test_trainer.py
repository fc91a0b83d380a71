"""`publish run` with the real Hugging Face Trainer, and the job script that does without it.

One story, told once and looked at by all tests: run A loses its `publish run`, saves once more, and
is killed in the middle of the save after that. Its replacement B resumes, is preempted by a SIGTERM
to its trainer alone, and goes on. Its replacement C resumes beside it, while B, which C's claim has
overtaken, publishes late and at higher steps. C ends well and is restarted as D, which ends well,
too. Then B ends.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo import reports
from dispatch.checkpoint import Entry
from tests.real.programs.executions import Execution, Site

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(900)]

SCRIPT = "job_run.sh"
LONG_SCRIPT = "job.sh"
OVERTAKEN = 76
NEWS = re.compile(r"publish: (published|adopted|pruned|resuming from|nothing is published)")
STATE = "trainer_state.json"


@dataclass(slots=True)
class Story:
    """What happened, and what was seen at each turn."""

    site: Site
    a: Execution
    b: Execution
    c: Execution
    d: Execution
    published_by_a: list[int]
    lost: list[int]  # A's complete saves that it didn't publish
    half_written: Path  # the save in which A was killed
    resolved_after_a: Path
    saved_on_sigterm: int
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
    entries_after_d: list[Entry]
    entries_after_b: list[Entry]
    resolved_after_b: Path


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
    a, half_written = lose_publish(site)
    published_by_a = a.steps()
    resolved_after_a = site.resolved()

    b = site.start(SCRIPT, "2.4102.0", 2_000_000)
    b.wait_for_steps(1)
    b.signal(signal.SIGTERM)
    saved_on_sigterm = b.wait_for_event("terminated")["step"]
    assert isinstance(saved_on_sigterm, int)
    site.wait_for(lambda: saved_on_sigterm in b.steps(), "B's save on SIGTERM is published")

    resolved_before_c = site.resolved()
    c = site.start(SCRIPT, "3.4103.0", 3_000_000)
    resumed_by_c = c.wait_for_event("started")["step"]
    assert isinstance(resumed_by_c, int)
    published_by_b = b.steps()
    c.wait_for_steps(3)
    resolved_in_overlap = site.resolved()
    late = wait_for_late_publications(site, b, c)
    resolved_after_late = site.resolved()
    status_of_c = c.finish()
    steps_of_c = c.steps()
    d = site.start(SCRIPT, "3.4103.1", 3_000_001)
    status_of_d = d.finish()
    entries_after_d = site.log.entries()
    status_of_b = b.finish()
    entries_after_b = site.log.entries()
    resolved_after_b = site.resolved()
    site.publish("prune", "-keep", "3")  # B has published after D's own
    return Story(
        site=site,
        a=a,
        b=b,
        c=c,
        d=d,
        published_by_a=published_by_a,
        lost=[step for step in saved(a) if step not in published_by_a],
        half_written=half_written,
        resolved_after_a=resolved_after_a,
        saved_on_sigterm=saved_on_sigterm,
        resolved_before_c=resolved_before_c,
        resumed_by_c=resumed_by_c,
        published_by_b=published_by_b,
        status_of_a=a.status(),
        status_of_b=status_of_b,
        status_of_c=status_of_c,
        status_of_d=status_of_d,
        steps_of_c=steps_of_c,
        resolved_in_overlap=resolved_in_overlap,
        late=late,
        resolved_after_late=resolved_after_late,
        entries_after_d=entries_after_d,
        entries_after_b=entries_after_b,
        resolved_after_b=resolved_after_b,
    )


def lose_publish(site: Site) -> tuple[Execution, Path]:
    """Kill run A's `publish run`, and A itself in the save after the next: A, and that save."""
    a = site.start(SCRIPT, "1.4101.0", 1_000_000)
    a.wait_for_steps(1)
    a.signal(signal.SIGKILL, "pid-publish")
    a.status()
    published = max(a.steps())
    site.wait_for(lambda: max(saved(a), default=0) > published, "A saves what nobody publishes")
    half_written = a.folder / a.hold_next_save()
    a.end()
    return a, half_written


def saved(execution: Execution) -> list[int]:
    """The steps that a trainer has saved, as it tells itself."""
    return [step for event in execution.events("saved") if isinstance(step := event["step"], int)]


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


def test_the_scripts_run_unchanged(story: Story) -> None:
    if not story.site.is_unchanged:
        pytest.skip("the scripts ran with their first line changed: this user may not mount")


def test_a_save_that_was_being_written_at_the_kill_is_not_published(story: Story) -> None:
    assert (story.half_written / "model.safetensors").exists()
    assert not (story.half_written / STATE).exists()
    assert reports.step_of(story.half_written) not in story.published_by_a


def test_what_was_saved_when_publish_had_died_is_not_lost(story: Story) -> None:
    """A's own `publish run` is gone, and the start of its replacement publishes it."""
    assert story.lost
    assert story.resolved_after_a == story.a.folder / f"checkpoint-{max(story.published_by_a)}"
    adopted = [line for line in said_by(story.b) if "publish: adopted" in line]
    assert adopted == [
        f"publish: adopted step {step}, so far unpublished: "
        f"{story.site.in_script(story.a.folder / f'checkpoint-{step}')}"
        for step in story.lost
    ]


def test_the_replacement_resumes_from_the_last_complete_save(story: Story) -> None:
    step = max(story.lost)
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
        (story.b.attempt, max(story.lost)),
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


def test_the_save_made_on_sigterm_is_published(story: Story) -> None:
    """The scheduler's to the trainer alone, after which `publish run` stays."""
    assert story.saved_on_sigterm in story.published_by_b


def test_an_overtaken_run_is_told_once_and_its_last_save_is_published(story: Story) -> None:
    """It goes on: Trainer saves at SIGTERM, and here it doesn't end."""
    on_sigterm = [event["step"] for event in story.b.events("terminated")]
    assert len(on_sigterm) == 2  # the scheduler's, and the one that C's claim brought
    assert on_sigterm[0] < on_sigterm[1]  # type: ignore[operator]  # steps
    [warning] = [line for line in said_by(story.b) if "overtaken" in line]
    assert f"of epoch {story.c.epoch}, has claimed the root" in warning
    last = saved(story.b)[-1]
    assert (story.b.epoch, last) in [(entry.epoch, entry.step) for entry in story.entries_after_b]


def test_an_overtaken_run_prunes_nothing_and_never_wins(story: Story) -> None:
    of_d = [entry for entry in story.entries_after_d if entry.epoch != story.b.epoch]
    kept = [entry for entry in story.entries_after_b if entry.epoch != story.b.epoch]
    assert kept == of_d
    before = {entry for entry in story.entries_after_d if entry.epoch == story.b.epoch}
    after = {entry for entry in story.entries_after_b if entry.epoch == story.b.epoch}
    assert before < after  # with -keep 3 a prune of its own would take them
    assert story.resolved_after_b.parent == story.d.folder


def test_the_status_is_the_command_s_or_tells_why_not(story: Story) -> None:
    assert story.status_of_a == 128 + signal.SIGKILL
    assert (story.status_of_c, story.status_of_d) == (0, 0)
    assert story.status_of_b == OVERTAKEN  # its trainer ended with 0


def said_by(execution: Execution) -> list[str]:
    """What `publish` has said."""
    return [line for line in execution.printed().splitlines() if line.startswith("publish: ")]


def test_publish_says_nothing_to_who_is_not_overtaken(story: Story) -> None:
    for execution in (story.a, story.c, story.d):
        said = said_by(execution)
        assert said
        assert [line for line in said if not NEWS.match(line)] == []


def test_the_long_script_does_the_same_without_claims(tmp_path: Path) -> None:
    """The how-to's: it names what it passes over, resumes from the save before, and prunes."""
    site = Site(tmp_path)
    try:
        a = site.start(LONG_SCRIPT, "1.4101.0", 1_000_000)
        a.wait_for_steps(1)
        half_written = a.folder / a.hold_next_save()
        a.signal(signal.SIGKILL)
        assert a.status() == 128 + signal.SIGKILL
        published = a.steps()
        b = site.start(LONG_SCRIPT, "2.4102.0", 2_000_000)
        assert b.wait_for_event("started")["step"] == max(published)
        b.wait_for_steps(3)
        assert b.finish() == 0
        assert [entry.epoch for entry in site.log.entries()] == [b.epoch] * 3
        [passed_over] = [line for line in said_by(a) if not NEWS.match(line)]
        assert passed_over == (
            f"publish: warning: passed over: {site.in_script(half_written)}: "
            "the save has no trainer_state.json"
        )
    finally:
        site.end()
