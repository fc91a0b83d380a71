"""Every example of every page, run as it stands."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from dispatch.checkpoint import open_store
from tests.docs.pages import Block, blocks, commands, pages, shown
from tests.docs.sandbox import Built, Sandbox, python_of, same

LANGUAGES = {"bash", "console", "python", "text", ""}
"""A block is a script, typed commands, Python, or none of these; nothing else is understood."""

WITH_CONSOLE = [page for page in pages() if blocks(page, "console")]
WITH_PYTHON = [page for page in pages() if blocks(page, "python")]
SCRIPTS = [
    block for page in pages() for block in blocks(page, "bash") if "CKPT=s3://" not in block.text
]
"""Those for S3 run with real trainers, unchanged: see tests/docs/test_readme.py."""
ON_SLURM = [block for block in SCRIPTS if "SLURM_JOB_ID" in block.text]

EXECUTION = {"DISPATCH_ATTEMPT": "3.4103.0.c0de", "DISPATCH_EPOCH": "3000000"}


def place(block: Block) -> str:
    return f"{shown(block.page)}:{block.line}"


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_a_block_says_what_it_is(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=shown)
def test_typed_commands_print_what_the_page_says(page: Path, sandbox: Sandbox) -> None:
    typed = [command for block in blocks(page, "console") for command in commands(block)]
    for command, printed in zip(typed, sandbox.typed(typed), strict=True):
        where = f"{shown(page)}:{command.line}: {command.command}"
        assert same(printed, command.printed), f"{where}\nprinted:\n{printed}"


@pytest.mark.parametrize("block", SCRIPTS, ids=place)
def test_a_job_script_resumes_publishes_and_prunes(block: Block, sandbox: Sandbox) -> None:
    before = open_store(sandbox.root).resolve()
    assert before is not None
    run = sandbox.bash(block.text, **EXECUTION)
    assert run.returncode == 0, run.stdout
    for fault in ("publish: error", "Traceback", "not found"):
        assert fault not in run.stdout
    assert f" /lustre/team/finetune/{before.save}\n" in run.stdout
    assert [entry.step for entry in open_store(sandbox.root).entries()] == [1200, 2100, 2200]


@pytest.mark.parametrize("block", ON_SLURM, ids=place)
def test_under_slurm_the_save_made_on_sigterm_is_published(sandbox: Sandbox, block: Block) -> None:
    with subprocess.Popen(
        ["/bin/bash", "-c", sandbox.here(block.text)],
        cwd=sandbox.home,
        env={**sandbox.env, "TRAIN_UNTIL_SIGNAL": "yes"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    ) as job:
        assert job.stdout is not None
        assert any("trained with" in line for line in job.stdout)  # reads up to that line
        for process in processes_of(session=job.pid):  # Slurm signals every process of the job
            os.kill(process, signal.SIGTERM)
        rest = job.stdout.read()
    assert job.returncode == 0, rest
    steps = [entry.step for entry in open_store(sandbox.root).entries()]
    assert steps == [2100, 2200, 2300], rest


def processes_of(session: int) -> list[int]:
    """List the processes of a session, whatever their groups."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, fields = path.read_text().rpartition(")")
        except OSError:
            continue
        if int(fields.split()[3]) == session:
            found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("page", WITH_PYTHON, ids=shown)
def test_python_examples_run(page: Path, sandbox: Sandbox, built: Built, tmp_path: Path) -> None:
    files = []
    for block in blocks(page, "python"):
        files.append(tmp_path / f"line-{block.line}")
        files[-1].write_text(sandbox.here(block.text), encoding="utf-8")
    program = Path(__file__).parent / "run_python.py"
    publish = Path(os.environ.get("DISPATCH_TEST_PUBLISH_S3") or built.publish)  # with botocore
    run = subprocess.run(
        [python_of(publish), program, *files],
        env={**sandbox.env, **EXECUTION},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stdout
