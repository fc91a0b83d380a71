"""The attempt and the epoch: from the environment, from flags, missing and malformed."""

import pytest

from tests.cli.program import EPOCH, Program
from tests.cli.roots import Root

WATCH = ("watch", "-framework", "hf", "-once")
MALFORMED_ATTEMPTS = ["", ".", "..", "a/b", "/", "a\nb"]
MALFORMED_EPOCHS = [
    "",
    "-1",
    "+1",
    "1.5",
    " 1",
    "0x1",
    "1e6",
    "x",
    "18446744073709551616",
    "\u0661",
]


@pytest.mark.parametrize("variable", ["DISPATCH_ATTEMPT", "DISPATCH_EPOCH"])
def test_watch_needs_both(root: Root, publish: Program, variable: str) -> None:
    """A missing one is named, before anything is written."""
    root.hf(1)
    ended = publish.run(*WATCH, "-checkpoint", root.path, environment={variable: None})
    ended.ended_with(2).answers("").says(f"{variable} is not set")
    assert not root.pub.exists()


@pytest.mark.parametrize("value", MALFORMED_ATTEMPTS)
@pytest.mark.parametrize("command", ["watch", "publish"])
def test_a_malformed_attempt_is_named_and_shown(
    root: Root, publish: Program, command: str, value: str
) -> None:
    """Also by `publish`, which needs none, before anything is written."""
    save = root.hf(1)
    rest = {"watch": WATCH, "publish": ("publish", save, "1")}[command]
    by_variable = publish.run(
        *rest, "-checkpoint", root.path, environment={"DISPATCH_ATTEMPT": value}
    )
    by_variable.ended_with(2).answers("").says("DISPATCH_ATTEMPT", repr(value))
    by_flag = publish.run(*rest, "-checkpoint", root.path, f"-attempt={value}")
    by_flag.ended_with(2).answers("").says("-attempt", repr(value))
    assert not root.pub.exists()


@pytest.mark.parametrize("value", MALFORMED_EPOCHS)
@pytest.mark.parametrize("command", ["watch", "publish", "prune"])
def test_a_malformed_epoch_is_named_and_shown(
    root: Root, publish: Program, command: str, value: str
) -> None:
    """Also by `prune`, which needs none, before anything is written or removed."""
    saves = [root.hf(step) for step in (1, 2)]
    if command == "prune":
        for step, save in enumerate(saves, start=1):
            root.publish(save, step)
    before = root.names()
    rest = {
        "watch": WATCH,
        "publish": ("publish", saves[0], "1"),
        "prune": ("prune", "-keep", "1"),
    }[command]
    by_variable = publish.run(
        *rest, "-checkpoint", root.path, environment={"DISPATCH_EPOCH": value}
    )
    by_variable.ended_with(2).answers("").says("DISPATCH_EPOCH", repr(value))
    by_flag = publish.run(*rest, "-checkpoint", root.path, f"-epoch={value}")
    by_flag.ended_with(2).answers("").says("-epoch", repr(value))
    assert root.names() == before


def test_flags_override_the_environment(root: Root, publish: Program) -> None:
    """Also one that is malformed."""
    save = root.hf(5, attempt="by-hand")
    publish.run(
        *WATCH, "-checkpoint", root.path, "-attempt", "by-hand", "-epoch", "7",
        environment={"DISPATCH_ATTEMPT": "a/b", "DISPATCH_EPOCH": "malformed"},
    ).well()  # fmt: skip
    assert root.names() == [root.entry(save, 5, epoch=7).name]


def test_publish_needs_the_epoch_alone(root: Root, publish: Program) -> None:
    """The attempt only says whose claim to honour."""
    save = root.hf(1)
    arguments = ("publish", "-checkpoint", root.path, save, "1")
    publish.run(*arguments, environment={"DISPATCH_EPOCH": None}).ended_with(2).says(
        "DISPATCH_EPOCH is not set"
    )
    assert not root.pub.exists()
    publish.run(*arguments, environment={"DISPATCH_ATTEMPT": None}).well()


