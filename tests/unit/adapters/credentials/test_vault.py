"""`vault:` against a Vault that answers by script: logins, denials, and what isn't a secret.

The real server's answers are in tests/real/test_vault.py.
"""

import json
from pathlib import Path

import pytest

from dispatch.adapters.credentials.vault import VaultSource
from dispatch.adapters.credentials.vault_address import parse_vault_address
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Credentials
from tests.unit.adapters.credentials.scripted_http import (
    Answer,
    Asked,
    ScriptedServer,
    closed_port,
    scripted_server,
)

LOGIN, READ = "POST /v1/auth/kubernetes/login", "GET /v1/secret/data/team/app"
MOUNTS = "GET /v1/sys/internal/ui/mounts/secret"
JWT = "marked-header.marked-payload.marked-signature"
FIELDS = {"access_key_id": "AKIA", "secret_access_key": "marked-secret"}
METADATA = {"version": 3, "deletion_time": "", "destroyed": False, "created_time": "2026"}
DENIED = Answer(403, {"errors": ["1 error occurred:\n\t* permission denied\n\n"]})
V1_MOUNT = Answer(200, {"data": {"type": "kv", "options": {"version": "1"}}})
V2_MOUNT = Answer(200, {"data": {"type": "kv", "options": {"version": "2"}}})


def logged_in(number: int, life_s: int = 3600) -> Answer:
    auth = {"client_token": f"marked-token-{number}", "lease_duration": life_s}
    return Answer(200, {"auth": auth})


def secret(**fields: object) -> Answer:
    return Answer(200, {"data": {"data": {**FIELDS, **fields}, "metadata": METADATA}})


class Clock:
    """Turned by hand."""

    now = 1_800_000_000.0

    def __call__(self) -> int:
        return int(self.now * 1e9)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jwt(tmp_path: Path) -> Path:
    path = tmp_path / "jwt"
    path.write_text(JWT + "\n", encoding="utf-8")
    return path


@pytest.fixture
def url(server: ScriptedServer, jwt: Path) -> str:
    """A Vault with the secret in it, and what leads to it."""
    server.script = {
        LOGIN: [logged_in(1), logged_in(2), logged_in(3)],
        READ: secret(),
        MOUNTS: V2_MOUNT,
    }
    return f"{server.url}/secret/team/app?auth=kubernetes&role=job&jwt={jwt}"


def source(url: str, clock: Clock) -> VaultSource:
    return VaultSource(parse_vault_address(url), clock)


def problem(source: VaultSource) -> tuple[str, str]:
    with pytest.raises(CredentialsError) as caught:
        source.load()
    error = caught.value
    assert "marked" not in f"{error} {error.hint}"
    assert error.__cause__ is error.__context__ is None
    return error.kind.removeprefix("credentials-"), str(error).removeprefix(f"{source.name}: ")


def test_a_login_and_a_read(url: str, server: ScriptedServer, clock: Clock) -> None:
    vault = source(url, clock)
    assert vault.load() == Credentials("AKIA", "marked-secret")
    assert server.lines() == [LOGIN, READ]
    login, read = server.asked
    assert json.loads(login.body) == {"role": "job", "jwt": JWT}
    assert "x-vault-token" not in login.headers
    assert read.headers["x-vault-token"] == "marked-token-1"
    assert not vault.has_changed()


def test_a_connection_that_is_closed_unasked_is_no_failure(
    url: str, server: ScriptedServer, clock: Clock
) -> None:
    """As tinyproxy does after each answer: one in twenty-five reads failed, before."""
    with scripted_server(closes_unasked=True) as closing:
        closing.script = server.script
        vault = source(url.replace(server.url, closing.url), clock)
        assert vault.load() == Credentials("AKIA", "marked-secret")
        assert closing.lines() == [LOGIN, READ]


def test_what_the_environment_says_of_vault_is_not_used(
    url: str,
    server: ScriptedServer,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Nor a proxy, nor passwords in a file, nor a token in the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VAULT_TOKEN", "of-the-environment")
    monkeypatch.setenv("VAULT_ADDR", "http://127.0.0.1:1")
    monkeypatch.setenv("VAULT_NAMESPACE", "of-the-environment")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "not a url")
    (tmp_path / ".vault-token").write_text("of-a-file", encoding="utf-8")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b", encoding="utf-8")
    assert isinstance(source(url, clock).load(), Credentials)
    for asked in server.asked:
        assert "authorization" not in asked.headers
        assert "x-vault-namespace" not in asked.headers
        assert "of-" not in asked.headers.get("x-vault-token", "")


