"""One story with real `torch.distributed.checkpoint` saves, by two gloo processes, on any store.

Run A is killed in the middle of a save, by the loss of one rank. Its replacement B resumes; the
scheduler believes that it has ended, too, and starts C beside it, on two nodes, a `publish run` on
each. The second node comes when B, which heeds no SIGTERM, has published again. B goes on and
publishes late, at higher steps. C ends well and is restarted as D, and then B ends, too.

Each way of saving tells it once, in a fixture ``story``; `DcpStory` looks at it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass

from dispatch.checkpoint import Entry
from tests.real.programs.executions import (
    BOUND_S,
    FRAMEWORKS_PYTHON,
    PROGRAMS,
    REPOSITORY,
    Execution,
    Site,
)

RANKS = 2
LATE = 3  # saves that B publishes above C's, after C's first
OVERTAKEN = 76
RESUMING = re.compile(r"publish: resuming from step \d+: (\S+)\n")


@dataclass(slots=True)
class Story:
    """What happened, and what was seen at each turn."""

    site: Site
    a: Execution
    b: Execution
    c: Execution
    d: Execution
    half_written: str  # the save in which A lost a rank
    published_by_a: list[int]
    status_of_a: int
    resolved_before_c: str
    resolved_before_last_rank: str  # when C's other rank had its save to resume from
    resumes_of_c: list[str]  # as its first node said it, its second, and a start after its saves
    late: list[Entry]
    resolved_while_late: list[str]  # after each of B's late publications
    status_of_c: int
    steps_of_c: list[int]
    status_of_d: int
    status_of_b: int
    left_by_b: list[Entry]  # its publications at its end
    resolved_after_b: str


def tell(site: Site, script: str, form: str) -> Story:
    """Let it all happen.

    Args:
        site: The root.
        script: The job script, one of `PROGRAMS`.
        form: How it saves: ``sync`` or ``async``.
    """
    site.variables["DISPATCH_TEST_SAVING"] = form
    a, half_written, status_of_a = lose_a_rank(site, script)
    published_by_a = a.steps()

    b = site.start(script, "2.4102.0", 2_000_000)
    b.wait_for_steps(1)
    resolved_before_c = site.answer()

    c, other, resolved_before_last_rank = start_on_two_nodes(site, script, b)
    resumes = [*RESUMING.findall(c.printed()), *RESUMING.findall(other.printed())]
    resumes.append(started_again(site, c))
    late, answers = publish_late(site, b, c)
    c.wait_for_steps(2)
    status_of_c = c.finish()
    steps_of_c = c.steps()
    assert other.status() == status_of_c
    d = site.start(script, "3.4103.1", 3_000_001)
    status_of_d = d.finish()
    status_of_b = b.finish()
    left_by_b = [entry for entry in site.log.entries() if entry.epoch == b.epoch]
    resolved_after_b = site.answer()
    site.publish("prune", "-keep", "3")  # B has published after D's own
    return Story(
        site=site,
        a=a,
        b=b,
        c=c,
        d=d,
        half_written=half_written,
        published_by_a=published_by_a,
        status_of_a=status_of_a,
        resolved_before_c=resolved_before_c,
        resolved_before_last_rank=resolved_before_last_rank,
        resumes_of_c=[save.partition("/exec/")[2] for save in resumes],
        late=late,
        resolved_while_late=answers,
        status_of_c=status_of_c,
        steps_of_c=steps_of_c,
        status_of_d=status_of_d,
        status_of_b=status_of_b,
        left_by_b=left_by_b,
        resolved_after_b=resolved_after_b,
    )


def lose_a_rank(site: Site, script: str) -> tuple[Execution, str, int]:
    """Kill one rank of run A in a save, with both shards written: A, the save, A's status."""
    a = site.start(script, "1.4101.0", 1_000_000)
    a.wait_for_steps(2)
    half_written = f"{a.location}/{a.hold_next_save()}"
    site.wait_for(lambda: len(shards(site, half_written)) == RANKS, "both shards are written")
    a.signal(signal.SIGKILL, "pid-1")
    return a, half_written, a.status()


def start_on_two_nodes(site: Site, script: str, old: Execution) -> tuple[Execution, Execution, str]:
    """Start run C, one rank on each node, the second after a further publication of the old run.

    Returns:
        C as it is on both, and what is resolved when the second starts.
    """
    meeting = f"file://{site.folder / 'meeting'}"
    c = site.start(script, "3.4103.0", 3_000_000, RANK="0", MEETING=meeting)
    site.wait_for(lambda: RESUMING.search(c.printed()), "C has a save to resume from")
    earlier = old.steps()
    site.wait_for(lambda: len(old.steps()) > len(earlier), "B publishes again")
    resolved = site.answer()
    other = site.start(script, c.attempt, c.epoch, node=".1", RANK="1", MEETING=meeting)
    c.wait_for_steps(1)
    return c, other, resolved


def publish_late(site: Site, old: Execution, new: Execution) -> tuple[list[Entry], list[str]]:
    """Wait for the old run's publications above the new one's: those, and what each resolves to."""
    late: list[Entry] = []
    answers = []
    while len(late) < LATE:
        known = set(site.log.entries())
        site.wait_for(lambda: above(site, old, new) - known, "B publishes late, above C's steps")  # noqa: B023 - called at once
        late += above(site, old, new) - known
        answers.append(site.answer())
    return late, answers


