"""`-creds` is a list in order; what is in it is known before anything is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.adapters.credentials import parse_places
from dispatch.adapters.credentials.parsing import (
    DEFAULT,
    Environment,
    File,
    Instance,
    Place,
    Profile,
    Vault,
    WebIdentity,
)
from dispatch.errors import InvalidInputError


def test_without_the_flag_four_sources_are_tried_in_order() -> None:
    assert parse_places([]) == (Environment(), Profile(), WebIdentity(), Instance())
    assert parse_places([]) is DEFAULT


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["env"], (Environment(),)),
        (["env profile"], (Environment(), Profile())),
        (["  env   instance "], (Environment(), Instance())),
        (["instance", "env web-identity"], (Instance(), Environment(), WebIdentity())),
        (["", "env"], (Environment(),)),
        (["env env"], (Environment(), Environment())),
        (["file:/etc/keys.json"], (File("/etc/keys.json"),)),
        (["file:keys"], (File("keys"),)),
        (["file:/a%20b%2Fc:d"], (File("/a b%2Fc:d"),)),
        (["file:/a%2520b"], (File("/a%2520b"),)),
        (["profile:team%20a"], (Profile("team a"),)),
        (["profile:a:b"], (Profile("a:b"),)),
    ],
)
def test_sources_are_separated_by_spaces(texts: list[str], places: tuple[Place, ...]) -> None:
    assert parse_places(texts) == places


def test_a_vault_is_taken_apart() -> None:
    [place] = parse_places(["vault:https://vault:8200/secret/my%20app?auth=kubernetes&role=job"])
    assert isinstance(place, Vault)
    assert place.address.location == "vault:https://vault:8200/secret/my app"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([""], "-creds names no source"),
        (["  ", ""], "-creds names no source"),
        (["env:"], "-creds: env names nothing after its colon"),
        (["env:x"], "-creds: env is not written so"),
        (["instance:x"], "-creds: instance is not written so"),
        (["file"], "-creds: file is not written so"),
        (["file:"], "-creds: file names nothing after its colon"),
        (["profile:"], "-creds: profile names nothing after its colon"),
        (["Env"], "-creds: 'Env' is not a source"),
        (["env,instance"], "-creds: 'env,instance' is not a source"),
        (["env\ninstance"], "-creds: 'env\\ninstance' has a character that can't be printed"),
        (["file:/a\tb"], "-creds: 'file' has a character that can't be printed"),
        (["/etc/keys.json"], "-creds: '/etc/keys.js…' is not a source"),
        (["wJalrXUtnFEMI/K7MDENG/secret"], "-creds: 'wJalrXUtnFEM…' is not a source"),
    ],
)
def test_anything_else_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_places(texts)
    assert str(caught.value) == message


SPELLINGS = st.one_of(
    st.text(),
    st.text(alphabet="ev:/%20 .?&=#@[]", max_size=40),
    st.builds("vault:https://{}".format, st.text()),
    st.builds(
        "vault:https://v/s/a?{}".format, st.text(alphabet="authrole=&kubernetes%2/", max_size=60)
    ),
)


@given(st.lists(SPELLINGS, max_size=3))
def test_whatever_is_written_is_understood_or_refused(texts: list[str]) -> None:
    try:
        places = parse_places(texts)
    except InvalidInputError as error:
        refusal = error
    else:
        assert places
        return
    assert refusal.hint or "printed" in str(refusal)
    assert refusal.__context__ is None
