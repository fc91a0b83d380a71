"""An attempt is one element of a path."""

import os

import pytest

from dispatch.errors import InvalidInputError
from dispatch.model.attempt import parse_attempt


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("1.4101.0", b"1.4101.0"),
        ("with space", b"with space"),
        ("...", b"..."),
        (".hidden", b".hidden"),
        ("-n", b"-n"),
        (os.fsdecode(b"na\xc3\xafve"), b"na\xc3\xafve"),
        (os.fsdecode(b"\xff\xfe"), b"\xff\xfe"),
    ],
)
def test_any_element_of_a_path_is_an_attempt(text: str, token: bytes) -> None:
    """The token is opaque: its bytes are kept, also those that are not UTF-8."""
    assert parse_attempt(text) == token


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "/", "a/", "a\0b", "a\nb", "\n"])
def test_what_is_no_element_of_a_path_is_refused(text: str) -> None:
    """The message shows the value, and the hint says what is allowed."""
    with pytest.raises(InvalidInputError) as caught:
        parse_attempt(text)
    assert str(caught.value) == f"attempt {text!r} is not usable as one path element"
    assert "slash" in caught.value.hint
