"""Command lines: flags, operands, durations, and what is suggested for a mistyped one."""

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root


@pytest.mark.parametrize("dashes", ["-", "--"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_flag_has_four_forms(root: Root, publish: Program, dashes: str, joined: bool) -> None:
    """One dash or two, with an equals sign or without."""
    save = root.hf(7)
    name = f"{dashes}checkpoint"
    flag = [f"{name}={root}"] if joined else [name, str(root)]
    publish.run("publish", *flag, save, "7").well()
    publish.run("resolve", *flag).well().answers(f"{save}\n")


def test_flags_and_operands_may_come_in_any_order(root: Root, publish: Program) -> None:
    """Before, between and after the operands; a double dash ends the flags."""
    save = root.hf(7)
    publish.run("publish", save, "-checkpoint", root.path, "7").well()
    publish.run("publish", save, "7", f"-checkpoint={root}").well().says("already")
    publish.run("publish", "-checkpoint", root.path, "--", save, "7").well().says("already")
    publish.run("-json", "publish", "-checkpoint", root.path, save, "7").well()


def test_a_value_may_hold_an_equals_sign_or_begin_with_a_dash(root: Root, publish: Program) -> None:
    """Only the first equals sign divides; what follows a flag is its value."""
    odd = Root(root.path / "a=b", publish)
    publish.run("resolve", f"-checkpoint={odd}").well().answers("")
    attempt = "-dashed=1"
    save = root.hf(3, attempt=attempt)
    publish.run(
        "watch", "-checkpoint", root.path, "-framework", "hf", "-once", "-attempt", attempt
    ).well()
    root.assert_resolves_to(save)


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("reslove", "resolve"),
        ("wach", "watch"),
        ("publsh", "publish"),
        ("purne", "prune"),
        ("logs", "log"),
        ("retrack", "retract"),
    ],
)
def test_an_unknown_command_suggests_the_nearest(
    publish: Program, typed: str, suggested: str
) -> None:
    """Usage, with the word that was typed."""
    publish.run(typed).ended_with(2).answers("").says(typed, f"Did you mean {suggested}?")


@pytest.mark.parametrize(
    ("command", "typed", "suggested"),
    [
        ("resolve", "-chekpoint", "-checkpoint"),
        ("watch", "--framewrok=hf", "-framework"),
        ("watch", "-intervall", "-interval"),
        ("prune", "-keep-evry", "-keep-every"),
        ("prune", "-dryrun", "-dry-run"),
        ("retract", "-yse", "-yes"),
    ],
)
def test_an_unknown_flag_suggests_the_nearest(
    publish: Program, command: str, typed: str, suggested: str
) -> None:
    """Usage, with the flag that was typed; its value may be a secret."""
    ended = publish.run(command, typed).ended_with(2).answers("")
    ended.says(f"unknown flag '{typed.partition('=')[0]}'", f"Did you mean {suggested}?")


@pytest.mark.parametrize("typed", ["-check", "-c", "-k", "-ke", "-dry", "---checkpoint", "-xyzzy"])
def test_a_flag_is_never_abbreviated(root: Root, publish: Program, typed: str) -> None:
    """A prefix of a flag is an unknown flag."""
    ended = publish.run("prune", "-checkpoint", root.path, "-keep", "1", typed, "1")
    ended.ended_with(2).answers("").says("unknown flag", typed)


