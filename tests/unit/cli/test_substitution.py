"""What becomes of the words in braces in a command: every small command, against a table."""

import itertools

import pytest

from dispatch.cli.publish.substitution import check, substitute
from dispatch.errors import InvalidInputError

OUT, ATTEMPT, RESUME = b"/ck/exec/1.7", b"1.7", b"/ck/exec/0.3/checkpoint-5"

ARGUMENTS = {
    # argument: with something to resume from, and without; None: it goes
    b"train.py": (b"train.py", b"train.py"),
    b"--lr": (b"--lr", b"--lr"),
    b"-r": (b"-r", b"-r"),
    b"--": (b"--", b"--"),
    b"-": (b"-", b"-"),
    b"-1": (b"-1", b"-1"),
    b"-.5": (b"-.5", b"-.5"),
    b"--lr=1": (b"--lr=1", b"--lr=1"),
    b"{out}/log": (OUT + b"/log", OUT + b"/log"),
    b"a{attempt}b{out}": (b"a" + ATTEMPT + b"b" + OUT, b"a" + ATTEMPT + b"b" + OUT),
    b"{resume}": (RESUME, None),
    b"--from={resume}": (b"--from=" + RESUME, None),
    b"-from={resume}": (b"-from=" + RESUME, None),
    b"--{attempt}={resume}": (b"--" + ATTEMPT + b"=" + RESUME, None),
    b"{{resume}}": (b"{resume}", b"{resume}"),
    b"--x={{out}}": (b"--x={out}", b"--x={out}"),
    b"": (b"", b""),
}
FLAGS = {b"--lr", b"-r"}


def expected(command: tuple[bytes, ...], *, is_resuming: bool) -> list[bytes]:
    """Read the table."""
    left = []
    for place, argument in enumerate(command):
        value = ARGUMENTS[argument][0 if is_resuming else 1]
        takes = place and argument in FLAGS and command[place + 1 : place + 2] == (b"{resume}",)
        if value is not None and not (takes and not is_resuming):
            left.append(value)
    return left


def put(command: tuple[bytes, ...], resume: bytes | None) -> list[bytes]:
    """Substitute with the values of the table."""
    return substitute(command, out=OUT, attempt=ATTEMPT, resume=resume)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_every_small_command_is_as_the_table_says(length: int) -> None:
    for rest in itertools.product(ARGUMENTS, repeat=length):
        command = (b"train.py", *rest)
        check(command)
        assert put(command, RESUME) == expected(command, is_resuming=True)
        assert put(command, None) == expected(command, is_resuming=False)


@pytest.mark.parametrize(
    "argument",
    [
        b'{"lr": 1}', b'{"a":{"b":{"c":1}}}', b"{}", b"{{}}", b"{{ out }}", b"{ out }", b"{OUT}",
        b"{out", b"out}", b"${OUT}", b"{outer}", b"{attempts}", b"{resume_from}", b"{0}", b"%s",
        b"\xff{\xfe}", b"[{{resume", b"{% raw %}",
    ],
)  # fmt: skip
def test_other_braces_are_nobody_s(argument: bytes) -> None:
    """JSON, templates, formats and bytes that are no text."""
    check((b"python", argument))
    assert put((b"python", argument), RESUME) == [b"python", argument]


@pytest.mark.parametrize(
    ("argument", "becomes"),
    [
        (b'{"dir":"{out}"}', b'{"dir":"/ck/exec/1.7"}'),
        (b"{x:{out}}", b"{x:/ck/exec/1.7}"),
        (b"{{out}", b"{/ck/exec/1.7"),
        (b"{out}}", b"/ck/exec/1.7}"),
        (b"{{{out}}}", b"{{out}}"),
        (b"{{out}}{out}", b"{out}/ck/exec/1.7"),
        (b"${{attempt}}", b"${attempt}"),
        (b"{out}{out}", b"/ck/exec/1.7/ck/exec/1.7"),
    ],
)
def test_words_within_an_argument(argument: bytes, becomes: bytes) -> None:
    """Also within JSON; in two pairs of braces a word is itself."""
    assert put((b"python", argument), None) == [b"python", becomes]


def test_what_was_put_in_is_not_looked_at_again() -> None:
    """A path may hold braces."""
    values = {"out": b"{attempt}", "attempt": b"{out}", "resume": b"{out}{resume}"}
    command = (b"python", b"{out}{attempt}", b"{resume}")
    assert substitute(command, **values) == [b"python", b"{attempt}{out}", b"{out}{resume}"]


@pytest.mark.parametrize(
    "argument",
    [
        b"x{resume}", b"{resume}/model.pt", b"ckpt={resume}", b"--a=b={resume}", b"--a={resume}x",
        b"--a{resume}", b"--={resume}", b"-1={resume}", b"{resume}{resume}", b"{{resume}",
        b"{resume}}", b"--{resume}={resume}", b'{"from": "{resume}"}', b" {resume}",
        b"--a={{resume}}{resume}",
    ],
)  # fmt: skip
def test_a_part_of_an_argument_cannot_be_dropped(argument: bytes) -> None:
    """So it is refused, with or without something to resume from."""
    with pytest.raises(InvalidInputError) as caught:
        check((b"python", argument))
    assert repr(argument.decode()) in str(caught.value)
    assert "--flag={resume}" in caught.value.hint


@pytest.mark.parametrize("command", [b"{resume}", b"--x={resume}"])
def test_the_command_itself_is_never_what_to_resume_from(command: bytes) -> None:
    """It would be dropped, and its first argument run."""
    with pytest.raises(InvalidInputError, match="name of the command"):
        check((command, b"train.py"))


def test_a_command_that_looks_like_a_flag_stays() -> None:
    """A program may be called anything."""
    assert put((b"-x", b"{resume}", b"y"), None) == [b"-x", b"y"]
