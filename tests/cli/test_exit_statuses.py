"""The status of each kind of end, as the help and the reference list them."""

import re
from collections.abc import Sequence

import pytest

from tests.cli.program import Argument, Program
from tests.cli.roots import Root


def test_well_is_0(root: Root, publish: Program) -> None:
    """Each command, also where there was nothing to do."""
    save = root.hf(1)
    at_root = ("-checkpoint", root.path)
    for arguments in (
        ("resolve",),
        ("log",),
        ("watch", "-framework", "hf", "-once"),
        ("publish", save, "1"),  # already published
        ("prune", "-keep", "1"),
        ("retract", "-yes", root.entry(save, 1).name),
    ):
        publish.run(*arguments, *at_root).well()


def test_a_failure_is_1(root: Root, publish: Program) -> None:
    """The store, the save or the entry is not as it must be."""
    root.pub.mkdir()
    (root.pub / "junk").touch()
    at_root = ("-checkpoint", root.path)
    for arguments in (
        ("resolve",),
        ("log",),
        ("publish", root.own() / "checkpoint-1", "1"),
        ("prune", "-keep", "1"),
        ("retract", "-yes", root.entry(root.own() / "checkpoint-1", 1).name),
    ):
        ended = publish.run(*arguments, *at_root).ended_with(1).answers("")
        assert ended.err.startswith(b"publish: error: ")
        assert ended.err.count(b"\n") == 1


def test_a_watch_and_a_publication_do_not_fail_for_junk_in_pub(
    root: Root, publish: Program
) -> None:
    """Only reading commands need every name; that they can't tell the latest is a warning."""
    root.pub.mkdir()
    (root.pub / "junk").touch()
    save = root.hf(1)
    arguments = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once")
    publish.run(*arguments).well().says("published step 1", "warning", "junk")
    again = publish.run("publish", "-checkpoint", root.path, save, "1").well()
    again.says("already published", "warning", "junk")


USAGES: list[Sequence[Argument]] = [
    [],
    ["nonsense"],
    ["resolve"],
    ["resolve", "-nonsense"],
    ["resolve", "-checkpoint", "relative"],
    ["prune", "-checkpoint", "/", "-keep", "0"],
    ["retract", "-checkpoint", "/", "junk"],
]


@pytest.mark.parametrize("arguments", USAGES, ids=" ".join)
def test_usage_is_2(publish: Program, arguments: Sequence[Argument]) -> None:
    """One line, nothing on stdout."""
    ended = publish.run(*arguments).ended_with(2).answers("")
    assert ended.err.startswith(b"publish: error: ")
    assert ended.err.count(b"\n") == 1


@pytest.mark.parametrize(
    "flags", [("-step-at-most", "0"), ("-verify", "-framework", "dcp")], ids=" ".join
)
def test_nothing_that_can_be_resumed_from_is_3(
    root: Root, publish: Program, flags: Sequence[str]
) -> None:
    """Although something is published: an empty answer would mean "from scratch"."""
    root.publish(root.hf(1), 1)
    ended = publish.run("resolve", "-checkpoint", root.path, *flags).ended_with(3).answers("")
    assert ended.err.startswith(b"publish: error: ")
    assert ended.err.count(b"\n") == 1


def test_the_help_lists_the_statuses_that_there_are(publish: Program) -> None:
    """No more and no fewer than these tests know."""
    text = publish.run("-help").well().out.decode()
    assert re.findall(r"^  (\d+)  ", text, re.MULTILINE) == [
        "0", "1", "2", "3", "74", "76", "126", "127",
    ]  # fmt: skip