def test_a_word_that_is_like_nothing_points_to_the_help(publish: Program) -> None:
    """There is not always a nearest one."""
    publish.run("qqqqqqqq").ended_with(2).says("unknown command 'qqqqqqqq'", "publish -help")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no command is given"),
        (["resolve"], "resolve needs -checkpoint"),
        (["prune", "-checkpoint", "/"], "prune needs -keep"),
        (["watch", "-checkpoint", "/"], "watch needs -framework"),
        (["resolve", "-checkpoint"], "-checkpoint needs a value: -checkpoint ROOT"),
        (["resolve", "-checkpoint", "/", "-checkpoint=/"], "-checkpoint is given twice"),
        (["resolve", "-debug", "-checkpoint=/", "-debug"], "-debug is given twice"),
        (["resolve", "-json=yes", "-checkpoint=/"], "-json takes no value"),
        (["prune", "-checkpoint=/", "-keep=1", "-v=1"], "-v takes no value"),
        (["resolve", "-checkpoint=/", "extra"], "resolve takes no operands; given: 'extra'"),
        (["publish", "-checkpoint=/", "one"], "publish takes SAVE STEP; given: 'one'"),
        (
            ["publish", "-checkpoint=/", "a", "1", "b"],
            "publish takes SAVE STEP; given: 'a' '1' 'b'",
        ),
        (["publish", "-checkpoint=/", "", "1"], "SAVE is empty"),
        (["retract", "-checkpoint=/"], "retract takes ENTRY or -claim; given: none"),
        (["retract", "-checkpoint=/", "-yes", "nonsense"], "'nonsense' is not an entry's name"),
        (["watch", "-checkpoint=/", "-framework=hff"], "framework 'hff' is not one of: hf, dcp"),
        (["watch", "-checkpoint=/", "-framework="], "framework '' is not one of: hf, dcp"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error_in_one_line(
    publish: Program, arguments: list[str], message: str
) -> None:
    """Status 2, nothing on stdout, what is wrong on stderr."""
    ended = publish.run(*arguments).ended_with(2).answers("").says(message)
    assert ended.err.startswith(b"publish: error: ")
    assert ended.err.count(b"\n") == 1


STEPS_THAT_ARE_NONE = [
    "", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "1_000", "abc", "\u0661",
    "18446744073709551616", "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS_THAT_ARE_NONE, ids=lambda step: step[:30])
def test_a_step_that_is_no_number_of_64_bits_is_refused(
    root: Root, publish: Program, step: str
) -> None:
    """With what was given, and before anything is written."""
    save = root.hf(1)
    ended = publish.run("publish", "-checkpoint", root.path, "--", save, step)
    ended.ended_with(2).answers("").says("step", repr(step[:60])[:-1], "18446744073709551615")
    assert not root.pub.exists()


@pytest.mark.parametrize("step", ["0", "007", "18446744073709551615"])
def test_a_step_is_any_number_of_64_bits(root: Root, publish: Program, step: str) -> None:
    """Leading zeros mean nothing."""
    save = root.hf(1)
    publish.run("publish", "-checkpoint", root.path, save, step).well()
    assert root.published_steps() == [int(step)]


@pytest.mark.parametrize("duration", ["10s", "1m30s", "500ms", "2h", "1.5s", "2h1m1s1ms", "0.1ms"])
@pytest.mark.parametrize("flag", ["-interval", "-timeout"])
def test_a_duration_is_numbers_with_units(
    root: Root, publish: Program, flag: str, duration: str
) -> None:
    """Hours, minutes, seconds and milliseconds, each once, in that order."""
    arguments = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once", flag, duration)
    if (flag, duration) == ("-timeout", "0.1ms"):
        return  # no store answers within that
    publish.run(*arguments).well()


@pytest.mark.parametrize("flag", ["-interval", "-timeout"])
def test_a_duration_may_be_longer_than_any_clock_counts(
    root: Root, publish: Program, flag: str
) -> None:
    """It means for ever."""
    flags = ("-framework", "hf", "-once", flag, "99999999999999999h")
    publish.run("watch", "-checkpoint", root.path, *flags).well()
    watch = root.watch("-timeout", "99999999999999999h")
    root.let_a_scan_pass(watch, 1)
    watch.end().well()


BAD_DURATIONS = [
    "10", "", "s", "10 s", "10S", "-1s", "+1s", "0s", "0", "0h0s", "1d", "1s1m", "1s1s", "1.s",
    ".5s", "1..5s", "1e3s", "1,5s", "ten", "infs", "nans", "1m30", "\u0661s", "9" * 5000 + "s",
]  # fmt: skip


@pytest.mark.parametrize("duration", BAD_DURATIONS, ids=lambda duration: duration[:20])
@pytest.mark.parametrize("flag", ["-interval", "-timeout"])
def test_what_is_no_duration_is_told_the_form_it_should_have(
    root: Root, publish: Program, flag: str, duration: str
) -> None:
    """A bare number most of all."""
    arguments = ("watch", "-checkpoint", root.path, "-framework", "hf", f"{flag}={duration}")
    ended = publish.run(*arguments).ended_with(2).answers("")
    ended.says(flag, repr(duration)[:20], "10s, 1m30s, 500ms or 2h")
    assert list(root.path.iterdir()) == []


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", ""])
def test_a_keep_every_that_is_no_count_is_refused(root: Root, publish: Program, value: str) -> None:
    """As -keep."""
    root.publish(root.hf(1), 1)
    ended = publish.run("prune", "-checkpoint", root.path, "-keep=1", f"-keep-every={value}")
    ended.ended_with(2).says("-keep-every", "at least 1")
