"""The benchmarks run, at sizes that say nothing about time, and write a page without secrets."""

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import bucket
from benchmarks.data import entry_names, fill_with_entries
from benchmarks.machine import file_system
from benchmarks.measuring import Comparison, Effort, Result, compare
from benchmarks.report import page, shown_seconds
from dispatch.checkpoint import open_store, parse_entry_name

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.real
def test_every_benchmark_runs_and_the_page_has_its_ratio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk, written = tmp_path / "disk", tmp_path / "performance.md"
    disk.mkdir()
    status = program.main(
        ["3", "2k", "--rounds", "2", "--seconds", "0", "--disk", str(disk), "--page", str(written)]
    )
    assert status == 0
    text = written.read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines()]
    rows = [row for row in rows if len(row) > 1]
    first_cells = " ".join(row[0] for row in rows)
    for what in ("publish, created", "publish, already there", "resolve, folder quiet", "plan"):
        assert what in first_cells
    ratios = sum(bool(re.search(r"\d\.\d\d \(\d", " ".join(row))) for row in rows)
    printed = [line for line in capsys.readouterr().out.splitlines() if line[:4] != "S3: "]
    assert ratios == len(printed) - 1
    assert list(disk.iterdir()) == [], "the data was not removed"
    check_machine(text)
    if missing := bucket.missing():
        pytest.skip(f"not installed: {', '.join(missing)}; the rest was measured")
    assert len([row for row in rows if row[2].startswith("radosgw ")]) == 7


def test_a_gateway_that_is_not_installed_is_told_on_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bucket, "missing", lambda: ["radosgw (Debian's radosgw)"])
    section = program.on_s3([3], Effort(rounds_max=2, seconds=0), tmp_path)
    written = page(["a machine"], [section])
    assert "## S3\n" in written
    assert "Not measured here: not installed are radosgw (Debian's radosgw)." in written


def check_machine(text: str) -> None:
    """Check that a page says what the numbers depend on, and names no host and no path."""
    assert platform.node() not in text
    assert not re.search(r"/(tmp|home|root|work|dev)\b", text)
    assert platform.release() in text
    assert platform.python_version() in text


def test_a_wrong_size_is_a_usage_error() -> None:
    command = [sys.executable, "-m", "benchmarks", "many"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == 2
    assert b"invalid size_of value: 'many'" in ended.stderr


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("1k", 1000), ("100k", 100_000), ("1M", 1_000_000)]
)
def test_sizes_have_suffixes(text: str, number: int) -> None:
    assert program.size_of(text) == number


def test_the_data_is_what_the_log_itself_would_write(tmp_path: Path) -> None:
    fill_with_entries(tmp_path / "pub", 2500)
    entries = open_store(tmp_path).entries()
    names = [entry.name() for entry, _ in zip(entries, range(2500), strict=True)]
    made = entry_names()
    assert names == [next(made) for _ in names]
    assert parse_entry_name(names[1000]).save == "exec/2.4102.0/checkpoint-500"


def test_both_are_measured_in_turn_and_the_first_changes() -> None:
    called: list[str] = []
    comparison = Comparison(
        what="ours",
        against="bare",
        measured=lambda: called.append("ours"),
        bare=lambda: called.append("bare"),
        prepare=lambda: called.append("prepared"),
        rounds_min=3,
    )
    result = compare(comparison, Effort(rounds_max=5, seconds=0))
    assert called[::2] == ["prepared"] * 8
    assert called[1::2] == ["ours", "bare", "bare", "ours", "ours", "bare", "bare", "ours"]
    assert len(result.measured) == len(result.bare) == 3


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    comparison = Comparison(what="", against="", measured=list, bare=list)
    result = Result(
        comparison=comparison, measured=(2.0, 30.0, 4.0, 5.0, 6.0), bare=(1.0, 10.0, 1.0, 1.0, 1.0)
    )
    assert result.ratios() == (3.0, 4.0, 5.0)
    assert result.medians() == (5.0, 1.0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (12.345, "12.3 s"),
        (0.0123, "12.3 ms"),
        (1.5e-5, "15 \N{MICRO SIGN}s"),
        (2e-9, "2 ns"),
        (1e-10, "0.10 ns"),
    ],
)
def test_times_have_their_unit(seconds: float, shown: str) -> None:
    assert shown_seconds(seconds) == shown


def test_a_file_system_is_told_by_its_type() -> None:
    assert file_system(Path("/proc/self")) == "proc"
