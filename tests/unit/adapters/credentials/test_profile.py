"""`profile:` through botocore's own machinery, with services that answer by script.

Programs of `credential_process` and a real token service are in tests/real.
"""

import datetime as dt
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import botocore.credentials
import botocore.tokens
import pytest

from dispatch.adapters.credentials.profile import ProfileSource
from dispatch.adapters.credentials.surroundings import Surroundings
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials
from tests.unit.adapters.credentials.scripted_http import Answer, ScriptedServer, closed_port
from tests.unit.adapters.credentials.sts import granted, refused

ROLE = "arn:aws:iam::123456789012:role/job"
A_ROLE = f"[profile team]\nrole_arn={ROLE}\n"
LATER = dt.datetime.now(dt.UTC) + dt.timedelta(hours=6)
END = LATER.strftime("%Y-%m-%dT%H:%M:%SZ")
TEMPORARY = Credentials("ASIA", "marked-secret", "marked-token", float(int(LATER.timestamp())))
STATIC = "aws_access_key_id = AKIA\naws_secret_access_key = marked-static\n"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore reads some of it by itself; a machine may have set anything."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


class Home:
    """The shared AWS configuration of somebody."""

    def __init__(self, folder: Path) -> None:
        self.config, self.credentials = folder / "config", folder / "credentials"
        self.variables: dict[str, str] = {
            "AWS_CONFIG_FILE": str(self.config),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.credentials),
        }

    def write(self, config: str = "", credentials: str = "") -> None:
        for path, text in ((self.config, config), (self.credentials, credentials)):
            if text:
                path.write_text(text, encoding="utf-8")

    def around(self, **variables: str) -> Surroundings:
        return around({**self.variables, **variables})

    def source(self, name: str | None = "team", **variables: str) -> ProfileSource:
        return ProfileSource(name, self.around(**variables))


