"""`instance`: metadata services on loopback, and what is no such service."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from dispatch.adapters.credentials.instance import InstanceSource
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials
from tests.unit.adapters.credentials.scripted_http import (
    Answer,
    Asked,
    Script,
    ScriptedServer,
    closed_port,
    silent_server,
)

ROLES = "/latest/meta-data/iam/security-credentials/"
TOKEN = "GET-me-with-this"
KEYS = {
    "AccessKeyId": "ASIA",
    "SecretAccessKey": "marked-secret",
    "Token": "marked-token",
    "Expiration": "2027-01-15T08:00:00Z",
}
BAD_CHARACTER = "has a space, a line break or another character that no key has"
NO_TOKEN = "the metadata service gave no token"
ELSEWHERE = "not on this machine or at a known address"
SERVICE = "the container's metadata service"
CREDENTIALS = Credentials("ASIA", "marked-secret", "marked-token", 1.8e9)


def source(variables: Mapping[str, str]) -> InstanceSource:
    return InstanceSource(variables, time.monotonic)


def problem(variables: Mapping[str, str]) -> tuple[str, str]:
    with pytest.raises(CredentialsError) as caught:
        source(variables).load()
    error = caught.value
    assert "marked" not in f"{error} {error.hint}"
    assert error.__cause__ is error.__context__ is None
    return error.kind.removeprefix("credentials-"), str(error).removeprefix("instance: ")


def only_with_token(answer: Answer) -> Script:
    def say(asked: Asked) -> Answer:
        return answer if asked.headers.get("x-aws-ec2-metadata-token") == TOKEN else Answer(401)

    return say


@pytest.fixture
def machine(server: ScriptedServer) -> dict[str, str]:
    """A machine's service that insists on version 2; the environment that leads to it."""
    server.script = {
        "PUT /latest/api/token": Answer(200, TOKEN),
        f"GET {ROLES}": only_with_token(Answer(200, "my role/1\n")),
        f"GET {ROLES}my%20role%2F1": only_with_token(Answer(200, {"Code": "Success", **KEYS})),
    }
    return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url + "/"}


@pytest.fixture
def container(server: ScriptedServer) -> dict[str, str]:
    """A container's service; the environment that leads to it."""
    server.script = {"GET /role": Answer(200, KEYS)}
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/role?id=1"}


def test_the_keys_of_a_machines_role(machine: dict[str, str], server: ScriptedServer) -> None:
    assert source(machine).load() == CREDENTIALS
    first, *rest = server.asked
    assert (first.method, first.headers["x-aws-ec2-metadata-token-ttl-seconds"]) == ("PUT", "60")
    assert [asked.method for asked in rest] == ["GET", "GET"]
    assert not source(machine).has_changed()


def test_a_role_that_was_taken_away_or_never_there_is_absent(
    machine: dict[str, str], server: ScriptedServer
) -> None:
    for answer in (Answer(404), Answer(200, ""), Answer(200, "\n")):
        server.script[f"GET {ROLES}"] = answer
        assert source(machine).load() == Absent("this machine has no role")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (403, "the metadata service is turned off (status 403)"),
        (404, "no metadata service of version 2 (status 404)"),
        (405, "no metadata service of version 2 (status 405)"),
        (501, "no metadata service of version 2 (status 501)"),
    ],
)
def test_a_service_without_version_2_is_absent_and_version_1_not_asked(
    machine: dict[str, str], server: ScriptedServer, status: int, why: str
) -> None:
    server.script["PUT /latest/api/token"] = Answer(status)
    assert source(machine).load() == Absent(why)
    assert server.lines() == ["PUT /latest/api/token"]


