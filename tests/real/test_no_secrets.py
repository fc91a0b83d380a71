"""No secret is told by any source, however it fails: not in a stream, a log or an error report.

Every secret here has the word "marked" in it. Services repeat whatever they were sent.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.unit.adapters.credentials.scripted_http import (
    Answer,
    Asked,
    Script,
    ScriptedServer,
    closed_port,
    scripted_server,
)
from tests.unit.adapters.credentials.sts import granted, refused

pytestmark = pytest.mark.real

PROGRAM = Path(__file__).parent / "ask_for_keys.py"
MARK = re.compile("marked|bWFya2Vk", re.IGNORECASE)  # as it is, and in base64
JWT = "marked-header.marked-payload.marked-signature"
ROLE = "arn:aws:iam::123456789012:role/job"
ROLES = "/latest/meta-data/iam/security-credentials/"
KEYS = {"AccessKeyId": "ASIA", "SecretAccessKey": "marked-key", "Token": "marked-token"}
STATIC = "aws_access_key_id=AKIA\naws_secret_access_key=marked-static\n"

Case = tuple[list[str], dict[str, str]]
"""Places and an environment."""

Make = Callable[[ScriptedServer, Path], Case]


def echo(status: int) -> Script:
    """Answer with everything that came, as services' errors do at their worst."""

    def say(asked: Asked) -> Answer:
        told = f"{asked.body.decode()} {dict(asked.headers)}"
        return Answer(status, {"errors": [told], "Code": told, "message": told})

    return say


def echo_sts(status: int) -> Script:
    def say(asked: Asked) -> Answer:
        told = f"{asked.body.decode()} {dict(asked.headers)}".replace("&", "&amp;")
        return refused(status, told.replace("<", ""), told.replace("<", ""))

    return say


def write(path: Path, content: str) -> str:
    path.write_text(content, encoding="utf-8")
    return str(path)


def env(**variables: str) -> Make:
    return lambda _server, _folder: (["env"], variables)


def file(content: str) -> Make:
    return lambda _server, folder: ([f"file:{write(folder / 'keys', content)}"], {})


def directory(**files: str) -> Make:
    def make(_: ScriptedServer, folder: Path) -> Case:
        (folder / "secret").mkdir()
        for name, content in files.items():
            write(folder / "secret" / name, content)
        return [f"file:{folder}/secret"], {}

    return make


def profile(config: str, script: dict[str, Script] | None = None, **variables: str) -> Make:
    def make(server: ScriptedServer, folder: Path) -> Case:
        server.script = dict(script or {})
        write(folder / "jwt", JWT)
        program = folder / "program"
        write(program, "#!/bin/sh\necho marked-out; echo marked-err >&2; exit $STATUS\n")
        program.chmod(0o755)
        filled = config.replace("FOLDER", str(folder))
        return ["profile:team"], {
            "AWS_CONFIG_FILE": write(folder / "config", filled),
            "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
            "AWS_ENDPOINT_URL_STS": server.url,
            **variables,
        }

    return make


def web_identity(script: Script, token: str = JWT, url: str = "") -> Make:
    def make(server: ScriptedServer, folder: Path) -> Case:
        server.script = {"POST /": script}
        return ["web-identity"], {
            "AWS_WEB_IDENTITY_TOKEN_FILE": write(folder / "jwt", token),
            "AWS_ROLE_ARN": ROLE,
            "AWS_ENDPOINT_URL_STS": url or server.url,
        }

    return make


def container(script: Script, token: str = "marked-authorization") -> Make:
    def make(server: ScriptedServer, _: Path) -> Case:
        server.script = {"GET /keys": script}
        return ["instance"], {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": token,
        }

    return make


