"""The must-run rule of tests/conftest.py, on small test files in a pytest of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parent.parent / "conftest.py"

SKIPPED_IN_MANY_WAYS = """
import pytest

@pytest.mark.real
@pytest.mark.skipif(True, reason="no server one")
def test_by_mark(): ...

@pytest.fixture
def server():
    pytest.skip("no server two")

@pytest.mark.real
def test_by_fixture(server): ...

@pytest.mark.real
def test_by_call():
    pytest.skip("no server three")
"""

INNOCENT = """
import pytest

@pytest.mark.skip(reason="not real")
def test_skipped(): ...

@pytest.mark.real
def test_passed(): ...

@pytest.mark.real
@pytest.mark.xfail(reason="a known limit")
def test_expected(): assert False
"""

SKIPPED_FILE = """
import pytest

pytestmark = pytest.mark.real
pytest.importorskip("a_module_that_nobody_has")

def test_never_seen(): ...
"""


def outcomes(folder: Path, *, ci: str) -> tuple[int, dict[str, int], str]:
    """Run pytest on a folder; return its status, its counted outcomes and what it printed."""
    (folder / "conftest.py").write_bytes(CONFTEST.read_bytes())
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--color=no", "."],
        cwd=folder,
        env={**os.environ, "CI": ci},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    last = run.stdout.strip().splitlines()[-1]
    counted = {what: int(count) for count, what in re.findall(r"(\d+) ([a-z]+)", last)}
    return run.returncode, counted, run.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tests with our markers and nothing else of ours."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    real: must run\n    fast: quick\n", encoding="utf-8"
    )
    return tmp_path


def test_a_skipped_real_test_fails_with_ci(folder: Path) -> None:
    (folder / "test_it.py").write_text(SKIPPED_IN_MANY_WAYS, encoding="utf-8")
    status, counted, printed = outcomes(folder, ci="true")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert counted.get("skipped", 0) == 0
    assert counted.get("failed", 0) + counted.get("error", 0) + counted.get("errors", 0) == 3
    for reason in ("no server one", "no server two", "no server three"):
        assert f"must run with CI=true, but was skipped: Skipped: {reason}" in printed


@pytest.mark.parametrize("ci", ["", "false"])
def test_a_skipped_real_test_is_a_skip_elsewhere(folder: Path, ci: str) -> None:
    (folder / "test_it.py").write_text(SKIPPED_IN_MANY_WAYS, encoding="utf-8")
    status, counted, _ = outcomes(folder, ci=ci)
    assert status == pytest.ExitCode.OK
    assert counted["skipped"] == 3


def test_other_skips_and_expected_failures_are_left_alone(folder: Path) -> None:
    (folder / "test_it.py").write_text(INNOCENT, encoding="utf-8")
    status, counted, _ = outcomes(folder, ci="true")
    assert status == pytest.ExitCode.OK
    assert (counted["passed"], counted["skipped"], counted["xfailed"]) == (1, 1, 1)


def test_a_file_that_skips_itself_fails_with_ci(folder: Path) -> None:
    (folder / "test_it.py").write_text(SKIPPED_FILE, encoding="utf-8")
    status, _, printed = outcomes(folder, ci="true")
    assert status == pytest.ExitCode.INTERRUPTED
    assert "a whole file must not skip itself with CI=true" in printed


def test_a_file_that_skips_itself_is_a_skip_elsewhere(folder: Path) -> None:
    (folder / "test_it.py").write_text(SKIPPED_FILE, encoding="utf-8")
    (folder / "test_other.py").write_text("def test_passed(): ...\n", encoding="utf-8")
    status, counted, _ = outcomes(folder, ci="")
    assert status == pytest.ExitCode.OK
    assert (counted["passed"], counted["skipped"]) == (1, 1)
