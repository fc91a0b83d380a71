"""`web-identity` against a token service that answers by script; the real one is in tests/real."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from dispatch.adapters.credentials.surroundings import Surroundings
from dispatch.adapters.credentials.web_identity import WebIdentitySource
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials
from tests.unit.adapters.credentials.scripted_http import Answer, ScriptedServer, closed_port
from tests.unit.adapters.credentials.sts import granted, refused

JWT = "marked-header.marked-payload.marked-signature"
ROLE = "arn:aws:iam::123456789012:role/job"


def around(variables: Mapping[str, str]) -> Surroundings:
    return Surroundings(variables, now_ns=lambda: 0, monotonic=lambda: 0.0)


@pytest.fixture
def variables(server: ScriptedServer, tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "jwt"
    path.write_text(JWT, encoding="utf-8")
    server.script = {"POST /": granted("AssumeRoleWithWebIdentity")}
    return {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(path),
        "AWS_ROLE_ARN": ROLE,
        "AWS_ENDPOINT_URL_STS": server.url,
    }


def problem(around: Surroundings) -> tuple[str, str]:
    with pytest.raises(CredentialsError) as caught:
        WebIdentitySource(around).load()
    error = caught.value
    assert "marked" not in f"{error} {error.hint}"
    assert error.__cause__ is error.__context__ is None
    return error.kind.removeprefix("credentials-"), str(error).removeprefix("web-identity: ")


def test_a_token_becomes_temporary_keys(
    variables: dict[str, str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the process's own environment and files say."""
    monkeypatch.setenv("AWS_PROFILE", "not-there")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/full")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "not a url")
    source = WebIdentitySource(around(variables))
    assert source.load() == Credentials("ASIA", "marked-secret", "marked-token", 1.8e9)
    assert not source.has_changed()
    [asked] = server.asked
    form = parse_qs(asked.body.decode())
    assert form["WebIdentityToken"] == [JWT]
    assert form["RoleArn"] == [ROLE]
    assert form["RoleSessionName"] == ["dispatch"]
    assert "authorization" not in asked.headers


def test_the_token_is_read_afresh_at_each_renewal(
    variables: dict[str, str], server: ScriptedServer
) -> None:
    source = WebIdentitySource(around({**variables, "AWS_ROLE_SESSION_NAME": "job-1"}))
    source.load()
    Path(variables["AWS_WEB_IDENTITY_TOKEN_FILE"]).write_text("two.two.two\n", encoding="utf-8")
    source.load()
    form = parse_qs(server.asked[-1].body.decode())
    assert (form["WebIdentityToken"], form["RoleSessionName"]) == (["two.two.two"], ["job-1"])


def test_an_endpoint_for_everything_is_the_token_services_too(
    variables: dict[str, str], server: ScriptedServer
) -> None:
    """AWS's own rule; on Ceph and SeaweedFS it is one port."""
    del variables["AWS_ENDPOINT_URL_STS"]
    source = WebIdentitySource(around({**variables, "AWS_ENDPOINT_URL": server.url}))
    assert isinstance(source.load(), Credentials)


def test_a_proxy_that_is_named_is_used(variables: dict[str, str], server: ScriptedServer) -> None:
    away = {**variables, "AWS_ENDPOINT_URL_STS": f"http://127.0.0.1:{closed_port()}"}
    source = WebIdentitySource(replace(around(away), proxy=server.url))
    server.script = {"POST /": granted("AssumeRoleWithWebIdentity")}
    assert isinstance(source.load(), Credentials)
    assert server.lines() == [f"POST {away['AWS_ENDPOINT_URL_STS']}/"]


def test_without_its_file_it_is_absent(variables: dict[str, str]) -> None:
    del variables["AWS_WEB_IDENTITY_TOKEN_FILE"]
    outcome = WebIdentitySource(around(variables)).load()
    assert outcome == Absent("AWS_WEB_IDENTITY_TOKEN_FILE is not set")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"AWS_ROLE_ARN": ""}, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not"),
        (
            {"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere/jwt"},
            "AWS_WEB_IDENTITY_TOKEN_FILE '/nowhere/jwt' does not exist",
        ),
        (
            {"AWS_WEB_IDENTITY_TOKEN_FILE": "/dev/null"},
            "AWS_WEB_IDENTITY_TOKEN_FILE '/dev/null' is not a regular file",
        ),
        (
            {"AWS_ENDPOINT_URL_STS": "http://sts.example.org"},
            "AWS_ENDPOINT_URL_STS 'http://sts.example.org' is plain http to another machine",
        ),
        (
            {"AWS_ENDPOINT_URL_STS": "sts.example.org"},
            "AWS_ENDPOINT_URL_STS is not http(s)://HOST[:PORT]",
        ),
        (
            {"AWS_ENDPOINT_URL_STS": "https://user:marked@sts"},
            "AWS_ENDPOINT_URL_STS is not http(s)://HOST[:PORT]",
        ),
        (
            {"AWS_ENDPOINT_URL_STS": "https://[::1"},
            "AWS_ENDPOINT_URL_STS is not http(s)://HOST[:PORT]",
        ),
    ],
)
def test_what_is_set_up_wrong_is_an_error(
    variables: dict[str, str], change: dict[str, str], why: str
) -> None:
    assert problem(around(variables | change)) == ("malformed", why)


@pytest.mark.parametrize("content", ["", "marked jwt", "marked\n\n"])
def test_a_file_that_holds_no_token_is_an_error(variables: dict[str, str], content: str) -> None:
    path = Path(variables["AWS_WEB_IDENTITY_TOKEN_FILE"])
    path.write_text(content, encoding="utf-8")
    kind, why = problem(around(variables))
    assert kind == "malformed"
    assert why.startswith(f"AWS_WEB_IDENTITY_TOKEN_FILE '{path}' ")


def test_a_refusal_is_told_without_the_token(
    variables: dict[str, str], server: ScriptedServer
) -> None:
    server.script["POST /"] = refused(
        400, "InvalidIdentityToken", f"{JWT} or marked-payload is bad"
    )
    why = "AssumeRoleWithWebIdentity was refused: InvalidIdentityToken: … or … is bad"
    assert problem(around(variables)) == ("refused", why)


def test_a_service_that_fails_or_is_not_there_is_unreachable(
    variables: dict[str, str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # between botocore's three tries
    server.script["POST /"] = refused(503, "ServiceUnavailable", "later")
    why = "AssumeRoleWithWebIdentity was refused: ServiceUnavailable: later"
    assert problem(around(variables)) == ("unreachable", why)
    assert len(server.asked) == 3
    url = f"http://127.0.0.1:{closed_port()}"
    kind, why = problem(around({**variables, "AWS_ENDPOINT_URL_STS": url}))
    assert (kind, why) == (
        "unreachable",
        f"EndpointConnectionError at {url}/",
    )


def test_an_answer_without_keys_is_an_error(
    variables: dict[str, str], server: ScriptedServer
) -> None:
    for body in ("marked", "<a>marked</a>"):
        server.script["POST /"] = Answer(200, body, {"Content-Type": "text/xml"})
        kind, _ = problem(around(variables))
        assert kind == "malformed"
