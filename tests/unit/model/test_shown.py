"""What a message repeats of a value that may hold a secret."""

import pytest

from dispatch.model.shown import shown


@pytest.mark.parametrize("text", ["", "word", "/a/path@with?all#of=it", "s3://bucket/prefix", "-f"])
def test_what_holds_no_secret_is_shown_whole(text: str) -> None:
    assert shown(text) == repr(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:marked@host/path", "'https://…'"),
        ("https://:marked@host", "'https://…'"),
        ("https://user:ma?rk#ed@host", "'https://…'"),
        ("s3://AKIA:marked@bucket/prefix", "'s3://…'"),
        ("user:marked@host", "'…'"),
        ("https://host/path?marked", "'https://host/path…'"),
        ("https://host/path?to=a@marked", "'https://…'"),
        ("https://host#marked?x", "'https://host…'"),
        ("vault:https://host/a/b?secret_id=marked", "'vault:https://host/a/b…'"),
    ],
)
def test_of_a_url_what_may_be_a_secret_is_not_shown(text: str, expected: str) -> None:
    assert shown(text) == expected
