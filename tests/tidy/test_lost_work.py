"""The benchmark of lost work: what it calls a loss, its page, and a tiny run for real."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from benchmarks.lost_work import __main__ as program
from benchmarks.lost_work.job import Job
from benchmarks.lost_work.outcome import Outcome, summary
from benchmarks.lost_work.preemption import PreemptionError
from benchmarks.lost_work.report import COLUMNS, Conditions, page, table
from benchmarks.lost_work.scenario import (
    LAST_LOOK,
    LINES,
    PRUNE,
    Moment,
    Plan,
    Scale,
    Script,
    plans,
)
from tests.cli.program import wait_for
from tests.docs.pages import ROOT, blocks
from tests.tidy.test_benchmarks import check_machine

HOW_TO = ROOT / "docs/how-to/publish-from-a-job-script.md"
PAGE = ROOT / "docs/reference/lost-work.md"
OLD, OTHER = "1.4101.0", "1.4101.1"


def plan_of(script: Script = Script.RUN, moment: Moment = Moment.AT_ONCE) -> Plan:
    return Plan(number=0, script=script, moment=moment, signal_seconds=3, last_save_seconds=9)


def outcome(
    resumed: int | None = 100,
    *,
    reached: int = 150,
    is_saved: bool = True,
    is_published: bool = True,
    attempts: tuple[str, ...] = (OLD,),
    failed_starts: int = 0,
    idle_seconds: float = 1.0,
    plan: Plan | None = None,
) -> Outcome:
    return Outcome(
        plan=plan or plan_of(),
        reached=reached,
        is_saved=is_saved,
        is_published=is_published,
        resumed=resumed,
        attempts=attempts,
        old_attempt=OLD,
        failed_starts=failed_starts,
        idle_seconds=idle_seconds,
        pace=1.0,
    )


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("resumed", "lost"),
    [
        pytest.param(150, 0, id="the save on SIGTERM"),
        pytest.param(100, 50, id="the regular save before it"),
        pytest.param(0, 150, id="from scratch"),
        pytest.param(None, 150, id="never"),
    ],
)
def test_lost_is_what_lies_between_the_last_step_and_the_resume(
    resumed: int | None, lost: int
) -> None:
    assert outcome(resumed).lost() == lost


@pytest.mark.parametrize(
    ("resumed", "attempts", "is_wrong"),
    [
        (100, (OLD,), False),
        (100, (OTHER,), True),
        (100, (OLD, OTHER), True),
        (100, (), True),
        (0, (), False),
        (None, (), False),
    ],
)
def test_a_lineage_is_right_when_the_old_run_alone_trained_the_save(
    resumed: int | None, attempts: tuple[str, ...], is_wrong: bool
) -> None:
    assert outcome(resumed, attempts=attempts).is_of_wrong_lineage() is is_wrong


def test_a_summary_counts_each_thing_by_itself() -> None:
    found = summary(
        [
            outcome(150, idle_seconds=20),
            outcome(100, is_published=False, failed_starts=3),
            outcome(100, reached=160, is_saved=False, is_published=False),
            outcome(None, failed_starts=1, idle_seconds=2, attempts=()),
            outcome(40, reached=50, attempts=(OTHER,), idle_seconds=3),
        ]
    )
    assert (found.count, found.mean, found.median, found.most) == (5, 54, 50, 150)
    assert (found.saved, found.unused, found.unpublished) == (4, 3, 1)
    assert (found.failed, found.failed_starts, found.never) == (2, 4, 1)
    assert (found.wrong_lineage, found.idle_seconds) == (1, 2)


def test_all_scripts_and_moments_get_the_same_draws() -> None:
    scale = Scale(last_save_seconds_max=25)
    made = list(plans(20, scale))
    assert len({(plan.script, plan.moment) for plan in made}) == len(Script) * len(Moment)
    draws = {(plan.number, plan.signal_seconds, plan.last_save_seconds) for plan in made}
    assert len(draws) == 20
    assert len(made) == 20 * len(Script) * len(Moment)
    assert made == list(plans(20, scale))
    assert made != list(plans(20, scale, seed=5))
    assert all(
        0 <= plan.signal_seconds <= 10 and 0 <= plan.last_save_seconds <= 25 for plan in made
    )
    assert max(plan.last_save_seconds for plan in made) > 12


def outcomes() -> Iterator[Outcome]:
    for moment in Moment:
        for number, script in enumerate(Script):
            resumed = 150 - 10 * number - (5 if moment is Moment.AT_ONCE else 0)
            yield outcome(resumed, plan=plan_of(script, moment), failed_starts=number)


def test_a_table_has_a_row_for_each_script_with_its_own_numbers() -> None:
    head, _, *rows = map(cells, table(Moment.AT_ONCE, outcomes()).splitlines())
    assert head == list(COLUMNS)
    assert [row[0] for row in rows] == [script.value for script in Script]
    assert [row[head.index("most")] for row in rows] == ["5", "15", "25", "35"]
    assert [row[head.index("failed (starts)")] for row in rows] == [
        "0 (0)", "1 (1)", "1 (2)", "1 (3)",
    ]  # fmt: skip
    assert [row[head.index("unpublished")] for row in rows] == ["", *["0 of 1"] * 3]


def test_a_page_has_both_tables_and_what_they_depend_on() -> None:
    conditions = Conditions(
        scale=Scale(step_seconds=0.25, save_steps=40),
        machine=("a machine", "ext4 on its disk"),
        date=date(2026, 11, 30),
        at_a_time=7,
        used=0.5,
        busy=1.2,
    )
    written = page(conditions, outcomes())
    for moment in Moment:
        assert table(moment, outcomes()) in written
    for part in ("2026-11-30: a machine; ext4 on its disk.", "7 preemptions", "0.25 s a step"):
        assert part in re.sub(r"\s+", " ", written)


def test_the_page_in_the_tree_is_of_a_whole_measurement() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"{program.COUNT} preemptions for each row" in text
    found = [cells(line)[0] for line in text.splitlines() if re.match(r"\|.*\d s \|$", line)]
    assert found == [script.value for script in Script] * len(Moment)


def test_the_scripts_are_those_of_the_documentation() -> None:
    scripts = ["\n".join(block.text.splitlines()[1:]) for block in blocks(HOW_TO, "bash")]
    assert (LINES + PRUNE).rstrip("\n") in scripts
    assert LAST_LOOK.rstrip("\n") in "\n".join(scripts)


@pytest.mark.real
@pytest.mark.timeout(900)
def test_a_tiny_run_for_real_loses_nothing_with_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk, written = tmp_path / "disk", tmp_path / "lost-work.md"
    disk.mkdir()
    status = program.main(
        [
            *("--count", "2", "--at-a-time", "8", "--step-seconds", "0.02", "--save-steps", "10"),
            *("--last-save-seconds", "2", "--kill-wait", "300"),
            *("--disk", str(disk), "--page", str(written)),
        ]
    )
    assert status == 0
    assert list(disk.iterdir()) == [], "the data was not removed"
    text = written.read_text(encoding="utf-8")
    check_machine(text)
    assert "16 of 16 after" in capsys.readouterr().out
    rows = [cells(line) for line in text.splitlines() if re.match(r"\|.*\d s \|$", line)]
    assert len(rows) == 8
    after_the_end = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows[4:]}
    for script in (Script.BARE, Script.LAST_LOOK, Script.RUN):
        row = after_the_end[script.value]
        assert (row["most"], row["unused"]) == ("0", "0 of 2"), row
    for row in (dict(zip(COLUMNS, row, strict=True)) for row in rows):
        assert (row["never"], row["wrong"]) == ("0", "0"), row
        if row["job script"] in {Script.LAST_LOOK.value, Script.RUN.value}:
            assert row["unpublished"] == "0 of 2", row


ONE_FAILS = """\
#!/bin/sh
case $CKPT in */0/root) echo no luck today; exit 3 ;; esac
exec sleep 600
"""


def write_a_python_that_fails_once(folder: Path, _: Scale) -> None:
    folder.mkdir()
    (folder / "python").write_text(ONE_FAILS, encoding="utf-8")
    (folder / "python").chmod(0o755)


def test_the_first_preemption_that_goes_wrong_ends_all_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(program, "write_programs", write_a_python_that_fails_once)
    planned = [plan_of(Script.BARE)] * 3
    with pytest.raises(PreemptionError, match="no luck today"):
        list(program.measure(planned, Scale(), tmp_path, at_a_time=3))


OWN_GROUPS = """\
set -m          # each child in a process group of its own, as `publish run` has it
{trap}
sleep 600 &
sh -c 'sleep 600; :' &
wait; wait; wait
"""


def test_a_signal_reaches_every_process_of_a_job(tmp_path: Path) -> None:
    path = {"PATH": os.defpath}
    with Job(OWN_GROUPS.format(trap="trap : TERM"), tmp_path / "job.log", path) as job:
        wait_for(lambda: len(job._processes()) == 4, "the shell and its three")
        assert not job.has_ended()
        job.send(signal.SIGTERM)
        wait_for(job.has_ended, "the end of the job")


def test_no_process_of_a_job_is_left(tmp_path: Path) -> None:
    path = {"PATH": os.defpath}
    with Job(OWN_GROUPS.format(trap="trap '' TERM"), tmp_path / "job.log", path) as job:
        wait_for(lambda: len(job._processes()) == 4, "the shell and its three")
        job.send(signal.SIGTERM)  # which they ignore
    assert job.has_ended()


def test_a_wrong_number_is_a_usage_error() -> None:
    command = [sys.executable, "-m", "benchmarks.lost_work", "--save-steps", "many"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == 2
    assert b"invalid int value: 'many'" in ended.stderr
