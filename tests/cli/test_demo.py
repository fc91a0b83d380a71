"""`make demo`'s program: what it shows, what it makes of a wrong `publish`, what it leaves."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.processes import FRAMEWORKS_PYTHON, PUBLISH, REPOSITORY
from tests.cli.program import wait_for

COMMAND = [sys.executable, "-m", "demo"]
BOUND_S = 100  # for anything; the demo takes 20 s
BOUND_WITH_PYTORCH_S = 300  # it takes 50 s, once PyTorch is in the page cache
OVERLAP = "run 2 from step"  # from then on all kinds of its processes run

BY_STEP_ALONE = """\
#!/bin/sh
# A known-wrong design: the highest step wins, whatever its epoch.
[ "$1" = resolve ] || exec {publish} "$@"
newest=$(find "$3" -name trainer_state.json | sed 's/.*checkpoint-\\([0-9]*\\).*/\\1 &/' | sort -n)
[ -z "$newest" ] || dirname "$(echo "$newest" | tail -n 1 | cut -d ' ' -f 2)"
"""


class Demo:
    """One run of the demo: its environment tells its processes from all others."""

    def __init__(self, folder: Path) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.output = folder / "output"
        self.mark = f"DISPATCH_TEST_MARK={folder}"
        self.environment = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "DISPATCH_TEST_MARK": str(folder),
        }

    def run(self, *options: str, seconds: float = BOUND_S) -> tuple[int, str]:
        """Run it to its end without a terminal."""
        with self.output.open("wb") as output:
            process = self.start(*options, output=output.fileno())
        return process.wait(seconds), self.printed()

    def start(self, *options: str, output: int) -> subprocess.Popen[bytes]:
        """Start it without a terminal."""
        return self.started(
            subprocess.Popen(
                [*COMMAND, *options],
                cwd=REPOSITORY,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        )

    def started(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """Take note of it, to be ended with the test at the latest."""
        self._started.append(process)
        return process

    def printed(self) -> str:
        """What it has printed so far, without a terminal."""
        return self.output.read_text("utf-8")

    def end(self) -> None:
        """Leave nothing behind, whatever a test has found."""
        for number in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        for process in self._started:
            process.wait(BOUND_S)

    def processes(self) -> list[int]:
        """Its processes that exist, and are not just waiting to be waited for."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.mark.encode() in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:  # it has ended, or is somebody else's
                continue
        return found


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    """A demo that may be run once."""
    demo = Demo(tmp_path)
    yield demo
    demo.end()


def assert_shows_both_lineages(printed: str) -> None:
    assert re.search(r"step \d+, LATE", printed)
    assert re.search(r"publishes step \d+ +run 2 step \d+ +run 1 step \d+ !", printed)
    assert re.search(
        r"run 3 resumed from +run 1 > 2, step \d+ +run 1, step \d+$", printed, re.MULTILINE
    )
    assert "The guarantee held" in printed
    assert "The bare rule went wrong" in printed
    assert "WRONG" not in printed


def test_it_shows_both_lineages_in_80_plain_columns(demo: Demo) -> None:
    status, printed = demo.run()
    assert status == 0, printed
    assert_shows_both_lineages(printed)
    assert "make demo TRAINER=transformers" in printed
    assert "\x1b" not in printed
    assert "\r" not in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert demo.processes() == []
    assert list(demo.temporary.iterdir()) == []


@pytest.mark.real
@pytest.mark.frameworks
@pytest.mark.timeout(BOUND_WITH_PYTORCH_S + BOUND_S)
def test_it_shows_the_same_with_the_real_trainer(demo: Demo) -> None:
    if not Path(FRAMEWORKS_PYTHON).exists():
        pytest.skip(f"there is no {FRAMEWORKS_PYTHON}")
    status, printed = demo.run("--trainer", "transformers", seconds=BOUND_WITH_PYTORCH_S)
    assert status == 0, printed
    assert_shows_both_lineages(printed)
    assert demo.processes() == []
    assert list(demo.temporary.iterdir()) == []


def on_a_terminal(demo: Demo, typed: dict[str, bytes]) -> tuple[int, str]:
    """Run it on a terminal of its own and, when it prints a text, type something."""
    ours, theirs = pty.openpty()
    process = demo.started(
        subprocess.Popen(
            ["setsid", "--ctty", *COMMAND],  # so that Ctrl-C comes from the terminal
            cwd=REPOSITORY,
            env={**demo.environment, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            printed += os.read(ours, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            break
        for text in [text for text in typed if text.encode() in printed]:
            os.write(ours, typed.pop(text))
    os.close(ours)
    return process.wait(BOUND_S), printed.decode()


def test_a_terminal_shows_colours_and_what_is_waited_for(demo: Demo) -> None:
    status, printed = on_a_terminal(demo, {})
    assert status == 0, printed
    assert "\x1b[33mrun 1" in printed
    assert "\x1b[36mrun 2" in printed
    assert "... run 1 trains" in printed
    assert_shows_both_lineages(re.sub(r"\x1b\[[0-9;]*[mK]", "", printed).replace("\r", ""))


def test_control_c_leaves_no_process_and_no_folder(demo: Demo) -> None:
    status, printed = on_a_terminal(demo, {OVERLAP: b"\x03"})
    assert status == 128 + signal.SIGINT
    assert "SIGINT: all processes of the demo were ended" in printed
    assert "Traceback" not in printed
    assert demo.processes() == []
    assert list(demo.temporary.iterdir()) == []


@pytest.mark.parametrize("keep", ["", "1"], ids=["gone", "kept"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_leaves_no_process(demo: Demo, number: signal.Signals, keep: str) -> None:
    demo.environment["KEEP"] = keep
    with demo.output.open("wb") as output:
        process = demo.start(output=output.fileno())
    wait_for(lambda: OVERLAP in demo.printed(), OVERLAP, BOUND_S)
    everything = 5  # the demo, two trainers, two watchers
    wait_for(lambda: len(demo.processes()) >= everything, "all its processes", BOUND_S)
    process.send_signal(number)
    assert process.wait(BOUND_S) == 128 + number
    assert demo.processes() == []
    assert len(list(demo.temporary.iterdir())) == bool(keep)


def test_a_reader_that_goes_away_leaves_no_process(demo: Demo) -> None:
    ours, theirs = os.pipe()
    process = demo.start(output=theirs)
    os.close(theirs)
    assert b"A training job is preempted" in os.read(ours, 65536)
    os.close(ours)
    assert process.wait(BOUND_S) == 1
    assert demo.processes() == []
    assert list(demo.temporary.iterdir()) == []


def test_the_verdict_is_measured(demo: Demo, tmp_path: Path) -> None:
    wrong = tmp_path / "publish"
    wrong.write_text(BY_STEP_ALONE.format(publish=PUBLISH), "utf-8")
    wrong.chmod(stat.S_IRWXU)
    demo.environment["DISPATCH_TEST_PUBLISH"] = str(wrong)
    status, printed = demo.run()
    assert status == 1
    assert "THE GUARANTEE DID NOT HOLD" in printed
    assert "WRONG none of these was ever resolved once run 2 had published" in printed
    assert "WRONG run 3 resumed from run 2's newest save" in printed


def test_a_missing_framework_is_named(demo: Demo, tmp_path: Path) -> None:
    demo.environment["DISPATCH_TEST_FRAMEWORKS_PYTHON"] = str(tmp_path / "none" / "python")
    status, printed = demo.run("--trainer", "transformers")
    assert status == 1
    assert f"there is no {tmp_path}/none/python" in printed
    assert "Traceback" not in printed
