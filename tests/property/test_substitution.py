"""Words in braces in any command at all."""

from hypothesis import given
from hypothesis import strategies as st

from dispatch.cli.publish.substitution import check, substitute
from dispatch.errors import InvalidInputError

OUT, ATTEMPT, RESUME = b"/o", b"a", b"/r"
VALUES = {b"{out}": OUT, b"{attempt}": ATTEMPT, b"{resume}": RESUME}

pieces = st.sampled_from(
    [*VALUES, b"{{out}}", b"{{resume}}", b"{", b"}", b"{{", b"}}", b"-", b"--", b"=", b"a", b"\xff"]
)
arguments = st.lists(pieces, max_size=5).map(b"".join) | st.binary(max_size=8)
commands = st.lists(arguments, min_size=1, max_size=6)


def read(argument: bytes) -> bytes:
    """Substitute from the left, one character after the other."""
    written = b""
    while argument:
        for word, value in VALUES.items():
            doubled = b"{%b}" % word
            if argument.startswith(doubled):
                written, argument = written + word, argument[len(doubled) :]
                break
            if argument.startswith(word):
                written, argument = written + value, argument[len(word) :]
                break
        else:
            written, argument = written + argument[:1], argument[1:]
    return written


def is_good(command: list[bytes]) -> bool:
    """Whether the command is not refused."""
    try:
        check(command)
    except InvalidInputError:
        return False
    return True


@given(commands)
def test_each_argument_is_read_from_the_left_when_there_is_something_to_resume_from(
    command: list[bytes],
) -> None:
    if is_good(command):
        put = substitute(command, out=OUT, attempt=ATTEMPT, resume=RESUME)
        assert put == [read(argument) for argument in command]


@given(commands)
def test_without_anything_to_resume_from_nothing_else_changes(command: list[bytes]) -> None:
    """What is left is what was there, in its order; what goes is {resume} or its flag."""
    if is_good(command):
        resumed = substitute(command, out=OUT, attempt=ATTEMPT, resume=RESUME)
        left = substitute(command, out=OUT, attempt=ATTEMPT, resume=None)
        assert left[0] == resumed[0]
        rest = iter(resumed)
        assert all(argument in rest for argument in left)
        gone = sum(
            argument.endswith(b"{resume}") and b"{{resume}" not in argument for argument in command
        )
        assert gone <= len(resumed) - len(left) <= 2 * gone


@given(st.lists(st.binary(max_size=12).filter(lambda a: b"{" not in a), min_size=1))
def test_a_command_without_braces_is_itself(command: list[bytes]) -> None:
    check(command)
    assert substitute(command, out=OUT, attempt=ATTEMPT, resume=None) == command
