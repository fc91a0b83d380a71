"""What `publish resolve` and `publish publish` load: the standard library alone, little of it.

A job script runs it on every node of every start, so it has to start fast, and to run with nothing
but Python.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dispatch

SOURCE = Path(dispatch.__file__).parent.parent

# Measured: exactly so many. Raise one only with a reason: each module costs time at each start.
OWN_MAX = 34  # modules of dispatch itself
OTHERS_MAX = 10  # modules of the standard library that Python alone has not loaded already

SLOW = [
    "argparse",
    "base64",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "inspect",
    "json",
    "pathlib",
    "random",
    "re",
    "shutil",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
]
"""They cost milliseconds, or bring others that do."""

# stdout is the answer's, and is closed after it: the modules are written to stderr.
PROGRAM = """
import sys
before = set(sys.modules)
sys.path.insert(0, {source!r})
from dispatch.cli.publish.main import run
status = run({words!r})
import os
os.write(2, "\\n".join(sorted(set(sys.modules) - before)).encode())
os._exit(status)
"""


@pytest.fixture(scope="module", params=["nothing published", "one publication"])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a run of it loads in a Python that has loaded as little as it can."""
    root = tmp_path_factory.mktemp("root")
    if request.param == "one publication":
        (root / "pub").mkdir()
        (root / "pub" / f"{1:020}-{1:020}-ME").touch()
    words = [b"resolve", b"-checkpoint", os.fsencode(root)]
    program = PROGRAM.format(source=str(SOURCE), words=words)
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    answer = f"{root}/a\n" if request.param == "one publication" else ""
    assert run.stdout.decode() == answer
    return set(run.stderr.decode().split())


def test_no_third_party_module_is_loaded(loaded: set[str]) -> None:
    """It runs on a node with nothing but Python."""
    tops = {name.partition(".")[0] for name in loaded}
    assert tops - {"dispatch"} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", SLOW)
def test_no_slow_module_is_loaded(loaded: set[str], name: str) -> None:
    """Not even by a module that is needed."""
    assert name not in loaded


def test_no_more_modules_are_loaded_than_were_measured(loaded: set[str]) -> None:
    """The lists are in the failure's message."""
    own = {name for name in loaded if name.partition(".")[0] == "dispatch"}
    others = loaded - own
    assert len(own) <= OWN_MAX, sorted(own)
    assert len(others) <= OTHERS_MAX, sorted(others)


@pytest.fixture(scope="module")
def loaded_to_publish(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What publishing one save loads, with a look at whose the epoch is."""
    root = tmp_path_factory.mktemp("root")
    (root / "exec" / "a").mkdir(parents=True)
    (root / "exec" / "a" / "save").touch()
    save = root / "exec" / "a" / "save"
    words = [b"publish", b"-checkpoint", os.fsencode(root), os.fsencode(save), b"1"]
    program = PROGRAM.format(source=str(SOURCE), words=words)
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        env={"DISPATCH_ATTEMPT": "a", "DISPATCH_EPOCH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return set(run.stderr.decode().split())


@pytest.mark.parametrize("name", SLOW)
def test_no_slow_module_is_loaded_to_publish(loaded_to_publish: set[str], name: str) -> None:
    assert name not in loaded_to_publish
