"""The start of `publish resolve` against that of the interpreter alone."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.machine import file_system
from benchmarks.measuring import Comparison
from dispatch.checkpoint import open_store

SAVE = "exec/1.4101.0/checkpoint-500"
ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
"""Of every process: nothing that a site may have set."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """One way to start `publish`.

    Attributes:
        shown: How a person would write it.
        python: The interpreter.
        arguments: The interpreter's, up to the program.
    """

    shown: str
    python: str
    arguments: tuple[str, ...]


def programs() -> list[Program]:
    """Return the ways that there are: `make bench` names the installed wheel and the one file.

    Without it, only the modules that this interpreter finds.
    """
    script = os.environ.get("DISPATCH_TEST_PUBLISH", "")
    pyz = os.environ.get("DISPATCH_TEST_PYZ", "")
    python = str(Path(script).parent / "python") if script else sys.executable
    module = ("-m", "dispatch.cli.publish")
    found = [Program(shown="python -m dispatch.cli.publish", python=python, arguments=module)]
    if script:
        found.insert(0, Program(shown="publish (the wheel's)", python=python, arguments=(script,)))
    if pyz:
        found.append(Program(shown="python publish.pyz", python=python, arguments=(pyz,)))
    return found


def run(command: list[str], environment: Mapping[str, str] = ENVIRONMENT) -> None:
    """Run a program and throw its output away.

    Raises:
        ChildProcessError: It failed.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    process = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status = os.waitpid(process, 0)
    if status:
        message = f"{command} ended with {os.waitstatus_to_exitcode(status)}"
        raise ChildProcessError(message)


def modules(
    python: str, arguments: tuple[str, ...], environment: Mapping[str, str] = ENVIRONMENT
) -> int:
    """Count the modules that a process loads, those of the interpreter's own start included."""
    command = [python, "-X", "importtime", *arguments]
    ended = subprocess.run(command, env=environment, check=True, capture_output=True)
    return sum(line.startswith(b"import time:") for line in ended.stderr.splitlines()) - 1


def comparisons(root: Path) -> Iterator[Comparison]:
    """Yield each way to start `publish resolve`, on a root with one publication."""
    (root / SAVE).mkdir(parents=True)
    with open_store(root) as log:
        log.publish(1, 500, SAVE)
    rest = ("resolve", "-checkpoint", str(root))
    for program in programs():
        bare = ("-c", "pass")
        ours = (*program.arguments, *rest)
        loaded = modules(program.python, ours), modules(program.python, bare)
        yield Comparison(
            what=f"{program.shown} resolve ({loaded[0]} modules)",
            size=1,
            against=f"python -c pass ({loaded[1]} modules)",
            measured=partial(run, [program.python, *ours]),
            bare=partial(run, [program.python, *bare]),
            file_system=file_system(root),
        )