def around(variables: Mapping[str, str]) -> Surroundings:
    import time

    return Surroundings(variables, now_ns=time.time_ns, monotonic=time.monotonic)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def sts(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    """A token service, where the environment says it is."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    server.script = {
        "POST /": lambda asked: granted(parse_qs(asked.body.decode())["Action"][0], end=END)
    }
    return server


def problem(source: ProfileSource) -> tuple[str, str]:
    with pytest.raises(CredentialsError) as caught:
        source.load()
    error = caught.value
    assert "marked" not in f"{error} {error.hint}"
    assert error.__cause__ is error.__context__ is None
    return error.kind.removeprefix("credentials-"), str(error).removeprefix(f"{source.name}: ")


@pytest.mark.parametrize(
    ("config", "credentials"),
    [
        (f"[profile team]\n{STATIC}", ""),
        ("", f"[team]\n{STATIC}"),
        ("[profile team]\n", f"[team]\n{STATIC}"),
    ],
)
def test_static_keys_in_either_file(home: Home, config: str, credentials: str) -> None:
    home.write(config, credentials)
    source = home.source()
    assert source.load() == Credentials("AKIA", "marked-static")
    assert source.name == "profile:team"


def test_without_a_name_it_is_the_profile_in_force(home: Home) -> None:
    home.write("", f"[default]\n{STATIC}[team]\naws_access_key_id=AKIB\naws_secret_access_key=b\n")
    assert home.source(None).load() == Credentials("AKIA", "marked-static")
    assert home.source(None, AWS_DEFAULT_PROFILE="team").load() == Credentials("AKIB", "b")
    assert home.source(None, AWS_PROFILE="team").load() == Credentials("AKIB", "b")
    assert home.source(None).name == "profile"


def test_what_no_file_has_is_absent(home: Home) -> None:
    nothing = Absent(f"no profile 'team' in {home.config} or {home.credentials}")
    assert home.source().load() == nothing
    home.write("[profile other]\nregion = x\n")
    assert home.source().load() == nothing
    home.write("[profile team]\nregion = eu-west-1\n")
    assert home.source().load() == Absent("profile 'team' names no credentials")


def test_keys_of_the_environment_are_not_a_profiles(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor those of the machine, nor those of old tools' files."""
    home.write("[profile team]\nregion = eu-west-1\n")
    (home.config.parent / "old").write_text("AWSAccessKeyId=x\nAWSSecretKey=y\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CREDENTIAL_FILE", str(home.config.parent / "old"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
    assert home.source().load() == Absent("profile 'team' names no credentials")


def test_a_file_that_changes_is_noticed(home: Home) -> None:
    source = home.source()
    home.write("", f"[team]\n{STATIC}")
    source.load()
    assert not source.has_changed()
    home.write("", "[team]\naws_access_key_id = AKIB\naws_secret_access_key = b\n")
    assert source.has_changed()
    assert source.load() == Credentials("AKIB", "b")
    home.config.touch()
    assert source.has_changed()


def test_an_assumed_role(home: Home, sts: ScriptedServer) -> None:
    home.write(
        f"[profile team]\nrole_arn = {ROLE}\nsource_profile = base\nexternal_id = xy\n"
        "region = eu-west-1\n",
        f"[base]\n{STATIC}",
    )
    assert home.source().load() == TEMPORARY
    [asked] = sts.asked
    form = parse_qs(asked.body.decode())
    assert (form["Action"], form["RoleArn"], form["ExternalId"]) == (["AssumeRole"], [ROLE], ["xy"])
    assert "Credential=AKIA/" in asked.headers["authorization"]
    assert "/eu-west-1/sts/" in asked.headers["authorization"]


def test_each_load_assumes_the_role_again(home: Home, sts: ScriptedServer) -> None:
    home.write(f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n", f"[base]\n{STATIC}")
    source = home.source(AWS_DEFAULT_REGION="us-east-1")
    source.load()
    source.load()
    assert len(sts.asked) == 2


def test_a_role_of_a_role(home: Home, sts: ScriptedServer) -> None:
    home.write(
        f"[profile team]\nrole_arn={ROLE}\nsource_profile=middle\n"
        f"[profile middle]\nrole_arn={ROLE}-2\nsource_profile=base\n",
        f"[base]\n{STATIC}",
    )
    assert home.source().load() == TEMPORARY
    roles = [parse_qs(asked.body.decode())["RoleArn"] for asked in sts.asked]
    assert roles == [[f"{ROLE}-2"], [ROLE]]
    assert sts.asked[1].headers["x-amz-security-token"] == "marked-token"


def test_a_role_by_web_identity(home: Home, sts: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "jwt").write_text("marked.jwt.x", encoding="utf-8")
    home.write(f"[profile team]\nrole_arn={ROLE}\nweb_identity_token_file={tmp_path}/jwt\n")
    assert home.source().load() == TEMPORARY
    assert parse_qs(sts.asked[0].body.decode())["WebIdentityToken"] == ["marked.jwt.x"]


@pytest.mark.parametrize(
    ("named", "variables"),
    [
        ("Environment", {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "k"}),
        ("EcsContainer", {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/keys"}),
        ("Ec2InstanceMetadata", {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{url}"}),
    ],
)
def test_a_role_from_a_named_source_takes_ours(
    home: Home, sts: ScriptedServer, named: str, variables: dict[str, str]
) -> None:
    """Whatever proxy the environment names."""
    keys = {"AccessKeyId": "AKIA", "SecretAccessKey": "k", "Token": "t", "Expiration": END}
    roles = "/latest/meta-data/iam/security-credentials/"
    sts.script |= {
        "GET /keys": Answer(200, keys),
        "PUT /latest/api/token": Answer(200, "token"),
        f"GET {roles}": Answer(200, "role"),
        f"GET {roles}role": Answer(200, keys),
    }
    home.write(f"[profile team]\nrole_arn={ROLE}\ncredential_source={named}\n")
    filled = {name: value.format(url=sts.url) for name, value in variables.items()}
    assert home.source(**filled).load() == TEMPORARY
    assert "Credential=AKIA/" in sts.asked[-1].headers["authorization"]


def test_a_named_source_that_is_broken_is_told(home: Home, sts: ScriptedServer) -> None:
    home.write(f"[profile team]\nrole_arn={ROLE}\ncredential_source=Environment\n")
    source = home.source(AWS_ACCESS_KEY_ID="AKIA")
    assert problem(source) == ("malformed", "env: AWS_SECRET_ACCESS_KEY is missing")
    kind, why = problem(home.source())
    told = "Environment gave no keys, for a reason that may hold some of them"
    assert (kind, why) == ("malformed", told)


def test_proxies_of_the_environment_are_not_used_and_the_stores_is(
    home: Home, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the clients that botocore makes inside."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("NO_PROXY", "*")
    home.write(f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n", f"[base]\n{STATIC}")
    away = f"http://127.0.0.1:{closed_port()}"
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", away)
    server.script = {"POST /": granted("AssumeRole", end=END)}
    source = ProfileSource("team", replace(home.around(), proxy=server.url))
    assert source.load() == TEMPORARY
    assert server.lines() == [f"POST {away}/"]
    server.asked.clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    assert home.source().load() == TEMPORARY
    assert server.lines() == ["POST /"]


def write_cache(folder: Path, key: str, **token: str) -> None:
    name = hashlib.sha1(key.encode()).hexdigest()
    (folder / f"{name}.json").write_text(json.dumps(token), encoding="utf-8")


@pytest.fixture
def portal(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ScriptedServer:
    """An SSO portal, and a cache of its tokens in place of the one in the home directory."""
    monkeypatch.setattr(botocore.credentials.SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(botocore.tokens.SSOTokenProvider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", server.url)
    keys = {
        "accessKeyId": "ASIA",
        "secretAccessKey": "marked-secret",
        "sessionToken": "marked-token",
        "expiration": int(LATER.timestamp()) * 1000,
    }
    server.script = {"GET /federation/credentials": Answer(200, {"roleCredentials": keys})}
    return server


SSO = "sso_account_id=123456789012\nsso_role_name=job\n"
START = "https://team.awsapps.com/start"


def test_an_sso_cache_of_either_kind(home: Home, portal: ScriptedServer, tmp_path: Path) -> None:
    old = f"sso_start_url={START}\nsso_region=us-east-1\n"
    home.write(
        f"[profile team]\n{SSO}{old}[profile new]\n{SSO}sso_session=corp\n[sso-session corp]\n{old}"
    )
    for key in (START, "corp"):
        write_cache(tmp_path, key, accessToken=f"marked-{key}", expiresAt=END)
    for name in ("team", "new"):
        assert home.source(name).load() == TEMPORARY
    bearers = [asked.headers["x-amz-sso_bearer_token"] for asked in portal.asked]
    assert bearers == [f"marked-{START}", "marked-corp"]


def test_an_sso_login_that_is_over_says_so(
    home: Home, portal: ScriptedServer, tmp_path: Path
) -> None:
    home.write(f"[profile team]\n{SSO}sso_start_url={START}\nsso_region=us-east-1\n")
    kind, why = problem(home.source())
    assert (kind, why) == (
        "malformed",
        f"Error loading SSO Token: Token for {START} does not exist",
    )
    write_cache(tmp_path, START, accessToken="marked", expiresAt="2020-01-01T00:00:00Z")
    kind, why = problem(home.source())
    assert kind == "malformed"
    assert "the SSO session associated with this profile has expired" in why.replace("The", "the")
    portal.script["GET /federation/credentials"] = Answer(
        401, {"message": "marked"}, {"x-amzn-ErrorType": "UnauthorizedException"}
    )
    write_cache(tmp_path, START, accessToken="marked", expiresAt=END)
    assert "expired" in problem(home.source())[1]


def test_nobody_is_asked_for_a_code(
    home: Home, sts: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prompt(text: str = "") -> str:
        raise AssertionError(text)

    monkeypatch.setattr("getpass.getpass", prompt)
    home.write(
        f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\nmfa_serial=arn:aws:iam::1:mfa/a\n",
        f"[base]\n{STATIC}",
    )
    why = "profile 'team' asks for an MFA code, which nobody is there to type"
    assert problem(home.source()) == ("malformed", why)
    assert sts.asked == []


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("[profile team\n", "the file '{config}' does not parse"),
        ("marked = x\n[profile team]\n", "the file '{config}' does not parse"),
        (
            "[profile team]\naws_access_key_id = AKIA\n",
            "Partial credentials found in config-file, missing: aws_secret_access_key",
        ),
        (
            f"[profile team]\nrole_arn={ROLE}\nsource_profile=gone\n",
            'The source_profile "gone" referenced in the profile "team" does not exist.',
        ),
        (
            f"{A_ROLE}source_profile=a\n[profile a]\nrole_arn={ROLE}\nsource_profile=team\n",
            "Infinite loop in credential configuration detected.",
        ),
        (
            f"{A_ROLE}source_profile=base\nexternal_id=x\n[profile base]\n{STATIC}",
            "not a valid value of ExternalId",
        ),
        (
            f"[profile team]\n{SSO}",
            'The profile "team" is configured to use SSO but is missing required configuration: ',
        ),
        (
            "[profile team]\naws_access_key_id = AKIA\naws_secret_access_key = marked secret\n",
            "aws_secret_access_key has a space",
        ),
    ],
)
def test_a_profile_that_is_malformed_is_an_error(home: Home, config: str, why: str) -> None:
    home.write(config)
    kind, said = problem(home.source())
    assert kind == "malformed"
    assert said.startswith(why.format(config=home.config))


def test_a_file_that_may_not_be_read_is_an_error(home: Home) -> None:
    home.write("[profile team]\nregion=x\n")
    home.credentials.write_bytes(b"[team]\naws_secret_access_key = marked\xff\n")
    kind, said = problem(home.source())
    assert (kind, said) == ("malformed", f"the file '{home.credentials}' does not parse")


def test_a_refused_role_is_an_error(
    home: Home, sts: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the service says is not shown: nobody knows what was sent there."""
    monkeypatch.setattr("time.sleep", lambda _: None)  # between botocore's three tries
    home.write(f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n", f"[base]\n{STATIC}")
    sts.script["POST /"] = refused(403, "AccessDenied", "not marked-static")
    assert problem(home.source()) == ("refused", "AssumeRole was refused: AccessDenied")
    sts.script["POST /"] = refused(503, "ServiceUnavailable", "later")
    assert problem(home.source())[0] == "unreachable"
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{closed_port()}")
    kind, why = problem(home.source())
    assert kind == "unreachable"
    assert why == f"EndpointConnectionError at {os.environ['AWS_ENDPOINT_URL_STS']}/"