def machine(token: Script, role: Script, keys: Script) -> Make:
    def make(server: ScriptedServer, _: Path) -> Case:
        paths = ("PUT /latest/api/token", f"GET {ROLES}", f"GET {ROLES}role")
        server.script = dict(zip(paths, (token, role, keys), strict=True))
        return ["instance"], {"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url}

    return make


def vault(login: Script, read: Script, jwt: str = JWT, url: str = "") -> Make:
    def make(server: ScriptedServer, folder: Path) -> Case:
        server.script = {
            "POST /v1/auth/kubernetes/login": login,
            "GET /v1/secret/data/app": read,
            "GET /v1/sys/internal/ui/mounts/secret": echo(403),
        }
        path = write(folder / "jwt", jwt)
        at = f"vault:{url or server.url}/secret/app?auth=kubernetes&role=job&jwt={path}"
        return [at], {"VAULT_TOKEN": "marked-vault-token"}

    return make


def secret(fields: object) -> Answer:
    return Answer(200, {"data": {"data": fields, "metadata": {"version": 1}}})


CLOSED = f"http://127.0.0.1:{closed_port()}"
LOGGED_IN = Answer(200, {"auth": {"client_token": "marked-token-1", "lease_duration": 60}})
TOKEN, NAME = Answer(200, "marked-imds-token"), Answer(200, "role")
BAD = "marked\nmarked"

CASES: dict[str, Make] = {
    "env that works": env(
        AWS_ACCESS_KEY_ID="AKIA", AWS_SECRET_ACCESS_KEY="marked", AWS_SESSION_TOKEN="marked"
    ),
    "env without an id": env(AWS_SECRET_ACCESS_KEY="marked", AWS_SESSION_TOKEN="marked"),
    "env with a line break": env(AWS_ACCESS_KEY_ID="AKIA", AWS_SECRET_ACCESS_KEY=BAD),
    "env with a bad token": env(
        AWS_ACCESS_KEY_ID="AKIA", AWS_SECRET_ACCESS_KEY="marked", AWS_SESSION_TOKEN=BAD
    ),
    "file that works": file('{"access_key_id": "AKIA", "secret_access_key": "marked"}'),
    "file that is cut off": file('{"access_key_id": "AKIA", "secret_access_key": "marked'),
    "file that is no object": file('["marked"]'),
    "file with a bad end": file(
        '{"access_key_id": "AKIA", "secret_access_key": "marked", "expires_at": "marked"}'
    ),
    "file that has ended": file(
        '{"access_key_id": "AKIA", "secret_access_key": "marked", "expires_at": 1}'
    ),
    "file without a key": file('{"access_key_id": "AKIA", "SecretAccessKey": "marked"}'),
    "file that is too long": file("marked" * 20_000),
    "directory that works": directory(access_key_id="AKIA", secret_access_key="marked\n"),
    "directory with a bad key": directory(access_key_id="AKIA", secret_access_key=BAD),
    "directory without an id": directory(secret_access_key="marked", session_token="marked"),
    "profile that works": profile(f"[profile team]\n{STATIC}"),
    "profile that doesn't parse": profile(f"[profile team]\n{STATIC}marked marked\n"),
    "profile in no section": profile(f"{STATIC}[profile team]\n"),
    "profile without an id": profile("[profile team]\naws_secret_access_key=marked\n"),
    "profile without a key": profile("[profile team]\naws_access_key_id=AKIA\n"),
    "profile with a bad key": profile(
        "[profile team]\naws_access_key_id=AKIA\naws_secret_access_key=marked marked\n"
    ),
    "profile's program that fails": profile(
        "[profile team]\ncredential_process=FOLDER/program\n", STATUS="3"
    ),
    "profile's program that prints no JSON": profile(
        "[profile team]\ncredential_process=FOLDER/program\n", STATUS="0"
    ),
    "profile's role": profile(
        f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n[profile base]\n{STATIC}",
        {"POST /": granted("AssumeRole", end="2099-01-01T00:00:00Z")},
    ),
    "profile's role that is refused": profile(
        f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n[profile base]\n{STATIC}",
        {"POST /": echo_sts(403)},
    ),
    "profile's role by keys of two lines": profile(
        f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n"
        f"[profile base]\n{STATIC}aws_session_token=marked-one\n  marked-two\n",
        {"POST /": echo_sts(403)},
    ),
    "profile's role by a token that is refused": profile(
        f"[profile team]\nrole_arn={ROLE}\nweb_identity_token_file=FOLDER/jwt\n",
        {"POST /": echo_sts(400)},
    ),
    "profile's role for keys that have ended": profile(
        f"[profile team]\nrole_arn={ROLE}\nsource_profile=base\n[profile base]\n{STATIC}",
        {"POST /": granted("AssumeRole", end="2020-01-01T00:00:00Z")},
    ),
    "profile's role by a broken container": profile(
        f"[profile team]\nrole_arn={ROLE}\ncredential_source=EcsContainer\n",
        AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{CLOSED}/",
        AWS_CONTAINER_AUTHORIZATION_TOKEN="marked",
    ),
    "web-identity that works": web_identity(
        granted("AssumeRoleWithWebIdentity", end="2099-01-01T00:00:00Z")
    ),
    "web-identity that is refused": web_identity(echo_sts(400)),
    "web-identity that is answered with no XML": web_identity(echo(200)),
    "web-identity with a bad token": web_identity(echo_sts(400), token=BAD),
    "web-identity without a service": web_identity(echo_sts(400), url=CLOSED),
    "web-identity for keys that have ended": web_identity(
        granted("AssumeRoleWithWebIdentity", end="2020-01-01T00:00:00Z")
    ),
    "container that works": container(Answer(200, KEYS)),
    "container that refuses": container(echo(403)),
    "container that answers with no JSON": container(Answer(200, "marked")),
    "container with a bad token": container(Answer(200, KEYS), token=BAD),
    "machine that works": machine(TOKEN, NAME, Answer(200, KEYS)),
    "machine that refuses": machine(TOKEN, NAME, echo(403)),
    "machine with an error for keys": machine(TOKEN, NAME, echo(200)),
    "machine that answers with no JSON": machine(TOKEN, NAME, Answer(200, "marked")),
    "machine with half of the keys": machine(
        TOKEN, NAME, Answer(200, {"SecretAccessKey": "marked"})
    ),
    "vault that works": vault(
        LOGGED_IN, secret({"access_key_id": "AKIA", "secret_access_key": "marked"})
    ),
    "vault that refuses the login": vault(echo(403), echo(403)),
    "vault that fails at the login": vault(echo(500), echo(403)),
    "vault that denies reading": vault(LOGGED_IN, echo(403)),
    "vault that fails at reading": vault(LOGGED_IN, echo(500)),
    "vault with no secret": vault(LOGGED_IN, echo(404)),
    "vault with no JSON": vault(LOGGED_IN, Answer(200, "marked")),
    "vault of version 1": vault(LOGGED_IN, Answer(200, {"data": {"secret_access_key": "marked"}})),
    "vault with half of the keys": vault(LOGGED_IN, secret({"secret_access_key": "marked"})),
    "vault with a bad key": vault(
        LOGGED_IN, secret({"access_key_id": "AKIA", "secret_access_key": BAD})
    ),
    "vault with a bad token": vault(LOGGED_IN, echo(403), jwt=BAD),
    "vault without a server": vault(LOGGED_IN, echo(403), url=CLOSED),
    "a secret in the place of a source": lambda _server, _folder: (["/K7MDENG/xx-marked"], {}),
    "a secret in a vault's URL": lambda _server, _folder: (
        ["vault:https://v/s/a?auth=approle&role_id=r&secret_id=marked"],
        {},
    ),
    "a password in a vault's proxy": lambda _server, _folder: (
        ["vault:https://v/s/a?auth=kubernetes&role=r&proxy=http://u:marked@p"],
        {},
    ),
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, object]]]:
    """Every case, with its services."""
    usual = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path_factory.mktemp("home"))}
    with ExitStack() as stack:
        made: list[dict[str, object]] = []
        for name, make in CASES.items():
            server = stack.enter_context(scripted_server())
            places, variables = make(server, tmp_path_factory.mktemp("case"))
            made.append({"name": name, "places": places, "variables": {**usual, **variables}})
        yield made


