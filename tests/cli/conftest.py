"""The program under test: the one of the installed wheel, which the environment names."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.mounts import Mounts, enter_private_namespace
from tests.cli.program import Program
from tests.cli.roots import Root
from tests.cli.terminals import Terminal

CI = os.environ.get("CI") == "true"
PUBLISH = os.environ.get("DISPATCH_TEST_PUBLISH", "")
PYZ = os.environ.get("DISPATCH_TEST_PYZ", "")


def pytest_report_collectionfinish() -> list[str]:
    """Say which program runs; the header proper is printed before this file is read."""
    fallback = f"{sys.executable} -m dispatch.cli.publish (DISPATCH_TEST_PUBLISH is not set)"
    return [f"publish: {PUBLISH or fallback}", f"publish.pyz: {PYZ or 'built from the source'}"]


def installed_program() -> list[str]:
    """Return the command that starts the program under test."""
    if PUBLISH:
        return [PUBLISH]
    if CI:
        pytest.fail("CI=true, and DISPATCH_TEST_PUBLISH names no program of an installed wheel")
    return [sys.executable, "-m", "dispatch.cli.publish"]


@pytest.fixture
def publish(tmp_path: Path) -> Iterator[Program]:
    """The program; whatever a test starts with it ends with the test."""
    scratch = tmp_path / "program"
    scratch.mkdir()
    program = Program(installed_program(), scratch)
    yield program
    program.kill_started()


@pytest.fixture
def root(tmp_path: Path, publish: Program) -> Root:
    """An empty checkpoint root."""
    return Root(tmp_path / "ck", publish)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal."""
    opened = Terminal()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def private_mounts() -> None:
    """A mount namespace of our own, from now on."""
    enter_private_namespace()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="dispatch-test-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@pytest.fixture
def mounts(private_mounts: None, open_folder: Path) -> Iterator[Mounts]:
    """Whatever a test mounts is gone after it."""
    mounted = Mounts(open_folder)
    yield mounted
    mounted.unmount()


@pytest.fixture
def unprivileged(open_folder: Path, pyz: Path) -> Iterator[Program]:
    """The program as a user without any rights; ourselves, when we are such a one."""
    scratch = open_folder / "program"
    scratch.mkdir()
    program = Program(unprivileged_command(installed_program(), pyz, open_folder), scratch)
    yield program
    program.kill_started()


def unprivileged_command(installed: list[str], pyz: Path, folder: Path) -> list[str]:
    """Return how another user starts the program: as it is installed, or as the one file."""
    if os.geteuid() != 0:
        return installed
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    user += ["sh", "-c", 'exec "$0" "$@"']  # so that it is this user who looks for the program
    copy = folder / "publish.pyz"
    shutil.copy(pyz, copy)
    for command in (installed, ["/usr/bin/python3", str(copy)]):
        started = [*user, *command]
        if subprocess.run([*started, "-version"], capture_output=True, check=False).returncode == 0:
            return started
    pytest.skip("another user can't start the program: it is installed where only root may look")


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in one file."""
    if PYZ:
        return Path(PYZ)
    if CI:
        pytest.fail("CI=true, and DISPATCH_TEST_PYZ names no publish.pyz")
    from tools import build_pyz

    target = tmp_path_factory.mktemp("dist") / "publish.pyz"
    build_pyz.build(target)
    return target
