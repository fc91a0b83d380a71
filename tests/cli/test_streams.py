"""Closed, full, broken and stalled streams: no message ever stops work, no answer is ever lost."""

import fcntl
import itertools
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.cli.injection import injecting
from tests.cli.program import Argument, Program
from tests.cli.roots import Root

CLOSINGS = [
    " ".join(closing)
    for count in (1, 2, 3)
    for closing in itertools.combinations(("<&-", ">&-", "2>&-"), count)
]


def contents(root: Root) -> dict[str, bytes]:
    """Read every file below a root."""
    files = (path for path in sorted(root.path.rglob("*")) if path.is_file())
    return {root.relative(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("closing", CLOSINGS)
def test_with_closed_streams_nothing_is_written_elsewhere(
    root: Root, publish: Program, closing: str
) -> None:
    """A descriptor that is missing must not be given to a root, an entry or a save."""
    old, new = root.hf(1), root.hf(2)
    files = contents(root)
    prefix = ["bash", "-c", f'exec "$@" {closing}', "bash"]

    def run(*arguments: Argument) -> int:
        return publish.run(*arguments, "-checkpoint", root.path, prefix=prefix).status

    assert run("publish", old, "1") == 0
    assert run("watch", "-framework", "hf", "-once") == 0
    assert run("watch", "-framework", "nonsense") == 2
    entries = {f"pub/{name}": b"" for name in root.names()}
    assert len(entries) == 2
    assert contents(root) == {**files, **entries}
    # An answer that can't be given is a failure.
    assert run("resolve") == (1 if ">&-" in closing.split() else 0)
    assert run("log", "-json") == (1 if ">&-" in closing.split() else 0)
    assert contents(root) == {**files, **entries}
    assert run("prune", "-keep", "1") == 0
    assert root.published_steps() == [2]
    assert {path: text for path, text in files.items() if "checkpoint-2" in path}.items() <= (
        contents(root).items()
    )
    assert new.exists()


ANSWERS: list[Sequence[Argument]] = [
    ["resolve"],
    ["resolve", "-json"],
    ["log"],
    ["watch", "-framework", "hf", "-once", "-json"],
    ["prune", "-keep", "1", "-v"],
    ["prune", "-keep", "1", "-dry-run"],
    ["-help"],
    ["resolve", "-help"],
    ["-version"],
]


def first_two(arguments: Sequence[Argument]) -> str:
    """Name a case by what is asked."""
    return " ".join(map(str, arguments))


@pytest.mark.parametrize("arguments", ANSWERS, ids=first_two)
def test_an_answer_to_a_full_disk_is_a_failure(
    root: Root, publish: Program, arguments: Sequence[Argument]
) -> None:
    """Silence would read as: start from scratch."""
    for step in (1, 2):
        root.publish(root.hf(step), step)
    at_root: list[Argument] = ["-checkpoint", root.path]
    if arguments[0] in {"-help", "-version"}:
        at_root = []
    with Path("/dev/full").open("wb") as full:
        ended = publish.run(*arguments, *at_root, stdout=full)
    ended.ended_with(1).says("the answer could not be written to stdout", "ENOSPC")


@pytest.mark.parametrize("arguments", ANSWERS, ids=first_two)
def test_an_answer_to_nobody_is_a_failure(
    root: Root, publish: Program, arguments: Sequence[Argument]
) -> None:
    """A pipe whose reader has gone."""
    for step in (1, 2):
        root.publish(root.hf(step), step)
    at_root: list[Argument] = ["-checkpoint", root.path]
    if arguments[0] in {"-help", "-version"}:
        at_root = []
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as broken:
        ended = publish.run(*arguments, *at_root, stdout=broken)
    ended.ended_with(1).says("the answer could not be written to stdout", "EPIPE")


@pytest.mark.real
def test_an_answer_that_is_lost_when_stdout_closes_is_a_failure(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """Network file systems tell of a full disk only then."""
    root.publish(root.hf(1), 1)
    out = tmp_path / "answer"
    prefix = injecting("close", "error=EDQUOT", out)
    with out.open("wb") as file:
        ended = publish.run("resolve", "-checkpoint", root.path, prefix=prefix, stdout=file)
    ended.ended_with(1).says("the answer could not be written to stdout", "EDQUOT")


def test_an_empty_answer_needs_no_stdout(root: Root, publish: Program) -> None:
    """Nothing published: nothing is lost by not writing it."""
    with Path("/dev/full").open("wb") as full:
        publish.run("resolve", "-checkpoint", root.path, stdout=full).well()


def test_a_publication_by_hand_has_no_answer_to_lose(root: Root, publish: Program) -> None:
    """Its line goes to stderr, which may be lost."""
    with Path("/dev/full").open("wb") as full:
        arguments = ("publish", "-checkpoint", root.path, root.hf(1), "1")
        publish.run(*arguments, stdout=full, stderr=full).well()
    assert root.published_steps() == [1]


def test_a_long_answer_is_whole_in_a_pipe_that_does_not_block(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """Whoever shares the pipe may have set that."""
    for step in range(3000):
        root.write_entry(f"exec/attempt/checkpoint-{step}", step)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    log = ("log", "-checkpoint", root.path)
    with os.fdopen(writer, "wb") as pipe, os.fdopen(reader, "rb") as answer:
        slow_reader = publish.start("log", "-checkpoint", root.path, stdout=pipe)
        pipe.close()
        text = answer.read()
        slow_reader.wait().well()
    assert text.count(b"\n") == 3000
    assert len(text) > 100_000
    assert (
        text.splitlines()[0].split()[-1] == publish.run(*log).well().out.split(b"\n")[0].split()[-1]
    )


# -- messages that can't be written


def broken_pipe() -> IO[bytes]:
    """Open a pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


@pytest.fixture
def stalled_pipe() -> Iterator[IO[bytes]]:
    """A full pipe that nobody reads, though somebody could."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * 4096)
    with os.fdopen(writer, "wb") as pipe:
        yield pipe
    os.close(reader)


def check_a_watch_goes_on(root: Root, stderr: IO[bytes]) -> None:
    """Publish many saves, one after the other and in the last look."""
    watch = root.watch(stderr=stderr)
    for step in range(1, 6):
        root.let_a_scan_pass(watch, step)
    watch.send(signal.SIGSTOP)
    for step in range(6, 106):
        root.hf(step)
    watch.send(signal.SIGTERM)
    watch.send(signal.SIGCONT)
    watch.wait().well()  # within its limit, though each message may have stalled
    assert root.published_steps() == list(range(1, 106))


def test_a_watch_goes_on_when_nobody_reads_its_messages(
    root: Root, stalled_pipe: IO[bytes]
) -> None:
    """A reader that has stalled may hold it up for a moment, not for each of a hundred lines."""
    check_a_watch_goes_on(root, stalled_pipe)


def test_a_watch_goes_on_when_its_messages_go_to_a_full_disk(root: Root) -> None:
    """The job's log is the first to fill a disk."""
    with Path("/dev/full").open("wb") as full:
        check_a_watch_goes_on(root, full)


def test_a_watch_goes_on_when_its_messages_go_to_a_broken_pipe(root: Root) -> None:
    """SIGPIPE must not end it."""
    with broken_pipe() as pipe:
        check_a_watch_goes_on(root, pipe)


def test_messages_come_again_once_somebody_reads(root: Root) -> None:
    """What was said meanwhile may be lost; no line is cut in two."""
    reader, writer = os.pipe()
    filling = b"x" * (fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) - 1) + b"\n"
    os.write(writer, filling)
    with os.fdopen(writer, "wb") as pipe, os.fdopen(reader, "rb") as messages:
        watch = root.watch(stderr=pipe)
        pipe.close()
        root.let_a_scan_pass(watch, 1)
        assert messages.readline() == filling
        root.let_a_scan_pass(watch, 2)
        watch.end().well()
        lines = messages.read().splitlines()
    assert lines[-1].startswith(b"publish: published step 2: ")
    assert all(line.startswith(b"publish: published step ") for line in lines)


@pytest.mark.parametrize("stdin", ["<&-", "</dev/null", "</dev/zero"])
def test_stdin_is_never_read(root: Root, publish: Program, stdin: str) -> None:
    """Whatever a scheduler puts there."""
    save = root.hf(1)
    prefix = ["bash", "-c", f'exec "$@" {stdin}', "bash"]
    at_root = ("-checkpoint", root.path)
    publish.run("watch", *at_root, "-framework", "hf", "-once", prefix=prefix).well()
    publish.run("resolve", *at_root, prefix=prefix).well().answers(f"{save}\n")
