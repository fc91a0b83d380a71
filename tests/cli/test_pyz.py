"""publish.pyz: the program in one file, on a node with nothing but Python."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import EPOCH, TIME_LIMIT_S, Program
from tests.cli.roots import Root


def bare_python() -> Path:
    """Find a Python that has nothing of ours: the system's own, or the one below our own."""
    for candidate in ("/usr/bin/python3", getattr(sys, "_base_executable", "")):
        asked = [candidate, "-I", "-S", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if (
            candidate
            and Path(candidate).exists()
            and subprocess.run(asked, check=False).returncode == 0
        ):
            return Path(candidate)
    pytest.skip("there is no Python 3.11 but the one that runs the tests")


@pytest.fixture
def single_file(tmp_path: Path, pyz: Path) -> Iterator[Program]:
    """The one file, alone in a folder, run by a Python that is told to look nowhere else."""
    scratch = tmp_path / "node"
    scratch.mkdir()
    copy = shutil.copy(pyz, scratch / "publish.pyz")
    program = Program([bare_python(), "-I", "-S", copy], scratch)
    yield program
    program.kill_started()


@pytest.fixture
def root(tmp_path: Path, single_file: Program) -> Root:
    """A root that the one file uses."""
    return Root(tmp_path / "ck", single_file)


def test_it_publishes_resolves_and_prunes(root: Root) -> None:
    """By hand."""
    saves = [root.hf(step) for step in (1, 2)]
    for step, save in enumerate(saves, start=1):
        root.publish(save, step)
    root.assert_resolves_to(saves[1])
    root.prune(1).well()
    assert root.published_steps() == [2]
    assert not saves[0].exists()


@pytest.mark.parametrize("framework", ["hf", "dcp"])
def test_it_watches(root: Root, framework: str) -> None:
    """Until SIGTERM, and looks once more."""
    watch = root.watch(framework=framework)
    root.let_a_scan_pass(watch, 1, framework)
    save = root.hf(2) if framework == "hf" else root.dcp(2)
    watch.end().well()
    root.assert_resolves_to(save)


@pytest.mark.parametrize("framework", ["hf", "dcp"])
def test_a_run_outlives_its_file(root: Root, single_file: Program, framework: str) -> None:
    """A new version is put in its place while training runs: all that is used later is loaded."""
    for step in (1, 2):
        root.publish(root.hf(step) if framework == "hf" else root.dcp(step), step)
    script = (
        'truncate -s 0 "$1"; mkdir "$DISPATCH_OUT/step-3"; mkdir "$DISPATCH_OUT/checkpoint-3"; '
        'cp "$2"/checkpoint-2/* "$DISPATCH_OUT/checkpoint-3"; cp "$2"/step-2/* "$2"/step-2/.m* '
        '"$DISPATCH_OUT/step-3"; echo \'{"global_step": 3}\' > '
        '"$DISPATCH_OUT/checkpoint-3/trainer_state.json"; exit 5'
    )
    flags = ("-checkpoint", root, "-framework", framework, "-keep", "1", "-settle", "0s")
    file = single_file.command[-1]
    later = {"DISPATCH_ATTEMPT": "later", "DISPATCH_EPOCH": str(EPOCH + 1)}
    command = ("sh", "-c", script, "sh", file, root.own())
    ended = single_file.run("run", *map(str, flags), "--", *command, environment=later)
    ended.ended_with(5).says("published step 3")
    assert b"fault" not in ended.err
    assert root.published_steps() == [3]


def test_it_answers_as_the_installed_program_does(
    root: Root, single_file: Program, publish: Program
) -> None:
    """Answers, messages and statuses, byte for byte."""
    for step in (1, 2):
        root.publish(root.hf(step), step)
    at_root = ("-checkpoint", root.path)
    for arguments in (
        ["-version"],
        ["-help"],
        ["watch", "-help"],
        ["resolve", *at_root],
        ["resolve", "-json", *at_root],
        ["log", "-json", *at_root],
        ["prune", *at_root, "-keep", "1", "-dry-run"],
        ["publish", *at_root, root.own() / "checkpoint-1", "1"],
        ["watch", *at_root, "-framework", "hf", "-once"],
        ["watch", *at_root, "-framework", "hf", "-interval", "10"],
        ["reslove"],
        ["resolve", "-checkpoint", "/nowhere"],
        [],
    ):
        assert single_file.run(*arguments) == publish.run(*arguments), arguments


def test_it_needs_nothing_of_a_path_but_its_python(root: Root, pyz: Path, tmp_path: Path) -> None:
    """Started by its own first line, with a PATH of one folder that holds one program."""
    save = root.hf(1)
    root.publish(save, 1)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(bare_python())
    ended = subprocess.run(
        [pyz, "resolve", "-checkpoint", root.path],
        env={"PATH": str(folder)},
        capture_output=True,
        timeout=TIME_LIMIT_S,
        check=True,
    )
    assert ended.stdout == os.fsencode(save) + b"\n"
    assert ended.stderr == b""


def test_it_runs_from_a_folder_that_cannot_be_written(root: Root, single_file: Program) -> None:
    """It unpacks nothing and keeps nothing."""
    folder = Path(os.fsdecode(os.fsencode(single_file.command[-1]))).parent
    before = sorted(folder.iterdir())
    folder.chmod(0o555)
    try:
        save = root.hf(1)
        root.publish(save, 1)
        root.assert_resolves_to(save)
    finally:
        folder.chmod(0o755)
    assert sorted(folder.iterdir()) == before


def test_it_loads_nothing_but_itself_and_the_standard_library(
    root: Root, pyz: Path, tmp_path: Path
) -> None:
    """Also where PYTHONPATH leads to a package of its own name."""
    decoy = tmp_path / "decoy/dispatch"
    decoy.mkdir(parents=True)
    (decoy / "__init__.py").write_text("raise SystemExit('another package of that name')")
    save = root.hf(1)
    root.publish(save, 1)
    ended = subprocess.run(
        [bare_python(), "-v", pyz, "resolve", "-checkpoint", root.path],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(decoy.parent)},
        capture_output=True,
        timeout=TIME_LIMIT_S,
        check=True,
    )
    assert ended.stdout == os.fsencode(save) + b"\n"
    loaded = [line for line in ended.stderr.decode().splitlines() if line.startswith("import '")]
    assert any("dispatch.cli.publish.start" in line for line in loaded)
    assert not any("site-packages" in line or "dist-packages" in line for line in loaded)