def test_a_token_is_used_until_its_end_then_there_is_a_new_login(
    url: str, server: ScriptedServer, clock: Clock, jwt: Path
) -> None:
    """With the service account's token of that moment."""
    vault = source(url, clock)
    vault.load()
    clock.now += 3589
    vault.load()
    assert server.lines().count(LOGIN) == 1
    jwt.write_text("rotated.token.text", encoding="utf-8")
    clock.now += 1
    vault.load()
    assert server.lines() == [LOGIN, READ, READ, LOGIN, READ]
    assert json.loads(server.asked[3].body)["jwt"] == "rotated.token.text"


def test_a_token_without_an_end_is_kept(url: str, server: ScriptedServer, clock: Clock) -> None:
    server.script[LOGIN] = logged_in(1, life_s=0)
    vault = source(url, clock)
    vault.load()
    clock.now += 1e9
    vault.load()
    assert server.lines() == [LOGIN, READ, READ]


def test_a_revoked_token_makes_one_new_login(
    url: str, server: ScriptedServer, clock: Clock
) -> None:
    valid = {"marked-token-1"}

    def read(asked: Asked) -> Answer:
        return secret() if asked.headers["x-vault-token"] in valid else DENIED

    server.script[READ] = read
    vault = source(url, clock)
    vault.load()
    valid = {"marked-token-2"}
    assert isinstance(vault.load(), Credentials)
    assert isinstance(vault.load(), Credentials)
    assert server.lines() == [LOGIN, READ, READ, LOGIN, READ, READ]


def test_a_second_denial_is_an_error(url: str, server: ScriptedServer, clock: Clock) -> None:
    server.script[READ] = DENIED
    vault = source(url, clock)
    expected = ("refused", "reading was denied (403), also after a new login")
    assert problem(vault) == expected
    assert server.lines() == [LOGIN, READ, LOGIN, READ, MOUNTS]
    server.script[READ] = secret()
    assert isinstance(vault.load(), Credentials)


def test_a_denial_and_a_refused_login_are_told_together(
    url: str, server: ScriptedServer, clock: Clock
) -> None:
    server.script |= {
        READ: DENIED,
        LOGIN: [logged_in(1), Answer(400, {"errors": ["no uses left"]})],
    }
    why = (
        "reading was denied (403), and so was a new login: "
        "the login at auth/kubernetes refused: InvalidRequest: no uses left"
    )
    assert problem(source(url, clock)) == ("refused", why)


@pytest.mark.parametrize("answer", [Answer(404, {"errors": []}), DENIED])
def test_a_mount_of_version_1_is_an_error(
    url: str, server: ScriptedServer, clock: Clock, answer: Answer
) -> None:
    server.script |= {READ: answer, MOUNTS: V1_MOUNT}
    why = "the mount 'secret' is a key-value store of version 1; 2 is needed"
    assert problem(source(url, clock)) == ("malformed", why)


@pytest.mark.parametrize(
    "data",
    [
        FIELDS,
        {"data": "text", **FIELDS},
        {"data": dict(FIELDS)},
        {"data": dict(FIELDS), "metadata": "text"},
        {"data": dict(FIELDS), "metadata": {}},
    ],
)
def test_what_version_1_answers_is_never_taken_as_keys(
    url: str, server: ScriptedServer, clock: Clock, data: object
) -> None:
    """Also when who may see the mount is not us."""
    server.script |= {READ: Answer(200, {"data": data}), MOUNTS: DENIED}
    why = "the mount 'secret' is a key-value store of version 1; 2 is needed"
    assert problem(source(url, clock)) == ("malformed", why)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"deletion_time": "2026-11-29T10:00:00Z"}, "was deleted at 2026-11-29T10:00:00Z"),
        ({"deletion_time": "", "destroyed": True}, "was destroyed"),
    ],
)
def test_a_deleted_version_is_an_error(
    url: str, server: ScriptedServer, clock: Clock, change: dict[str, object], why: str
) -> None:
    data = {"data": None, "metadata": {**METADATA, **change}}
    for status in (200, 404):
        server.script[READ] = Answer(status, {"data": data})
        assert problem(source(url, clock)) == ("malformed", f"the latest version, 3, {why}")


