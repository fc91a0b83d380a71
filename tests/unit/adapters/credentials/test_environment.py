"""`env`: all of its variables, or none."""

import pytest

from dispatch.adapters.credentials.environment import EnvironmentSource
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials

ID, KEY, TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"


@pytest.mark.parametrize(
    ("variables", "credentials"),
    [
        ({ID: "AKIA", KEY: "k"}, Credentials("AKIA", "k")),
        ({ID: "AKIA", KEY: "k", TOKEN: ""}, Credentials("AKIA", "k")),
        ({ID: "AKIA", KEY: "k", TOKEN: "t"}, Credentials("AKIA", "k", "t")),
    ],
)
def test_the_variables_are_the_keys(variables: dict[str, str], credentials: Credentials) -> None:
    source = EnvironmentSource(variables)
    assert source.load() == credentials
    assert source.name == "env"
    assert not source.has_changed()


@pytest.mark.parametrize("variables", [{}, {ID: "", KEY: "", TOKEN: ""}, {"AWS_PROFILE": "x"}])
def test_without_them_it_is_absent(variables: dict[str, str]) -> None:
    assert EnvironmentSource(variables).load() == Absent("AWS_ACCESS_KEY_ID is not set")


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({ID: "AKIA"}, f"{KEY} is missing"),
        ({KEY: "marked"}, f"{ID} is missing"),
        ({TOKEN: "marked"}, f"{ID} is missing"),
        ({ID: "AKIA", KEY: "marked "}, f"{KEY} has a space"),
        ({ID: "AKIA", KEY: "k", TOKEN: "marked\n"}, f"{TOKEN} has a space, a line break"),
    ],
)
def test_half_of_them_is_an_error(variables: dict[str, str], why: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        EnvironmentSource(variables).load()
    assert str(caught.value).startswith(f"env: {why}")
    assert "marked" not in str(caught.value)
    assert caught.value.kind == "credentials-malformed"
