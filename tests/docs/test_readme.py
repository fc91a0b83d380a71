"""The README: its order, its script, its commands."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import README, ROOT, blocks, headings, pages, shown

JOB_SCRIPT = ROOT / "tests/real/programs/job_run.sh"
LONG_FORM = ROOT / "tests/real/programs/job.sh"
HOW_TO = ROOT / "docs/how-to/publish-from-a-job-script.md"
S3_SCRIPTS = [ROOT / f"tests/real/programs/{name}" for name in ("job_dcp_s3.sh", "job_hf_s3.sh")]
"""Run by tests/real/test_dcp_s3.py and tests/real/test_trainer_s3.py."""

ORDER = [
    "dispatch",
    "The problem",
    "The guarantee",
    "Two commands",
    "Install",
    "The job script",
    "Limits",
    "Not built yet",
    "What is tested",
    "Where to read on",
    "Licence",
]


def makefile_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"(?m)^([a-z-]+):.*## ", text))


def script_of(page: Path) -> str:
    return blocks(page, "bash")[0].text


def test_the_readme_keeps_its_order() -> None:
    assert headings(README) == ORDER


def test_the_job_script_is_the_one_that_runs_with_the_real_trainer() -> None:
    assert JOB_SCRIPT.read_text(encoding="utf-8") == script_of(README)


def test_the_how_to_begins_with_the_same_script() -> None:
    assert script_of(HOW_TO) == script_of(README)


def test_the_how_to_has_the_single_commands_that_run_with_it_too() -> None:
    scripts = [block.text for block in blocks(HOW_TO, "bash")]
    assert LONG_FORM.read_text(encoding="utf-8") in scripts


def test_the_scripts_for_s3_are_those_that_run_with_the_real_trainers() -> None:
    scripts = [block.text for page in pages() for block in blocks(page, "bash")]
    on_s3 = [script for script in scripts if "CKPT=s3://" in script]
    assert on_s3 == [path.read_text(encoding="utf-8") for path in S3_SCRIPTS]


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_a_make_target_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|\$ |^)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named <= makefile_targets()


def test_the_two_commands_are_demo_and_test() -> None:
    typed = [block.text for block in blocks(README, "console")]
    assert typed[0] == "$ make demo\n$ make test\n"
