"""Executions of a job script with the real frameworks, started and stopped by a test."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from demo import reports
from dispatch.checkpoint import Entry, Log, open_store

PROGRAMS = Path(__file__).parent
REPOSITORY = PROGRAMS.parent.parent.parent
FRAMEWORKS_PYTHON = os.environ.get(
    "DISPATCH_TEST_FRAMEWORKS_PYTHON", str(REPOSITORY / ".venv-frameworks" / "bin" / "python")
)
PUBLISH = [os.environ["DISPATCH_TEST_PUBLISH"]] if "DISPATCH_TEST_PUBLISH" in os.environ else [
    sys.executable, "-m", "dispatch.cli.publish",
]  # fmt: skip
ROOT_OF_SCRIPT = "/lustre/team/finetune"
BOUND_S = 300  # for anything that a test waits for, on a machine that is busy with other things too
POLL_S = 0.02
SHOWN_LINES = 20
INTERVAL_S = 0.2

HURRY = f"""\
waits="-interval {INTERVAL_S * 1000:.0f}ms"
case " $* " in
*" -interval "*) waits= ;;
" run "*) waits="$waits -settle 500ms" ;;
" watch "*) ;;
*) waits= ;;
esac
if [ "$waits" ]; then
    command=$1
    shift
    set -- "$command" $waits "$@"