def started_again(site: Site, execution: Execution) -> str:
    """What a further start of an execution is told to resume from, when it has saved already."""
    identity = ("-attempt", execution.attempt, "-epoch", str(execution.epoch))
    show = ("--", "printenv", "DISPATCH_RESUME")
    return site.publish("run", "-framework", "dcp", *identity, *show).removesuffix("\n")


def shards(site: Site, save: str) -> list[str]:
    """The shards that a save has so far."""
    return [name for name in site.files(save) if name.endswith(".distcp")]


def above(site: Site, old: Execution, new: Execution) -> set[Entry]:
    """What the old run has published at steps above all of the new one's."""
    highest = max(new.steps())
    return {e for e in site.log.entries() if e.epoch == old.epoch and e.step > highest}


def steps_by_execution(holder: dict[str, object]) -> list[tuple[int, int]]:
    """Who took the steps in a save, in order: (epoch, last step). Both ranks must agree."""
    rows = holder["rows"]
    assert isinstance(rows, list)
    first, second = rows
    assert first == second
    assert holder["beyond"] == 0
    assert len(first) == holder["step"]
    if not first:
        return []
    changes = [at for at in range(1, len(first)) if first[at] != first[at - 1]]
    return [(first[at - 1], at) for at in [*changes, len(first)]]


def read(site: Site, save: str, program: str) -> dict[str, object]:
    """What a save holds, as `dcp.load` reads it in a process of its own."""
    done = subprocess.run(
        [FRAMEWORKS_PYTHON, str(PROGRAMS / program), "--read", save],
        env={**os.environ, **site.variables, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        timeout=BOUND_S,
        check=True,
    )
    holder: dict[str, object] = json.loads(done.stdout)
    return holder


def folder_of(save: str) -> str:
    return save.rpartition("/")[0]


def step_of(save: str) -> int:
    return int(save.rpartition("/step-")[2])


class DcpStory:
    """What must have come of the story, wherever the saves are and whoever wrote them."""

    program = "train_dcp.py"

    def test_a_save_that_lost_a_rank_is_never_published(self, story: Story) -> None:
        assert story.site.files(story.half_written) == ["__0_0.distcp", "__1_0.distcp"]
        assert step_of(story.half_written) not in story.published_by_a
        assert story.status_of_a == 1

    def test_the_replacement_loads_the_last_complete_save(self, story: Story) -> None:
        started = story.b.event("started")
        assert started
        last = max(story.published_by_a)
        assert last < step_of(story.half_written)
        assert steps_by_execution(started) == [(story.a.epoch, last)]

    def test_the_second_replacement_loads_the_lineage_that_was_published(
        self, story: Story
    ) -> None:
        started = story.c.event("started")
        assert started
        resumed_at = started["step"]
        assert isinstance(resumed_at, int)
        assert resumed_at >= step_of(story.resolved_before_c)
        assert steps_by_execution(started) == [
            (story.a.epoch, max(story.published_by_a)),
            (story.b.epoch, resumed_at),
        ]

    def test_a_rank_that_starts_late_resumes_where_the_others_did(self, story: Story) -> None:
        first, *others = story.resumes_of_c
        assert others == [first, first]
        started = story.c.event("started")
        assert started
        assert started["step"] == step_of(first) < step_of(story.resolved_before_last_rank)

    def test_the_overtaken_run_is_told_once_and_prunes_nothing(self, story: Story) -> None:
        assert len(story.b.events("terminated")) == 1
        assert story.status_of_b == OVERTAKEN
        assert set(story.left_by_b) - set(story.late), "its last save is not published"
        assert folder_of(story.resolved_after_b) == story.d.location

    def test_a_late_publication_at_a_higher_step_does_not_win(self, story: Story) -> None:
        assert len(story.late) >= LATE
        assert {entry.epoch for entry in story.late} == {story.b.epoch}
        assert {folder_of(save) for save in story.resolved_while_late} == {story.c.location}

    def test_a_restart_after_the_late_publications_loads_the_right_lineage(
        self, story: Story
    ) -> None:
        assert story.status_of_c == 0
        of_c = story.c.event("started")
        of_d = story.d.event("started")
        assert of_c
        assert of_d
        expected = [*steps_by_execution(of_c), (story.c.epoch, max(story.steps_of_c))]
        assert steps_by_execution(of_d) == expected

    def test_prune_keeps_the_latest_three_and_they_load(self, story: Story) -> None:
        assert story.status_of_d == 0
        site = story.site
        entries = site.log.entries()
        assert [entry.epoch for entry in entries] == [story.c.epoch, story.c.epoch, story.d.epoch]
        latest = site.log.location(entries[-1])
        assert site.answer() == latest
        started = story.d.event("started")
        assert started
        expected = [*steps_by_execution(started), (story.d.epoch, entries[-1].step)]
        assert steps_by_execution(read(site, latest, self.program)) == expected
        assert site.files(story.half_written)  # never published, so it is nobody's to remove

    def test_prune_deletes_the_saves_before_them(self, story: Story) -> None:
        for step in story.published_by_a:
            assert story.site.files(f"{story.a.location}/step-{step}") == []
        for entry in story.late:
            assert story.site.files(story.site.log.location(entry)) == []
