"""From texts to credentials, without showing one."""

import pytest

from dispatch.adapters.credentials.fields import Names, credentials_in
from dispatch.adapters.credentials.outcome import Broken, words_of
from dispatch.ports.credentials import Credentials

NAMES = Names("id", "key", "token", "end")
GOOD = {"id": "AKIA", "key": "a/b+c="}


@pytest.mark.parametrize(
    ("values", "credentials"),
    [
        (GOOD, Credentials("AKIA", "a/b+c=")),
        ({**GOOD, "token": "t"}, Credentials("AKIA", "a/b+c=", "t")),
        ({**GOOD, "token": ""}, Credentials("AKIA", "a/b+c=")),
        ({**GOOD, "token": None}, Credentials("AKIA", "a/b+c=")),
        ({**GOOD, "end": None}, Credentials("AKIA", "a/b+c=")),
        ({**GOOD, "other": ["ignored"]}, Credentials("AKIA", "a/b+c=")),
        ({**GOOD, "end": 0}, Credentials("AKIA", "a/b+c=", None, 0.0)),
        ({**GOOD, "end": 1_800_000_000}, Credentials("AKIA", "a/b+c=", None, 1.8e9)),
        ({**GOOD, "end": 1.5}, Credentials("AKIA", "a/b+c=", None, 1.5)),
        ({**GOOD, "end": "1800000000"}, Credentials("AKIA", "a/b+c=", None, 1.8e9)),
        ({**GOOD, "end": "2027-01-15T08:00:00Z"}, Credentials("AKIA", "a/b+c=", None, 1.8e9)),
        ({**GOOD, "end": "2027-01-15T10:00:00+02:00"}, Credentials("AKIA", "a/b+c=", None, 1.8e9)),
    ],
)
def test_what_is_whole(values: dict[str, object], credentials: Credentials) -> None:
    assert credentials_in(values, NAMES) == credentials


BAD_CHARACTER = "has a space, a line break or another character that no key has"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": None}, "id is missing"),
        ({"key": None}, "key is missing"),
        ({"key": ""}, "key is empty"),
        ({"key": 12}, "key is not text but of type int"),
        ({"key": ["a"]}, "key is not text but of type list"),
        ({"token": {"a": 1}}, "token is not text but of type dict"),
        ({"key": "abc\n"}, f"key {BAD_CHARACTER}"),
        ({"id": " AKIA"}, f"id {BAD_CHARACTER}"),
        ({"token": "t\r"}, f"token {BAD_CHARACTER}"),
        ({"key": "k\u00e9y"}, f"key {BAD_CHARACTER}"),
    ],
)
def test_what_is_wrong_with_a_key(change: dict[str, object], why: str) -> None:
    assert credentials_in(GOOD | change, NAMES) == Broken(why)


@pytest.mark.parametrize(
    "end",
    [
        "", "soon", "2027-01-15T08:00:00", "2027-01-15", True, [], -1, 1_800_000_000_000, 10**400,
        float("nan"), float("inf"), "9" * 400, "-5", "\u0661", "0001-01-01T00:00:00+14:00",
    ],
)  # fmt: skip
def test_an_end_is_seconds_or_a_time_with_its_zone(end: object) -> None:
    outcome = credentials_in({**GOOD, "end": end}, NAMES)
    assert isinstance(outcome, Broken)
    assert outcome.why == "end is not a time with a zone, and not seconds since 1970"


def test_a_servers_words_lose_what_they_echo() -> None:
    token = "header00.payload0.signature"
    assert words_of(f"bad token {token}!", [token]) == "bad token …!"
    assert words_of("in payload0 and\n signature", [token]) == "in … and …"
    assert words_of("a short abc stays", ["abc"]) == "a short abc stays"
    assert words_of("x" * 300, []) == "x" * 200 + "…"
    assert words_of("a\x1b[31mb\0", []) == "a[31mb"