@pytest.mark.parametrize("command", ["resolve", "log", "retract"])
@pytest.mark.parametrize("value", [None, "malformed/"])
def test_what_needs_no_identity_does_not_look_at_it(
    root: Root, publish: Program, command: str, value: str | None
) -> None:
    """A person at a login node has none."""
    save = root.hf(1)
    root.publish(save, 1)
    operands = ["-yes", root.names()[0]] if command == "retract" else []
    none = {"DISPATCH_ATTEMPT": value, "DISPATCH_EPOCH": value}
    publish.run(command, "-checkpoint", root.path, *operands, environment=none).well()


def test_prune_does_without_an_epoch(root: Root, publish: Program) -> None:
    """It has only more to say with one."""
    root.publish(root.hf(1), 1)
    arguments = ("prune", "-checkpoint", root.path, "-keep", "1")
    assert publish.run(*arguments, environment={"DISPATCH_EPOCH": None}).well().err == b""
    assert publish.run(*arguments, environment={"DISPATCH_EPOCH": str(EPOCH)}).well().err == b""


@pytest.mark.parametrize("command", ["watch", "publish", "prune"])
def test_an_overtaken_run_is_told_so(root: Root, publish: Program, command: str) -> None:
    """One line on stderr, and the work goes on."""
    root.publish(root.hf(1, attempt="newer"), 1, epoch=EPOCH + 1)
    save = root.hf(9)
    rest = {
        "watch": WATCH,
        "publish": ("publish", save, "9"),
        "prune": ("prune", "-keep", "5"),
    }[command]
    ended = publish.run(*rest, "-checkpoint", root.path).well()
    ended.says("publish: warning: ", f"epoch {EPOCH + 1}", f"this execution's {EPOCH}")
    assert ended.err.count(b"overtook") == 1
    assert root.entry(save, 9).exists() == (command != "prune")


@pytest.mark.parametrize("command", ["watch", "publish", "prune"])
def test_the_newest_run_is_told_nothing(root: Root, publish: Program, command: str) -> None:
    """An equal epoch is its own, a lower one was overtaken by it."""
    root.publish(root.hf(8), 8)
    root.publish(root.hf(1, attempt="older"), 1, epoch=EPOCH - 1)
    rest = {
        "watch": WATCH,
        "publish": ("publish", root.hf(9), "9"),
        "prune": ("prune", "-keep", "5"),
    }[command]
    assert b"overtook" not in publish.run(*rest, "-checkpoint", root.path).well().err


def test_a_token_too_long_for_any_entry_is_refused_at_the_start(
    root: Root, publish: Program
) -> None:
    """The attempt and the pattern are known before training starts: 133 bytes fit."""
    flags = ("-checkpoint", root.path, "-framework", "hf", "-once", "-attempt")
    # exec/ and /checkpoint- take 17 bytes: at 104 twelve digits fit, at 115 one, at 116 none.
    assert publish.run("watch", *flags, "t" * 104).well().err == b""
    publish.run("watch", *flags, "t" * 105).well().says("warning", "11 digits", "133")
    publish.run("watch", *flags, "t" * 115).well().says("warning", "1 digits", "133")
    publish.run("watch", *flags, "t" * 116).ended_with(2).says("0 digits", "133", "shorter")
    publish.run("watch", *flags, "t" * 300).ended_with(2).says("133", "shorter")


def test_a_save_too_long_for_an_entry_is_refused(root: Root, publish: Program) -> None:
    """With the limit, and nothing written."""
    longest = root.path / ("s" * 133)
    longest.mkdir()
    too_long = root.path / ("s" * 134)
    too_long.mkdir()
    ended = publish.run("publish", "-checkpoint", root.path, too_long, "1")
    ended.ended_with(2).says("134 bytes", "133")
    assert not root.pub.exists()
    root.publish(longest, 1)
    assert len(root.names()[0]) == 255
    root.assert_resolves_to(longest)
