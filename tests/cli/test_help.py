"""What the program says about itself."""

import re

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root

COMMANDS = ["resolve", "watch", "run", "publish", "prune", "log", "retract"]


@pytest.mark.parametrize("flag", ["-help", "--help", "-h"])
def test_the_help_lists_the_commands_and_the_statuses(publish: Program, flag: str) -> None:
    """With an example of a job script."""
    ended = publish.run(flag).well()
    assert ended.err == b""
    text = ended.out.decode("ascii")
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", text, re.MULTILINE), command
    for status in (0, 1, 2, 74, 76, 126, 127):
        assert re.search(rf"^  {status} +\w", text, re.MULTILINE)
    assert "RESUME=$(publish resolve -checkpoint" in text


@pytest.mark.parametrize("flag", ["-help", "--help", "-h"])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(publish: Program, command: str, flag: str) -> None:
    """Whatever else is on the command line."""
    ended = publish.run(command, flag).well()
    assert ended.err == b""
    text = ended.out.decode("ascii")
    assert text.startswith(f"usage: publish {command} ")
    assert re.search(rf"example:\n  \$ .*publish {command} ", text)
    assert (
        publish.run(command, "-checkpoint", "/nowhere", flag, "-nonsense").well().out == ended.out
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_of_the_help_is_a_flag_of_the_command(publish: Program, command: str) -> None:
    """One that needs a value says so, one that takes none refuses it."""
    text = publish.run(command, "-help").well().out.decode()
    flags = re.findall(r"^  -(\S+) ([A-Z]*)", text, re.MULTILINE)
    assert {"checkpoint", "json", "debug"} <= {name for name, _ in flags}
    for name, value in flags:
        message = f"-{name} needs a value" if value else f"-{name} takes no value"
        argument = f"-{name}" if value else f"-{name}=x"
        publish.run(command, argument).ended_with(2).says(message)


@pytest.mark.parametrize("flag", ["-version", "--version"])
def test_the_version_is_one_line(publish: Program, flag: str) -> None:
    """The name and three numbers."""
    ended = publish.run(flag).well()
    assert re.fullmatch(rb"publish \d+\.\d+\.\d+\S*\n", ended.out)
    assert ended.err == b""


def test_help_after_a_double_dash_is_an_operand(root: Root, publish: Program) -> None:
    """A save may be called anything."""
    save = root.path / "-help"
    save.mkdir()
    publish.run("publish", "-checkpoint", root.path, "--", "-help", "1", cwd=root.path).well()
    root.assert_resolves_to(save)
