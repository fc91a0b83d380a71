"""From `-creds` to keys; what is imported and asked only when it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from dispatch.adapters.credentials import Surroundings, open_keys, parse_places
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Credentials


def around(**variables: str) -> Surroundings:
    files = {"AWS_CONFIG_FILE": "/nowhere/config", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/keys"}
    off = {"AWS_EC2_METADATA_DISABLED": "true"}
    return Surroundings({**files, **off, **variables}, now_ns=lambda: 0, monotonic=lambda: 0.0)


def test_the_environment_shows_nothing_of_itself() -> None:
    assert "marked" not in repr(around(AWS_SECRET_ACCESS_KEY="marked"))


def test_without_any_source_it_lists_the_four_that_were_tried() -> None:
    with pytest.raises(CredentialsError) as caught:
        open_keys(parse_places([]), around()).current()
    assert caught.value.kind == "credentials-missing"
    assert str(caught.value) == (
        "no credentials for the store; tried env: AWS_ACCESS_KEY_ID is not set; "
        "profile: no profile 'default' in /nowhere/config or /nowhere/keys; "
        "web-identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; "
        "instance: AWS_EC2_METADATA_DISABLED is set"
    )


def test_the_environment_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("[default]\naws_access_key_id=P\naws_secret_access_key=p\n", encoding="utf-8")
    config = {"AWS_CONFIG_FILE": str(path)}
    env = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e"}
    assert open_keys(parse_places([]), around(**config, **env)).current() == Credentials("E", "e")
    assert open_keys(parse_places([]), around(**config)).current() == Credentials("P", "p")
    places = parse_places(["profile env"])
    assert open_keys(places, around(**config, **env)).current() == Credentials("P", "p")


def test_a_vault_is_named_by_its_location() -> None:
    place = "vault:http://127.0.0.1:1/secret/app?auth=kubernetes&role=job&jwt=/nowhere"
    with pytest.raises(CredentialsError, match=r"^vault:http://127\.0\.0\.1:1/secret/app: the ser"):
        open_keys(parse_places([place]), around()).current()


@pytest.mark.parametrize(
    ("places", "imported"),
    [
        ("env", set()),
        ("file:/nowhere instance", set()),
        ("profile", {"botocore"}),
        ("vault:http://127.0.0.1:1/s/a?auth=approle&role_id=r&secret_id_file=/x", {"hvac"}),
    ],
)
def test_packages_are_imported_by_the_sources_that_need_them(
    places: str, imported: set[str]
) -> None:
    code = """
import sys
from dispatch.adapters.credentials import Surroundings, open_keys, parse_places
variables = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/", "HOME": "/nowhere"}
keys = open_keys(parse_places([sys.argv[1]]), Surroundings(variables, lambda: 0, lambda: 0.0))
print({"botocore", "hvac"} & set(sys.modules))
try:
    keys.current()
except Exception as error:
    print({"botocore", "hvac"} & set(sys.modules))
"""
    run = subprocess.run(
        [sys.executable, "-c", code, places], capture_output=True, encoding="utf-8", check=True
    )
    assert run.stdout.splitlines() == ["set()", str(imported)]
