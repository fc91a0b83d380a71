"""The sources against real services and programs, over real time where that is short."""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import botocore.session
import pytest
from botocore.exceptions import ClientError

from dispatch.adapters.credentials import Surroundings, open_keys, parse_places
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Credentials
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.s3 import Keys, S3Server
from tests.servers.seaweedfs import ROLE_ARN
from tests.servers.web_identity import IdentityProvider
from tests.unit.adapters.credentials.scripted_http import closed_port

pytestmark = pytest.mark.real

PROGRAM = """#!{python}
import json, os, sys
print(json.dumps({{"Version": 1, **json.loads(open({answer!r}).read())}}))
sys.stderr.write("marked-on-stderr")
sys.exit(int(os.environ.get("FAIL_WITH", "0")))
"""


@pytest.fixture(autouse=True)
def astray(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that leads astray whoever reads it."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("NO_PROXY", "*")


def around(variables: Mapping[str, str]) -> Surroundings:
    return Surroundings(variables, now_ns=time.time_ns, monotonic=time.monotonic)


def works(server: S3Server, credentials: Credentials) -> bool:
    """Whether the store takes the keys."""
    keys = Keys(credentials.access_key_id, credentials.secret_access_key, credentials.session_token)
    try:
        server.client(keys).list_buckets()
    except ClientError:
        return False
    return True


# ---------------------------------------------------------------------------------- web-identity


@pytest.fixture
def pod(seaweedfs: S3Server, identity_provider: IdentityProvider, tmp_path: Path) -> dict[str, str]:
    """What a pod of a service account is given."""
    path = tmp_path / "token"
    path.write_text(identity_provider.token(), encoding="utf-8")
    return {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(path),
        "AWS_ROLE_ARN": ROLE_ARN,
        "AWS_ENDPOINT_URL_STS": seaweedfs.url,
    }


def test_a_service_accounts_token_becomes_keys_that_work(
    pod: dict[str, str], seaweedfs: S3Server
) -> None:
    credentials = open_keys(parse_places([]), replace(around(pod), region="us-east-1")).current()
    assert credentials.session_token
    assert credentials.expires_at is not None
    assert 3000 < credentials.expires_at - time.time() <= 3660
    assert works(seaweedfs, credentials)
    assert not works(seaweedfs, replace(credentials, secret_access_key="wrong"))


def test_a_token_that_rotates_is_used_at_the_renewal(
    pod: dict[str, str], seaweedfs: S3Server, identity_provider: IdentityProvider
) -> None:
    """Two hours pass for us: the old token is worth nothing by then, the keys are renewed."""
    hours = 0.0
    surroundings = replace(around(pod), now_ns=lambda: time.time_ns() + int(hours * 3.6e12))
    keys = open_keys(parse_places(["web-identity"]), surroundings)
    first = keys.current()
    assert keys.current() is first
    path = Path(pod["AWS_WEB_IDENTITY_TOKEN_FILE"])
    path.write_text(identity_provider.token(lifetime_s=-60), encoding="utf-8")
    hours = 0.8
    assert keys.current() is first
    path.write_text(identity_provider.token(), encoding="utf-8")
    hours = 0.9
    second = keys.current()
    assert second.access_key_id != first.access_key_id
    assert works(seaweedfs, second)
    assert keys.renew() not in {first, second}


@pytest.mark.parametrize("what", ["old", "foreign", "garbage", "role"])
def test_a_token_that_is_refused_is_an_error(
    pod: dict[str, str], identity_provider: IdentityProvider, what: str
) -> None:
    token = {
        "old": identity_provider.token(lifetime_s=-60),
        "foreign": identity_provider.token(aud="somebody else"),
        "garbage": "marked-garbage.marked-garbage.marked-garbage",
        "role": identity_provider.token(),
    }[what]
    Path(pod["AWS_WEB_IDENTITY_TOKEN_FILE"]).write_text(token, encoding="utf-8")
    role = "arn:aws:iam::role/other" if what == "role" else ROLE_ARN
    with pytest.raises(CredentialsError) as caught:
        open_keys(parse_places([]), around({**pod, "AWS_ROLE_ARN": role})).current()
    assert caught.value.kind == "credentials-refused"
    message = str(caught.value)
    assert message.startswith("web-identity: AssumeRoleWithWebIdentity was refused: ")
    assert not any(part in message for part in token.split("."))


def test_a_token_service_is_reached_through_the_stores_proxy_when_it_is_named(
    pod: dict[str, str], forward_proxy: ForwardProxy, seaweedfs: S3Server
) -> None:
    before = len(forward_proxy.requests())
    open_keys(parse_places([]), around(pod)).current()
    assert forward_proxy.requests()[before:] == []
    open_keys(parse_places([]), replace(around(pod), proxy=forward_proxy.url)).current()
    assert forward_proxy.requests()[before:] == [f"POST {seaweedfs.url}/"]


# --------------------------------------------------------------------------------------- profile


def test_a_role_that_a_profile_names_by_web_identity(
    pod: dict[str, str], seaweedfs: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"[profile team]\nrole_arn = {ROLE_ARN}\nservices = local\n"
        f"web_identity_token_file = {pod['AWS_WEB_IDENTITY_TOKEN_FILE']}\n"
        f"[services local]\nsts =\n  endpoint_url = {seaweedfs.url}\n",
        encoding="utf-8",
    )
    surroundings = around({"AWS_CONFIG_FILE": str(config)})
    credentials = open_keys(parse_places(["profile:team"]), surroundings).current()
    assert credentials.expires_at is not None
    assert works(seaweedfs, credentials)


class Process:
    """A profile whose keys a program prints."""

    def __init__(self, folder: Path) -> None:
        self.answer, self.config = folder / "answer.json", folder / "config"
        program = folder / "keys program"
        text = PROGRAM.format(python=sys.executable, answer=str(self.answer))
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        self.config.write_text(
            f"[profile team]\ncredential_process = '{program}'\n", encoding="utf-8"
        )

    def says(self, key: str, **fields: object) -> None:
        answer = {"AccessKeyId": key, "SecretAccessKey": "marked-secret", **fields}
        self.answer.write_text(json.dumps(answer), encoding="utf-8")


@pytest.fixture
def process(tmp_path: Path) -> Process:
    process = Process(tmp_path)
    process.says("AKIA")
    return process


def test_a_program_that_prints_keys(process: Process) -> None:
    keys = open_keys(
        parse_places(["profile:team"]), around({"AWS_CONFIG_FILE": str(process.config)})
    )
    assert keys.current() == Credentials("AKIA", "marked-secret")
    process.says("AKIB", SessionToken="t", Expiration="2099-01-01T00:00:00Z")
    assert keys.current() == Credentials("AKIA", "marked-secret")
    assert keys.renew() == Credentials("AKIB", "marked-secret", "t", 4_070_908_800.0)
    with pytest.raises(CredentialsError, match="AKIB have expired, and it gives no others"):
        keys.renew()


@pytest.mark.parametrize("fault", ["status", "text", "version", "missing", "program"])
def test_a_program_that_fails_is_an_error_without_its_words(
    process: Process, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "status":
        monkeypatch.setenv("FAIL_WITH", "3")
    elif fault == "program":
        process.config.write_text(
            "[profile team]\ncredential_process = /nowhere/marked\n", encoding="utf-8"
        )
    else:
        process.answer.write_text(
            {
                "text": "marked-secret is no JSON",
                "version": '{"Version": 2, "SecretAccessKey": "marked"}',
                "missing": '{"SecretAccessKey": "marked"}',
            }[fault],
            encoding="utf-8",
        )
    surroundings = around({"AWS_CONFIG_FILE": str(process.config)})
    with pytest.raises(CredentialsError) as caught:
        open_keys(parse_places(["profile:team"]), surroundings).current()
    error = caught.value
    assert error.kind == "credentials-malformed"
    assert "marked" not in f"{error} {error.hint}"
    assert "aws configure export-credentials --profile team" in error.hint


# ------------------------------------------------------------------------------------------ file


def test_keys_in_a_file_are_rotated_between_two_requests(
    seaweedfs: S3Server, tmp_path: Path
) -> None:
    """A real store takes the first and the last, and not what is between."""
    path, next_path = tmp_path / "keys.json", tmp_path / "next.json"

    def rotate(keys: Keys) -> None:
        names = ("access_key_id", "secret_access_key")
        document = {name: getattr(keys, name) for name in names}
        next_path.write_text(json.dumps(document), encoding="utf-8")
        next_path.replace(path)

    rotate(seaweedfs.keys)
    keys = open_keys(parse_places([f"file:{path}"]), around({}))
    assert works(seaweedfs, keys.current())
    rotate(Keys("nobody", "nothing"))
    assert not works(seaweedfs, keys.current())
    rotate(seaweedfs.keys)
    assert works(seaweedfs, keys.current())
    path.write_text("{", encoding="utf-8")
    assert works(seaweedfs, keys.current())


def test_the_whole_of_botocore_finds_the_same_keys_in_a_profile(tmp_path: Path) -> None:
    """What a person sees with other tools of AWS's is what we sign with."""
    config = tmp_path / "config"
    config.write_text(
        "[profile team]\naws_access_key_id = AKIA\naws_secret_access_key = k%x\n", encoding="utf-8"
    )
    session = botocore.session.Session(profile="team")
    session.set_config_variable("config_file", str(config))
    theirs = session.get_credentials()
    assert theirs is not None
    frozen = theirs.get_frozen_credentials()
    surroundings = around({"AWS_CONFIG_FILE": str(config)})
    ours = open_keys(parse_places(["profile:team"]), surroundings).current()
    assert (ours.access_key_id, ours.secret_access_key) == (frozen.access_key, frozen.secret_key)