def test_data_in_the_path_by_mistake_is_an_error(
    server: ScriptedServer, clock: Clock, url: str
) -> None:
    by_mistake = url.replace("/secret/", "/secret/data/")
    vault = source(by_mistake, clock)
    with pytest.raises(CredentialsError) as caught:
        vault.load()
    assert str(caught.value) == (
        f"vault:{server.url}/secret/data/team/app: "
        "there is no such secret, and data/ is added to the path by itself"
    )
    assert caught.value.hint == f"Leave data/ out: vault:{server.url}/secret/team/app."
    assert "GET /v1/secret/data/data/team/app" in server.lines()


def test_data_can_be_a_folder_of_ones_own(server: ScriptedServer, clock: Clock, url: str) -> None:
    server.script["GET /v1/secret/data/data/team/app"] = secret()
    vault = source(url.replace("/secret/", "/secret/data/"), clock)
    assert isinstance(vault.load(), Credentials)


@pytest.mark.parametrize(
    ("mounts", "why"),
    [
        (V2_MOUNT, "there is no secret 'team/app' in the mount 'secret'"),
        (DENIED, "there is no secret 'team/app' in the mount 'secret'"),
        (Answer(200, "no json"), "there is no secret 'team/app' in the mount 'secret'"),
        (
            Answer(200, {"data": {"type": "pki"}}),
            "the mount 'secret' is of type 'pki', not a key-value store",
        ),
        (
            Answer(200, {"data": {"type": "generic"}}),
            "the mount 'secret' is a key-value store of version 1; 2 is needed",
        ),
    ],
)
def test_a_secret_that_is_not_there_is_an_error(
    url: str, server: ScriptedServer, clock: Clock, mounts: Answer, why: str
) -> None:
    server.script |= {READ: Answer(404, {"errors": []}), MOUNTS: mounts}
    assert problem(source(url, clock)) == ("malformed", why)


def test_fields_can_have_other_names(url: str, server: ScriptedServer, clock: Clock) -> None:
    server.script[READ] = secret(id="AKIB", key="other", token="temporary")
    named = f"{url}&key_field=id&secret_field=key&token_field=token"
    assert source(named, clock).load() == Credentials("AKIB", "other", "temporary")


@pytest.mark.parametrize(
    "case",
    [
        ("", {"access_key_id": None}, "access_key_id is missing"),
        ("", {"secret_access_key": ""}, "secret_access_key is empty"),
        (
            "",
            {"secret_access_key": {"marked": 1}},
            "secret_access_key is not text but of type dict",
        ),
        ("&key_field=id", {}, "id is missing"),
        ("&secret_field=key", {}, "key is missing"),
        ("&token_field=token", {}, "token is missing"),
    ],
)
def test_a_field_that_is_missing_is_named(
    url: str, server: ScriptedServer, clock: Clock, case: tuple[str, dict[str, object], str]
) -> None:
    query, fields, why = case
    server.script[READ] = secret(**fields)
    assert problem(source(url + query, clock)) == ("malformed", why)


def test_a_sessions_token_need_not_be_there(url: str, clock: Clock, server: ScriptedServer) -> None:
    server.script[READ] = secret(session_token="temporary")
    assert source(url, clock).load() == Credentials("AKIA", "marked-secret", "temporary")


@pytest.mark.parametrize(
    "case",
    [
        (
            Answer(403, {"errors": [f"bad token {JWT}, payload marked-payload"]}),
            "refused",
            "refused: Forbidden: bad token …, payload …",
        ),
        (Answer(400, {"errors": ['role "job" does not exist']}), "refused",
         'refused: InvalidRequest: role "job" does not exist'),
        (Answer(404, {"errors": []}), "refused", "found nothing there (404): InvalidPath"),
        (Answer(503, {"errors": ["Vault is sealed"]}), "unreachable",
         "failed: VaultDown: Vault is sealed"),
        (Answer(418, "not json"), "unreachable", "failed: UnexpectedError"),
        (Answer(200, {"auth": None}), "malformed", "gave no token"),
        (Answer(200, {"auth": {"client_token": ""}}), "malformed", "gave no token"),
        (Answer(200, "marked: no json"), "malformed", "gave no token"),
        (Answer(204), "malformed", "gave no token"),
        (Answer(200, ["marked"]), "malformed", "gave no token"),
    ],
)  # fmt: skip
def test_a_login_that_gives_no_token_is_an_error(
    url: str, server: ScriptedServer, clock: Clock, case: tuple[Answer, str, str]
) -> None:
    answer, kind, why = case
    server.script[LOGIN] = answer
    assert problem(source(url, clock)) == (kind, f"the login at auth/kubernetes {why}")
    assert server.lines() == [LOGIN]


