"""A line on the terminal for whatever takes longer than two seconds, and nowhere else."""

import pytest

from tests.cli.injection import injecting
from tests.cli.program import Program
from tests.cli.roots import Root
from tests.cli.terminals import Terminal

pytestmark = pytest.mark.real

SLOW = "delay_enter=3000000:when=1"  # microseconds: a second more than goes without a word
COMMANDS = [["resolve"], ["prune", "-keep", "1"]]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_slow_command_says_what_it_does_on_a_terminal(
    root: Root, publish: Program, terminal: Terminal, arguments: list[str]
) -> None:
    """And takes the line away before it says anything else."""
    root.publish(root.hf(1), 1)
    running = publish.start(
        *arguments, "-checkpoint", root.path,
        prefix=injecting("getdents64", SLOW, root.pub), stderr=terminal.slave,
    )  # fmt: skip
    terminal.wait_until_shown("publish: listing publications (2 s)")
    running.wait().well()
    assert terminal.shown().endswith(b"\r\x1b[K")
    assert b"\n" not in terminal.shown()


def test_a_slow_publication_says_what_it_does_on_a_terminal(
    root: Root, publish: Program, terminal: Terminal
) -> None:
    """And its own line begins on a clean one."""
    save = root.hf(1)
    root.pub.mkdir()
    running = publish.start(
        "publish", "-checkpoint", root.path, save, "1",
        prefix=injecting("fsync", SLOW, root.pub), stderr=terminal.slave,
    )  # fmt: skip
    terminal.wait_until_shown(f"publish: publishing {save} (2 s)")
    running.wait().well()
    assert terminal.shown().endswith(f"\r\x1b[Kpublish: published step 1: {save}\n".encode())


def test_a_quick_command_says_nothing_on_a_terminal(
    root: Root, publish: Program, terminal: Terminal
) -> None:
    """Only what it has to say."""
    root.publish(root.hf(1), 1)
    publish.start("resolve", "-checkpoint", root.path, stderr=terminal.slave).wait().well()
    assert terminal.shown() == b""


def test_a_slow_command_says_nothing_where_nobody_looks(root: Root, publish: Program) -> None:
    """A log file gets events alone."""
    save = root.hf(1)
    root.publish(save, 1)
    prefix = injecting("getdents64", SLOW, root.pub)
    ended = publish.run("resolve", "-checkpoint", root.path, prefix=prefix).well()
    assert (ended.out, ended.err) == (f"{save}\n".encode(), b"")


def test_a_slow_command_shows_no_progress_among_json_lines(
    root: Root, publish: Program, terminal: Terminal
) -> None:
    """Each line is an object, also on a terminal."""
    root.publish(root.hf(1), 1)
    running = publish.start(
        "resolve", "-json", "-checkpoint", root.path,
        prefix=injecting("getdents64", SLOW, root.pub), stderr=terminal.slave,
    )  # fmt: skip
    running.wait().well()
    assert terminal.shown() == b""