def test_no_service_is_absent_within_a_second() -> None:
    with silent_server() as silent:
        for endpoint, why in (
            (f"http://127.0.0.1:{closed_port()}", "Connection refused"),
            (silent, "no answer within 1 s"),
        ):
            start = time.monotonic()
            outcome = source({"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint}).load()
            assert outcome == Absent(f"no metadata service ({why})")
            assert time.monotonic() - start < 5  # on a busy machine; the bound itself is 1 s


def test_it_can_be_turned_off_by_the_environment(
    machine: dict[str, str], server: ScriptedServer
) -> None:
    off = {**machine, "AWS_EC2_METADATA_DISABLED": "True"}
    assert source(off).load() == Absent("AWS_EC2_METADATA_DISABLED is set")
    assert server.asked == []


@pytest.mark.parametrize(
    ("where", "answer", "expected"),
    [
        ("token", Answer(400), ("malformed", f"{NO_TOKEN} (status 400)")),
        ("token", Answer(500), ("malformed", f"{NO_TOKEN} (status 500)")),
        ("token", Answer(200, ""), ("malformed", f"{NO_TOKEN} (status 200)")),
        ("token", Answer(200, "a b"), ("malformed", f"{NO_TOKEN} (status 200)")),
        ("role", Answer(401), ("refused", "the metadata service answered with status 401")),
        ("role", Answer(503), ("unreachable", "the metadata service answered with status 503")),
        ("keys", Answer(404), ("refused", "the metadata service answered with status 404")),
        (
            "keys",
            Answer(200, "marked"),
            ("malformed", "the metadata service answered with something that is no JSON object"),
        ),
        (
            "keys",
            Answer(200, ["marked"]),
            ("malformed", "the metadata service answered with something that is no JSON object"),
        ),
        (
            "keys",
            Answer(200, {"Code": "AssumeRoleUnauthorizedAccess", "Message": "marked"}),
            ("refused", "the metadata service answered with AssumeRoleUnauthorizedAccess"),
        ),
        (
            "keys",
            Answer(200, {"Code": "marked-secret"}),
            ("refused", "the metadata service answered with an error"),
        ),
        (
            "keys",
            Answer(200, {"AccessKeyId": "ASIA"}),
            ("malformed", "the metadata service: SecretAccessKey is missing"),
        ),
    ],
)  # fmt: skip
def test_a_service_that_is_there_and_gives_no_keys_is_an_error(
    machine: dict[str, str],
    server: ScriptedServer,
    where: str,
    answer: Answer,
    expected: tuple[str, str],
) -> None:
    place = {
        "token": "PUT /latest/api/token",
        "role": f"GET {ROLES}",
        "keys": f"GET {ROLES}my%20role%2F1",
    }
    server.script[place[where]] = answer
    assert problem(machine) == expected


def test_a_mode_that_is_not_known_is_an_error() -> None:
    mode = {"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE": "ipv5"}
    why = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE is 'ipv5', not ipv4 or ipv6"
    assert problem(mode) == ("malformed", why)


def test_a_redirect_is_not_followed(machine: dict[str, str], server: ScriptedServer) -> None:
    server.script[f"GET {ROLES}"] = Answer(302, "", {"Location": server.url + "/elsewhere"})
    assert problem(machine) == ("refused", "the metadata service answered with status 302")
    assert "GET /elsewhere" not in server.lines()


def test_the_keys_of_a_container(container: dict[str, str], server: ScriptedServer) -> None:
    assert source(container).load() == CREDENTIALS
    assert server.lines() == ["GET /role?id=1"]
    assert "authorization" not in server.asked[0].headers


def test_a_containers_token_is_shown_and_read_afresh(
    container: dict[str, str], server: ScriptedServer, tmp_path: Path
) -> None:
    with_text = {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic abc"}
    assert source(with_text).load() == CREDENTIALS
    assert server.asked[-1].headers["authorization"] == "Basic abc"
    path = tmp_path / "token"
    instance = source({**with_text, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(path)})
    for token in ("one", "two"):
        path.write_text(token + "\n", encoding="utf-8")
        assert instance.load() == CREDENTIALS
        assert server.asked[-1].headers["authorization"] == token


def test_a_container_without_its_service_does_not_get_the_machines_role(
    machine: dict[str, str], server: ScriptedServer
) -> None:
    """Its variable says that it is there."""
    uri = f"http://127.0.0.1:{closed_port()}/role"
    why = "the container's metadata service: Connection refused, 3 times"
    assert problem({**machine, "AWS_CONTAINER_CREDENTIALS_FULL_URI": uri}) == ("unreachable", why)
    assert server.asked == []


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        (
            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.169.254/x"},
            f"{SERVICE} is at http://169.254.169.254, {ELSEWHERE}",
        ),
        (
            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://localhost.evil.example/x"},
            f"{SERVICE} is at http://localhost.evil.example, {ELSEWHERE}",
        ),
        (
            {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "@evil.example/x"},
            f"{SERVICE} is at http://evil.example, {ELSEWHERE}",
        ),
        (
            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://[::1/x"},
            "the container's metadata service has an address that is no URL",
        ),
        (
            {
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/x",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": "marked\nX-Other: y",
            },
            f"AWS_CONTAINER_AUTHORIZATION_TOKEN {BAD_CHARACTER}",
        ),
        (
            {
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/x",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/nowhere/token",
            },
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE '/nowhere/token' does not exist",
        ),
    ],
)
def test_a_container_that_is_set_up_wrong_is_an_error(variables: dict[str, str], why: str) -> None:
    assert problem(variables) == ("malformed", why)


def test_a_container_that_refuses_is_an_error(
    container: dict[str, str], server: ScriptedServer
) -> None:
    server.script["GET /role"] = Answer(401, "marked-token")
    assert problem(container) == (
        "refused",
        "the container's metadata service answered with status 401",
    )


def test_a_service_that_falls_silent_is_unreachable(
    machine: dict[str, str], server: ScriptedServer
) -> None:
    """It gave a token, or its variable says so: it is there."""
    over = threading.Event()

    def wait(_: Asked) -> Answer:
        over.wait(60)
        return Answer(500)

    server.script |= {f"GET {ROLES}": wait, "GET /keys": wait}
    assert problem(machine) == ("unreachable", "the metadata service: no answer within 1 s")
    container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/keys"}
    why = "the container's metadata service: no answer within 1 s, 3 times"
    assert problem(container) == ("unreachable", why)
    over.set()