@pytest.mark.parametrize(
    "case",
    [
        (Answer(500, {"errors": ["marked-token-1 boom"]}), "unreachable",
         "reading failed: InternalServerError: … boom"),
        (Answer(429), "unreachable", "reading failed: RateLimitExceeded"),
        (Answer(204), "malformed", "the server answered with status 204 and no secret"),
        (Answer(200, "<html>marked</html>"), "malformed",
         "the server answered with status 200 and no secret"),
        (Answer(200, ["marked"]), "malformed", "the server answered with status 200 and no secret"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_secret_is_an_error(
    url: str, server: ScriptedServer, clock: Clock, case: tuple[Answer, str, str]
) -> None:
    answer, kind, why = case
    server.script[READ] = answer
    assert problem(source(url, clock)) == (kind, why)


def test_a_standby_leads_to_the_leader(url: str, server: ScriptedServer, clock: Clock) -> None:
    leader = {"Location": f"{server.url}/leader/login"}
    server.script |= {LOGIN: Answer(307, "", leader), "POST /leader/login": logged_in(1)}
    assert isinstance(source(url, clock).load(), Credentials)
    assert json.loads(server.asked[1].body)["jwt"] == JWT


def test_a_redirect_to_plain_http_elsewhere_is_not_followed(
    url: str, server: ScriptedServer, clock: Clock
) -> None:
    server.script[READ] = Answer(307, "", {"Location": "http://192.0.2.1/v1/secret/data/team/app"})
    why = "the server answered with status 307 and no secret"
    assert problem(source(url, clock)) == ("malformed", why)


def test_a_server_that_is_not_there_is_an_error(
    url: str, server: ScriptedServer, clock: Clock
) -> None:
    kind, why = problem(source(url.replace(server.url, f"http://127.0.0.1:{closed_port()}"), clock))
    assert kind == "unreachable"
    assert why.startswith("the login at auth/kubernetes failed: ConnectionError: ")
    assert "Connection refused" in why


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "does not exist"),
        ("", "is empty"),
        ("marked token", "has a space, a line break or another character that no key has"),
    ],
)
def test_a_service_account_without_a_token_is_an_error_not_an_absence(
    url: str, clock: Clock, jwt: Path, content: str | None, why: str
) -> None:
    if content is None:
        jwt.unlink()
    else:
        jwt.write_text(content, encoding="utf-8")
    expected = ("malformed", f"the service account's token '{jwt}' {why}")
    assert problem(source(url, clock)) == expected


def test_a_secret_id_is_read_from_its_file(
    server: ScriptedServer, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "secret id"
    server.script = {"POST /v1/auth/apps/eu/login": logged_in(1), READ: secret()}
    url = (
        f"{server.url}/secret/team/app?auth=approle&role_id=r&auth_mount=apps/eu"
        f"&secret_id_file={tmp_path}/secret%20id&namespace=team/a"
    )
    vault = source(url, clock)
    assert problem(vault) == ("malformed", f"the secret id '{path}' does not exist")
    path.write_text("marked-id\n", encoding="utf-8")
    assert isinstance(vault.load(), Credentials)
    assert json.loads(server.asked[0].body) == {"role_id": "r", "secret_id": "marked-id"}
    assert {asked.headers["x-vault-namespace"] for asked in server.asked} == {"team/a"}


def test_a_file_of_certificates_that_is_not_there_is_an_error(url: str, clock: Clock) -> None:
    why = "the file of certificates '/nowhere/ca.pem' does not exist"
    assert problem(source(f"{url}&ca=/nowhere/ca.pem", clock)) == ("malformed", why)


def test_without_hvac_it_says_what_to_install(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hvac", None)
    monkeypatch.delitem(
        __import__("sys").modules, "dispatch.adapters.credentials.vault_client", raising=False
    )
    assert problem(source(url, clock)) == ("malformed", "the package hvac isn't installed")
