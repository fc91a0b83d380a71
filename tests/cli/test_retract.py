"""`retract`: taking back one publication, by a person."""

import json
import signal
import subprocess

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root
from tests.cli.terminals import Terminal

NOTHING = "nothing (training would start from scratch)"


def two_publications(root: Root) -> tuple[str, str]:
    """Publish steps 1 and 9; return the names of their entries."""
    for step in (1, 9):
        root.publish(root.hf(step), step)
    first, second = root.names()
    return first, second


@pytest.mark.parametrize("answer", ["yes", "y", "YES", " yes "])
def test_a_person_who_says_yes_takes_it_back(
    root: Root, publish: Program, terminal: Terminal, answer: str
) -> None:
    """The entry goes, the save stays, and resolve's answers before and after are told."""
    old, new = two_publications(root)
    running = publish.start(
        "retract", "-checkpoint", root.path, new, stdin=terminal.slave, stderr=terminal.slave
    )
    terminal.wait_until_shown("Type yes:")
    assert root.names() == [old, new]
    terminal.type(f"{answer}\n")
    running.wait().well().answers("")
    assert root.names() == [old]
    assert (root.own() / "checkpoint-9/trainer_state.json").exists()
    lines = terminal.shown().decode().splitlines()
    assert lines[0] == f"publish: step 9 of epoch 1000000: {root.own()}/checkpoint-9"
    assert lines[1].endswith(f" {root.own()}/checkpoint-9 (step 9 of epoch 1000000)")
    assert lines[2].endswith(f" {root.own()}/checkpoint-1 (step 1 of epoch 1000000)")
    assert lines[-1].startswith("publish: retracted; ")
    assert lines[-1].endswith(f" {root.own()}/checkpoint-1 (step 1 of epoch 1000000)")


@pytest.mark.parametrize("answer", ["no\n", "\n", "yes please\n", "\x04"])
def test_any_other_answer_takes_nothing_back(
    root: Root, publish: Program, terminal: Terminal, answer: str
) -> None:
    """Also the end of input."""
    names = two_publications(root)
    running = publish.start(
        "retract", "-checkpoint", root.path, names[1], stdin=terminal.slave, stderr=terminal.slave
    )
    terminal.wait_until_shown("Type yes:")
    terminal.type(answer)
    running.wait().ended_with(1)
    assert b"nothing was retracted" in terminal.shown()
    assert tuple(root.names()) == names


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_question_takes_nothing_back(
    root: Root, publish: Program, terminal: Terminal, number: signal.Signals
) -> None:
    """The program dies of it."""
    names = two_publications(root)
    running = publish.start(
        "retract", "-checkpoint", root.path, names[1], stdin=terminal.slave, stderr=terminal.slave
    )
    terminal.wait_until_shown("Type yes:")
    running.end(number).ended_with(-number)
    assert tuple(root.names()) == names


def test_without_a_terminal_it_needs_yes(root: Root, publish: Program) -> None:
    """Whatever is on stdin."""
    names = two_publications(root)
    arguments = ("retract", "-checkpoint", root.path, names[1])
    publish.run(*arguments).ended_with(2).answers("").says("no terminal", "-yes")
    piped = publish.in_bash(f"yes | publish retract -checkpoint {root} {names[1]}")
    piped.ended_with(2).says("-yes")
    assert tuple(root.names()) == names
    publish.run(*arguments, "-yes").well().answers("").says("checkpoint-9", "checkpoint-1")
    assert root.names() == [names[0]]
    publish.run("retract", "-checkpoint", root.path, names[0], "-yes").well().says(NOTHING)
    assert root.resolve() == b""


def test_what_is_not_published_cannot_be_taken_back(root: Root, publish: Program) -> None:
    """Told apart from what is no entry's name at all."""
    names = two_publications(root)
    root.entry(root.own() / "checkpoint-9", 9).unlink()
    gone = publish.run("retract", "-checkpoint", root.path, "-yes", names[1])
    gone.ended_with(1).says(names[1], "not published")
    for word in ("junk", "pub/" + names[0], names[0].lower(), "", "../exec"):
        ended = publish.run("retract", "-checkpoint", root.path, "-yes", "--", word)
        ended.ended_with(2).says(repr(word))
    assert root.names() == [names[0]]


def test_a_retracted_save_can_be_published_again(root: Root, publish: Program) -> None:
    """Nothing of it remains."""
    names = two_publications(root)
    publish.run("retract", "-checkpoint", root.path, "-yes", names[1]).well()
    root.publish(root.own() / "checkpoint-9", 9).says("published step 9")
    assert tuple(root.names()) == names


def test_the_json_answer_says_what_resolve_said_and_says(root: Root, publish: Program) -> None:
    """Before and after; null for nothing."""
    old, new = two_publications(root)
    arguments = ("retract", "-json", "-checkpoint", root.path, "-yes")
    document = json.loads(publish.run(*arguments, new).well().out)
    assert document["retracted"]["entry"] == document["before"]["entry"] == new
    assert document["after"]["entry"] == old
    assert json.loads(publish.run(*arguments, old).well().out)["after"] is None


def test_a_question_nobody_can_see_is_not_answered_by_chance(
    root: Root, publish: Program, terminal: Terminal
) -> None:
    """With stderr elsewhere the question is still asked, and waits."""
    names = two_publications(root)
    running = publish.start(
        "retract", "-checkpoint", root.path, names[1],
        stdin=terminal.slave, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    terminal.type("no\n")
    running.wait().ended_with(1)
    assert tuple(root.names()) == names