fi
[ -z "$DISPATCH_TEST_CONTROL" ] || echo $$ >"$DISPATCH_TEST_CONTROL/pid-publish"
"""
"""What `publish` does first: it waits for less, unless told how long, and leaves its process id."""


class Site:
    """A checkpoint root, and the programs that job scripts call by their bare names.

    Attributes:
        root: The checkpoint root; the scripts know it as ``/lustre/team/finetune``.
        location: The same, as `publish` is told.
        inside: Where in its own folder an execution has its saves: "" or such as "/checkpoint".
        log: Its publications.
        variables: What scripts and programs find in their environment, beside our own.
    """

    publish_command = PUBLISH

    def __init__(self, folder: Path, inside: str = "") -> None:
        if not Path(FRAMEWORKS_PYTHON).exists():
            pytest.skip(f"there is no {FRAMEWORKS_PYTHON}")
        self.folder = folder
        self.inside = inside
        self.variables: dict[str, str] = {}
        self.executions: list[Execution] = []
        self.location, self.log = self._make_root()
        self._bin = folder / "bin"
        self._bin.mkdir()
        self._program("publish", HURRY, self.publish_command)
        self._program("python", ":", [FRAMEWORKS_PYTHON])
        self._prefix = self._private_path()

    @property
    def root(self) -> Path:
        return Path(self.location)

    @property
    def is_unchanged(self) -> bool:
        """Whether the scripts run as they are, where their root is ours.

        They do in a mount namespace of their own; where that isn't allowed, their first line,
        which names the root, is changed and nothing else.
        """
        return bool(self._prefix)

    def in_script(self, path: Path) -> Path:
        """A path below the root as the scripts know it."""
        return Path(ROOT_OF_SCRIPT) / path.relative_to(self.root) if self._prefix else path

    def start(
        self, script: str, attempt: str, epoch: int, *, node: str = "", **variables: str
    ) -> Execution:
        """Start one execution of a job script, or a further node of one."""
        control = self.folder / f"{attempt}{node}"
        control.mkdir()
        environment = {
            **os.environ,
            **self.variables,
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "DISPATCH_ATTEMPT": attempt,
            "DISPATCH_EPOCH": str(epoch),
            "DISPATCH_TEST_CONTROL": str(control),
            "TRANSFORMERS_VERBOSITY": "info",
            "GLOO_SOCKET_IFNAME": "lo",
            "TMPDIR": str(control),
            **variables,
        }
        command = [*self._prefix, "bash", str(self._script(script))]
        execution = Execution(self, attempt, epoch, control)
        with execution.output.open("wb") as output:
            execution.process = subprocess.Popen(
                command,
                cwd=PROGRAMS,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self.executions.append(execution)
        return execution

    def publish(self, *arguments: str) -> str:
        """Run the real program on the root; its answer."""
        command, *rest = arguments
        done = subprocess.run(
            [*self.publish_command, command, "-checkpoint", self.location, *rest],
            env={**os.environ, **self.variables},
            stdout=subprocess.PIPE,
            encoding="utf-8",
            timeout=BOUND_S,
            check=True,
        )
        return done.stdout

    def answer(self) -> str:
        """What `publish resolve` answers; something must have been published."""
        answer = self.publish("resolve").removesuffix("\n")
        assert answer
        return answer

    def resolved(self) -> Path:
        """The same, in a file system."""
        return Path(self.answer())

    def save(self, entry: Entry) -> Path:
        """Where a publication's save is, in a file system."""
        return Path(self.log.location(entry))

    def files(self, save: str) -> list[str]:
        """The names of a save's files; none when there is no such save."""
        return sorted(path.name for path in Path(save).glob("*"))

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Wait until it holds; a failure shows what the executions have printed."""
        deadline = time.monotonic() + BOUND_S
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {BOUND_S} s: {what}{self._printed()}")
            time.sleep(POLL_S)

    def end(self) -> None:
        """Leave no process behind."""
        for execution in self.executions:
            execution.end()

    def _printed(self) -> str:
        parts = [""]
        for execution in self.executions:
            parts.append(f"--- {execution.attempt}, status {execution.process.poll()}")
            parts += execution.printed().splitlines()[-SHOWN_LINES:]
        return "\n".join(parts)

    def _make_root(self) -> tuple[str, Log]:
        root = self.folder / "finetune"
        root.mkdir()
        return str(root), open_store(root)

    def _program(self, name: str, first: str, command: list[str]) -> None:
        """Make a program that does something first, by the shell."""
        program = self._bin / name
        text = f'#!/bin/sh\n{first}\nexec {shlex.join(command)} "$@"\n'
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def _private_path(self) -> list[str]:
        """The command's prefix for which the scripts' root is ours; empty when not allowed."""
        at_path = ["sh", str(PROGRAMS / "at_path.sh")]
        prefix = [*at_path, self.location, ROOT_OF_SCRIPT, str(PROGRAMS)]
        tried = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False)
        return [] if tried.returncode else prefix

    def _script(self, name: str) -> Path:
        if self._prefix:
            return PROGRAMS / name
        content = (PROGRAMS / name).read_text("utf-8")
        changed = self.folder / name
        changed.write_text(content.replace(ROOT_OF_SCRIPT, self.location, 1), "utf-8")
        return changed


class Execution:
    """One run of a job script.

    Attributes:
        process: The script.
        attempt: Its token.
        epoch: Its epoch.
        output: What the script and its programs print.
    """

    process: subprocess.Popen[bytes]

    def __init__(self, site: Site, attempt: str, epoch: int, control: Path) -> None:
        self.attempt = attempt
        self.epoch = epoch
        self.output = control / "output"
        self._site = site
        self._control = control

    @property
    def location(self) -> str:
        """Where it writes its saves."""
        return f"{self._site.location}/exec/{self.attempt}{self._site.inside}"

    @property
    def folder(self) -> Path:
        """The same, in a file system."""
        return Path(self.location)

    def steps(self) -> list[int]:
        """The steps that it has published, ascending."""
        return [entry.step for entry in self._site.log.entries() if entry.epoch == self.epoch]

    def events(self, kind: str) -> list[reports.Event]:
        """The events of a kind that its trainer has told, oldest first."""
        return [event for event in reports.read_events(self.output) if event["event"] == kind]

    def event(self, kind: str) -> reports.Event | None:
        """The first event of a kind that its trainer has told."""
        return next(iter(self.events(kind)), None)

    def wait_for_event(self, kind: str) -> reports.Event:
        """Wait for an event."""
        self._wait_for(lambda: self.event(kind), kind)
        event = self.event(kind)
        assert event
        return event

    def wait_for_steps(self, count: int) -> None:
        """Wait until it has published so many saves."""
        self._wait_for(lambda: len(self.steps()) >= count, f"{count} publications")

    def hold_next_save(self) -> str:
        """Stop its trainer in the middle of the next save; the save's name."""
        held = self._control / "held"
        (self._control / "hold").touch()
        self._wait_for(lambda: held.exists() and held.read_text("utf-8"), "a save that is held")
        return held.read_text("utf-8")

    def release_save(self) -> None:
        """Let the save go on that is held, by a trainer that can."""
        (self._control / "hold").unlink()

    def finish(self) -> int:
        """Let its trainer end by itself; the script's status."""
        (self._control / "finish").touch()
        return self.status()

    def signal(self, number: signal.Signals, name: str = "pid") -> None:
        """Send a signal to the trainer alone, or to another process that left its id."""
        os.kill(int((self._control / name).read_text("utf-8")), number)

    def status(self) -> int:
        """Wait for the script's own end; its status."""
        self._site.wait_for(lambda: self.process.poll() is not None, f"{self.attempt} ends")
        return self.process.returncode

    def printed(self) -> str:
        """What the script and its programs have printed."""
        return self.output.read_text("utf-8", "replace")

    def _wait_for(self, condition: Callable[[], object], what: str) -> None:
        def is_over() -> bool:  # a command outlives a `publish run` that was killed
            return self.process.poll() is not None and not self._processes()

        self._site.wait_for(lambda: condition() or is_over(), f"{what} of {self.attempt}")
        assert condition(), f"{self.attempt} ended without {what}:\n{self.printed()}"

    def end(self) -> None:
        """Kill all of it, also what is in another process group or has lost its parent."""
        while pids := self._processes():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def _processes(self) -> list[int]:
        """Its processes, by the variable that only they have."""
        mark = f"DISPATCH_TEST_CONTROL={self._control}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found