@pytest.fixture(scope="module", params=["as Python leaves it", "--debug"])
def told(request: pytest.FixtureRequest, cases: list[dict[str, object]]) -> dict[str, str]:
    """What the program told of each case, on both streams together."""
    run = subprocess.run(
        [sys.executable, PROGRAM, request.param],
        input=json.dumps(cases),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=110,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    parts = re.split(r"(?m)^case (.*)$", run.stdout)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("name", CASES)
def test_no_secret_is_told(told: dict[str, str], name: str) -> None:
    found = [line for line in told[name].splitlines() if MARK.search(line)]
    assert found == []


def test_each_case_came_out_as_its_name_says(told: dict[str, str]) -> None:
    """Else the test above would look at something else than it says."""
    works = {name for name in CASES if name.endswith("works") or name == "profile's role"}
    spelled = {name for name in CASES if name.startswith("a ")}
    for name, text in told.items():
        first = text.split(maxsplit=1)[0]
        expected = "gave" if name in works else "refused" if name in spelled else "failed"
        assert first == expected, f"{name}: {text[:2000]}"


def test_a_failed_source_is_not_logged_as_a_warning(told: dict[str, str]) -> None:
    """Botocore logs a refresh that failed with its traceback, to stderr if nobody says where."""
    assert [name for name, text in told.items() if "Refreshing temporary" in text] == []


def test_the_mark_is_found_where_it_is() -> None:
    """The search itself works."""
    assert MARK.search("x MARKED x")
    assert MARK.search("Basic bWFya2VkLWtleQ==")
