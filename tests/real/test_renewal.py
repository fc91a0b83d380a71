"""Keys that end in the middle of a watch: the real program, on real servers, without a restart.

Each watch publishes a save with the first keys; these end on the server, and what gives the keys
has others; the next save is published by the same process. Nothing here waits for a fixed time:
the first keys have ended when the server says so to somebody else who has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import hvac
import pytest
from botocore.exceptions import ClientError

from dispatch.adapters.credentials import Surroundings, open_keys, parse_places
from dispatch.adapters.credentials.file import NAMES
from tests.cli.program import ATTEMPT, EPOCH, Program, Running, wait_for
from tests.cli.roots import entry_name
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.openbao import OpenBao
from tests.servers.radosgw import give_owner, take_from_owner
from tests.servers.s3 import Keys, S3Server
from tests.servers.seaweedfs import ROLE_ARN, run_seaweedfs
from tests.servers.stores import real_store
from tests.servers.web_identity import IdentityProvider

pytestmark = pytest.mark.real

LIFE_S = 10
"""How long SeaweedFS's temporary keys live here: its service gives any length that its
configuration names, and takes its ends seriously (AWS's shortest is 900 s)."""

TOKEN_LIFE_S = 4
"""The greatest age of a Vault's token here: a login and what follows it take less, however busy
the machine is."""

FIRST = Keys("firstaccess", "MARKEDfirst0123456789")
SECOND = Keys("secondaccess", "MARKEDsecond0123456789")
POLICY = 'path "secret/*" { capabilities = ["read"] }'


class Job:
    """A root in a bucket of its own, and the program that watches it."""

    def __init__(self, server: S3Server, folder: Path) -> None:
        self.server = server
        self.bucket = real_store(server).new_bucket()
        self.root = f"s3://{self.bucket}/job"
        self.program = Program([sys.executable, "-m", "dispatch.cli.publish"], folder)
        self._client = server.client()

    def save(self, step: int) -> None:
        """Write a save as PyTorch DCP does."""
        key = f"job/exec/{ATTEMPT}/step-{step}/.metadata"
        self._client.put_object(Bucket=self.bucket, Key=key, Body=b"m")

    def watch(self, *more: str, **variables: str) -> Running:
        """Start a watch."""
        where = ("-checkpoint", self.root, "-endpoint", self.server.url)
        how = ("-framework", "dcp", "-interval", "200ms")
        return self.program.start("watch", *where, *how, *more, environment=dict(variables))

    def published(self) -> list[str]:
        """List the publications."""
        answer = self._client.list_objects_v2(Bucket=self.bucket, Prefix="job/pub/")
        return [item["Key"].removeprefix("job/pub/") for item in answer.get("Contents", ())]

    def ends_well(self, watch: Running, *secrets: str) -> None:
        """End the watch; both saves are published, and none of the secrets was told."""
        ended = watch.end().well()
        told = (ended.out + ended.err).decode()
        assert [secret for secret in ("MARKED", *secrets) if secret in told] == []
        names = [entry_name(EPOCH, step, f"exec/{ATTEMPT}/step-{step}") for step in (1, 2)]
        assert self.published() == names


def are_good(server: S3Server, keys: Keys) -> bool:
    """Whether the server takes these keys."""
    try:
        server.client(keys).list_buckets()
    except ClientError:
        return False
    return True


def document(keys: Keys) -> dict[str, str]:
    """Give keys as a file, or a Vault's secret, has them; no end is told."""
    token = {NAMES.session_token: keys.session_token} if keys.session_token else {}
    return {
        NAMES.access_key_id: keys.access_key_id,
        NAMES.secret_access_key: keys.secret_access_key,
        **token,
    }


def rotate(path: Path, content: str) -> None:
    """Replace a file in one step, as agents do."""
    new = path.with_suffix(".new")
    new.write_text(content, encoding="utf-8")
    new.replace(path)


# ------------------------------------------------------------------------------- web identity


@pytest.fixture(scope="module")
def short_lived(
    tmp_path_factory: pytest.TempPathFactory, identity_provider: IdentityProvider
) -> Iterator[S3Server]:
    """A SeaweedFS of whose token service all keys live for some seconds."""
    folder = tmp_path_factory.mktemp("seaweedfs-short")
    with run_seaweedfs(folder, identity_provider, LIFE_S) as server:
        yield server


def exchange(server: S3Server, token: str, folder: Path) -> Keys:
    """Get keys of our own for a token."""
    path = folder / "own-token"
    path.write_text(token, encoding="utf-8")
    variables = {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(path),
        "AWS_ROLE_ARN": ROLE_ARN,
        "AWS_ENDPOINT_URL_STS": server.url,
    }
    around = Surroundings(variables, now_ns=lambda: 0, monotonic=lambda: 0.0, region="us-east-1")
    got = open_keys(parse_places(["web-identity"]), around).current()
    return Keys(got.access_key_id, got.secret_access_key, got.session_token)


def test_a_token_file_rotates_and_the_keys_of_the_first_token_end(
    short_lived: S3Server,
    identity_provider: IdentityProvider,
    forward_proxy: ForwardProxy,
    tmp_path: Path,
) -> None:
    """The first token is worth nothing by then, nor are its keys; the second gives others."""
    job = Job(short_lived, tmp_path)
    path = tmp_path / "token"
    first = identity_provider.token(lifetime_s=LIFE_S)
    rotate(path, first)
    job.save(1)
    asked_before = len(forward_proxy.requests())
    watch = job.watch(
        *("-creds", "web-identity", "-proxy", forward_proxy.url),
        AWS_WEB_IDENTITY_TOKEN_FILE=str(path),
        AWS_ROLE_ARN=ROLE_ARN,
        AWS_ENDPOINT_URL_STS=short_lived.url,
    )
    watch.wait_until_said("published step 1")
    keys = exchange(short_lived, identity_provider.token(), tmp_path)
    assert are_good(short_lived, keys)
    second = identity_provider.token()
    rotate(path, second)
    # Ours are younger than the watch's first ones, so that those have ended before.
    wait_for(lambda: not are_good(short_lived, keys), "the end of the first keys")
    job.save(2)
    watch.wait_until_said("published step 2")
    job.ends_well(watch, *first.split("."), *second.split("."))
    exchanges = forward_proxy.requests()[asked_before:].count(f"POST {short_lived.url}/")
    assert exchanges >= 2


# ----------------------------------------------------------------------------------------- file


def test_a_file_is_rotated_and_the_first_key_is_removed_from_the_server(
    radosgw: S3Server, tmp_path: Path
) -> None:
    give_owner(radosgw, FIRST)
    job = Job(radosgw, tmp_path)
    path = tmp_path / "keys.json"
    rotate(path, json.dumps(document(FIRST)))
    job.save(1)
    watch = job.watch("-creds", f"file:{path}")
    watch.wait_until_said("published step 1")
    give_owner(radosgw, SECOND)
    rotate(path, json.dumps(document(SECOND)))
    take_from_owner(radosgw, FIRST)
    wait_for(lambda: not are_good(radosgw, FIRST), "the end of the first key")
    job.save(2)
    watch.wait_until_said("published step 2")
    job.ends_well(watch)
    take_from_owner(radosgw, SECOND)


# ---------------------------------------------------------------------------------------- Vault


class Vault:
    """A secret with keys in OpenBao, and a login whose token is soon at its greatest age."""

    def __init__(self, bao: OpenBao, proxy: ForwardProxy, folder: Path) -> None:
        self._client = hvac.Client(url=bao.url, token=bao.root_token)
        self._client.session.trust_env = False
        self._bao, self._proxy, self._folder = bao, proxy, folder
        self._before = len(proxy.requests())
        self._client.sys.create_or_update_policy("renewal", POLICY)
        self._client.sys.enable_auth_method("approle", path="renewal")
        self._client.auth.approle.create_or_update_approle(
            "renewal",
            token_policies=["renewal"],
            token_ttl=f"{TOKEN_LIFE_S}s",
            token_max_ttl=f"{TOKEN_LIFE_S}s",
            mount_point="renewal",
        )

    def close(self) -> None:
        """Take the login away, for the next test."""
        self._client.adapter.delete("/v1/sys/auth/renewal")

    def put(self, keys: Keys) -> None:
        """Write a new version of the secret."""
        kv = self._client.secrets.kv.v2
        kv.create_or_update_secret("renewal", document(keys), mount_point="secret")

    def source(self) -> str:
        """Give a source for -creds, which goes through a proxy that remembers."""
        roles = self._client.auth.approle
        role_id = roles.read_role_id("renewal", mount_point="renewal")["data"]["role_id"]
        secret = roles.generate_secret_id("renewal", mount_point="renewal")["data"]["secret_id"]
        path = self._folder / "secret-id"
        path.write_text(secret, encoding="utf-8")
        login = f"auth=approle&auth_mount=renewal&role_id={role_id}&secret_id_file={path}"
        return f"vault:{self._bao.url}/secret/renewal?{login}&proxy={self._proxy.url}"

    def outlive_tokens(self) -> None:
        """Wait until every token that there is by now is at its greatest age."""
        roles = self._client.auth.approle
        secret = (self._folder / "secret-id").read_text(encoding="utf-8")
        role_id = roles.read_role_id("renewal", mount_point="renewal")["data"]["role_id"]
        answer = roles.login(role_id, secret, use_token=False, mount_point="renewal")
        youngest = hvac.Client(url=self._bao.url, token=answer["auth"]["client_token"])
        youngest.session.trust_env = False
        wait_for(lambda: not youngest.is_authenticated(), "the greatest age of a token")

    def asked(self) -> list[str]:
        """What the program asked of it."""
        start = f"{self._bao.url}/v1/"
        return [request.replace(start, "") for request in self._proxy.requests()[self._before :]]


LOGIN_AND_READ = ["POST auth/renewal/login", "GET secret/data/renewal"]


@pytest.fixture
def vault(openbao: OpenBao, forward_proxy: ForwardProxy, tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(openbao, forward_proxy, tmp_path)
    yield vault
    vault.close()


def test_a_vaults_secret_is_replaced_and_the_first_key_is_removed(
    vault: Vault, radosgw: S3Server, tmp_path: Path
) -> None:
    """Read again once, since the store no longer knows the key.

    And by a new login, since the token of the first was at its greatest age before.
    """
    give_owner(radosgw, FIRST)
    vault.put(FIRST)
    job = Job(radosgw, tmp_path)
    job.save(1)
    watch = job.watch("-creds", vault.source())
    watch.wait_until_said("published step 1")
    assert vault.asked() == LOGIN_AND_READ, watch.said()
    vault.outlive_tokens()
    give_owner(radosgw, SECOND)
    vault.put(SECOND)
    take_from_owner(radosgw, FIRST)
    wait_for(lambda: not are_good(radosgw, FIRST), "the end of the first key")
    job.save(2)
    watch.wait_until_said("published step 2")
    job.ends_well(watch, (tmp_path / "secret-id").read_text(encoding="utf-8"))
    assert vault.asked() == LOGIN_AND_READ * 2
    take_from_owner(radosgw, SECOND)


def test_session_tokens_of_a_vault_end_at_the_store(
    vault: Vault, short_lived: S3Server, identity_provider: IdentityProvider, tmp_path: Path
) -> None:
    """Nobody told their end: it is the store's refusal that has them read again, once."""
    first = exchange(short_lived, identity_provider.token(), tmp_path)
    vault.put(first)
    job = Job(short_lived, tmp_path)
    job.save(1)
    watch = job.watch("-creds", vault.source())
    watch.wait_until_said("published step 1")
    vault.put(short_lived.keys)
    wait_for(lambda: not are_good(short_lived, first), "the end of the first keys")
    job.save(2)
    watch.wait_until_said("published step 2")
    job.ends_well(watch, str(first.session_token), first.secret_access_key)
    assert vault.asked() == LOGIN_AND_READ * 2
