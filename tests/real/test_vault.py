"""`vault:` against a real OpenBao: logins, versions, policies, namespaces, its own proxy, https.

For the Kubernetes login OpenBao asks a server of the tests' own whether a token is good
(TokenReview); with a real API server it was measured by hand.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hvac
import pytest
from hvac.exceptions import InvalidPath, InvalidRequest

from dispatch.adapters.credentials import Surroundings, open_keys, parse_places
from dispatch.adapters.credentials.vault import VaultSource
from dispatch.adapters.credentials.vault_address import parse_vault_address
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Credentials
from tests.servers.certificates import Certificates
from tests.servers.daemon import Daemon, answers
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.openbao import OpenBao
from tests.servers.ports import free_port
from tests.servers.programs import OPENBAO, need
from tests.servers.web_identity import IdentityProvider
from tests.unit.adapters.credentials.scripted_http import (
    Answer,
    Asked,
    ScriptedServer,
    closed_port,
    scripted_server,
)

pytestmark = pytest.mark.real

FIELDS = {"access_key_id": "AKIA", "secret_access_key": "marked-secret"}
KEYS = Credentials("AKIA", "marked-secret")
POLICY = 'path "secret/*" { capabilities = ["read"] } path "old/*" { capabilities = ["read"] }'
MAY_READ_AS_VERSION_1 = 'path "old/app" { capabilities = ["read"] }'
REVIEW = "POST /apis/authentication.k8s.io/v1/tokenreviews"


def client(
    url: str, token: str, namespace: str | None = None, ca: str | None = None
) -> hvac.Client:
    """Make one that does what its token allows."""
    found = hvac.Client(url=url, token=token, verify=ca or True, namespace=namespace)
    found.session.trust_env = False
    return found


class Bao:
    """A server whose secrets and rights a test sets up, and the sources that read them."""

    def __init__(self, url: str, token: str, folder: Path, ca: str | None = None) -> None:
        self.url, self.folder, self.ca = url, folder, ca
        self.root = client(url, token, ca=ca)
        self.now_s: Callable[[], float] = time.time

    def set_up(self, root: hvac.Client | None = None) -> None:
        """Enable a policy, a login by role id, and a secret."""
        root = root or self.root
        root.sys.create_or_update_policy("job", POLICY)
        root.sys.enable_auth_method("approle")
        self.role(root)
        self.put("app", FIELDS, root)

    def role(self, root: hvac.Client | None = None, **settings: object) -> None:
        """Say what a login by role id gives."""
        usual = {"token_policies": ["job"], "token_ttl": "1h", "token_max_ttl": "0s"}
        (root or self.root).auth.approle.create_or_update_approle("job", **{**usual, **settings})

    def put(self, path: str, fields: dict[str, str], root: hvac.Client | None = None) -> None:
        """Write a secret, or a new version of it."""
        kv = (root or self.root).secrets.kv.v2
        kv.create_or_update_secret(path, fields, mount_point="secret")

    def login(self, root: hvac.Client | None = None, **settings: object) -> str:
        """Write a new secret id to its file; the part of a URL that names it."""
        root = root or self.root
        role_id = root.auth.approle.read_role_id("job")["data"]["role_id"]
        answer = root.adapter.post("/v1/auth/approle/role/job/secret-id", json=settings)
        (self.folder / "secret-id").write_text(answer["data"]["secret_id"] + "\n", encoding="utf-8")
        return f"?auth=approle&role_id={role_id}&secret_id_file={self.folder}/secret-id"

    def source(self, path: str, query: str) -> VaultSource:
        now_s = self.now_s
        return VaultSource(
            parse_vault_address(f"{self.url}/{path}{query}"), lambda: int(now_s() * 1e9)
        )

    def problem(self, path: str, query: str) -> str:
        """Load, and return what is wrong."""
        source = self.source(path, query)
        with pytest.raises(CredentialsError) as caught:
            source.load()
        assert "marked" not in f"{caught.value} {caught.value.hint}"
        return str(caught.value).removeprefix(f"{source.name}: ")


@pytest.fixture(scope="module")
def set_up(openbao: OpenBao, tmp_path_factory: pytest.TempPathFactory) -> Bao:
    bao = Bao(openbao.url, openbao.root_token, tmp_path_factory.mktemp("bao"))
    bao.set_up()
    bao.root.sys.enable_secrets_engine("kv", path="old", options={"version": "1"})
    bao.root.secrets.kv.v1.create_or_update_secret("app", dict(FIELDS), mount_point="old")
    return bao


@pytest.fixture
def bao(set_up: Bao, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bao:
    """The server, with files of this test's own, and an environment that leads astray."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("VAULT_TOKEN", "of-the-environment")
    set_up.folder, set_up.now_s = tmp_path, time.time
    set_up.role()
    return set_up


def test_keys_by_a_role_id(bao: Bao) -> None:
    place = f"vault:{bao.url}/secret/app{bao.login()}"
    around = Surroundings({}, now_ns=time.time_ns, monotonic=time.monotonic)
    assert open_keys(parse_places([place]), around).current() == KEYS


def test_fields_of_other_names_and_a_missing_one(bao: Bao) -> None:
    bao.put("other", {"id": "AKIB", "key": "k", "token": "t"})
    login = bao.login()
    named = f"{login}&key_field=id&secret_field=key&token_field=token"
    assert bao.source("secret/other", named).load() == Credentials("AKIB", "k", "t")
    assert bao.problem("secret/other", login) == "access_key_id is missing"
    assert bao.problem("secret/app", f"{login}&token_field=token") == "token is missing"


def test_a_version_1_mount_is_told_whoever_may_read_what(bao: Bao) -> None:
    """404 where the policy allows the path of version 2, 403 where it doesn't."""
    told = "the mount 'old' is a key-value store of version 1; 2 is needed"
    login = bao.login()
    assert bao.problem("old/app", login) == told
    assert bao.problem("old/data/app", login) == told
    bao.root.sys.create_or_update_policy("version-1", MAY_READ_AS_VERSION_1)
    bao.role(token_policies=["version-1"])
    assert bao.problem("old/app", bao.login()) == told


def test_a_secret_of_version_1_under_data_is_not_taken_as_keys(bao: Bao) -> None:
    """Its path and its nesting can look like version 2's."""
    nested = {"data": dict(FIELDS), "metadata": "mine", **FIELDS}
    bao.root.secrets.kv.v1.create_or_update_secret("data/app", nested, mount_point="old")
    told = "the mount 'old' is a key-value store of version 1; 2 is needed"
    assert bao.problem("old/app", bao.login()) == told
    bao.root.secrets.kv.v1.delete_secret("data/app", mount_point="old")


def test_a_deleted_version_is_told_and_an_undeleted_one_read(bao: Bao) -> None:
    kv, login = bao.root.secrets.kv.v2, bao.login()
    bao.put("rotated", FIELDS)
    bao.put("rotated", FIELDS)
    source = bao.source("secret/rotated", login)
    assert source.load() == KEYS
    kv.delete_latest_version_of_secret("rotated", mount_point="secret")
    assert bao.problem("secret/rotated", login).startswith(
        "the latest version, 2, was deleted at 20"
    )
    kv.undelete_secret_versions("rotated", [2], mount_point="secret")
    assert source.load() == KEYS
    kv.destroy_secret_versions("rotated", [2], mount_point="secret")
    assert bao.problem("secret/rotated", login) == "the latest version, 2, was destroyed"
    bao.put("rotated", {"access_key_id": "AKIB", "secret_access_key": "new"})
    assert source.load() == Credentials("AKIB", "new")


def test_what_is_not_there_is_told(bao: Bao) -> None:
    login = bao.login()
    told = "there is no secret 'gone' in the mount 'secret'"
    assert bao.problem("secret/gone", login) == told
    told = "there is no such secret, and data/ is added to the path by itself"
    assert bao.problem("secret/data/app", login) == told
    assert bao.problem("nowhere/app", login) == "reading was denied (403), also after a new login"


def test_rights_that_are_added_later_are_used_at_the_next_login(bao: Bao) -> None:
    bao.role(token_policies=["none"])
    login = bao.login()
    assert bao.problem("secret/app", login) == "reading was denied (403), also after a new login"
    source = bao.source("secret/app", login)
    with pytest.raises(CredentialsError, match="denied"):
        source.load()
    bao.role()
    assert source.load() == KEYS


def test_a_secret_id_of_one_use_lasts_as_long_as_its_token(bao: Bao) -> None:
    """Then the file must hold another one."""
    login = bao.login(num_uses=1)
    source = bao.source("secret/app", login)
    for _ in range(3):
        assert source.load() == KEYS
    bao.now_s = lambda: time.time() + 3600
    source = bao.source("secret/app", login)
    with pytest.raises(
        CredentialsError, match=r"the login at auth/approle refused: .*invalid role or secret ID"
    ):
        source.load()
    bao.login(num_uses=1)
    assert source.load() == KEYS


def test_a_secret_id_that_has_ended_is_refused(bao: Bao) -> None:
    login = bao.login(ttl="1s")
    deadline = time.monotonic() + 30
    while accepts(bao.source("secret/app", login)):
        assert time.monotonic() < deadline
    assert bao.problem("secret/app", login).startswith("the login at auth/approle refused: ")


def accepts(source: VaultSource) -> bool:
    try:
        source.load()
    except CredentialsError:
        return False
    return True


def test_a_token_at_its_greatest_age_makes_a_new_login(bao: Bao) -> None:
    """Here our clock stands still, so that it is the server that says so, with a 403."""
    bao.role(token_ttl="1s", token_max_ttl="1s")
    login = bao.login()
    bao.now_s = lambda: 0.0
    source = bao.source("secret/app", login)
    assert source.load() == KEYS
    source._token_ends_at = 1e9
    token = source._token
    assert token is not None
    wait_until_refused(client(bao.url, token.value))
    assert source.load() == KEYS
    assert source._token not in {None, token}


def wait_until_refused(who: hvac.Client) -> None:
    deadline = time.monotonic() + 30
    while who.is_authenticated():
        assert time.monotonic() < deadline


def test_a_revoked_token_makes_a_new_login(bao: Bao) -> None:
    source = bao.source("secret/app", bao.login())
    source.load()
    token = source._token
    assert token is not None
    bao.root.auth.token.revoke(token.value)
    assert source.load() == KEYS
    assert source._token not in {None, token}


def test_a_namespace_of_ones_own(bao: Bao) -> None:
    bao.root.adapter.post("/v1/sys/namespaces/team")
    root = client(bao.url, bao.root.token, namespace="team")
    root.sys.enable_secrets_engine("kv", path="secret", options={"version": "2"})
    put_when_ready(lambda: bao.set_up(root))
    login = bao.login(root)
    assert bao.source("secret/app", f"{login}&namespace=team").load() == KEYS
    with pytest.raises(CredentialsError, match="the login at auth/approle refused"):
        bao.source("secret/app", login).load()


def put_when_ready(put: Callable[[], None]) -> None:
    """A new mount of version 2 upgrades itself for a moment."""
    deadline = time.monotonic() + 30
    while True:
        try:
            put()
        except (InvalidRequest, InvalidPath):
            assert time.monotonic() < deadline
        else:
            return


# ------------------------------------------------------------------------------------ Kubernetes


@dataclass
class Cluster:
    """What answers TokenReview, and the service accounts that are good there."""

    server: ScriptedServer
    good: set[str]


@pytest.fixture
def cluster(
    bao: Bao, identity_provider: IdentityProvider, certificates: Certificates
) -> Iterator[Cluster]:
    with scripted_server() as server:
        cluster = Cluster(server, set())

        def review(asked: Asked) -> Answer:
            spec = json.loads(asked.body)["spec"]
            user = {"username": "system:serviceaccount:default:job", "uid": "1"}
            status: dict[str, object] = {"error": "not a token of this cluster"}
            if spec["token"] in cluster.good:
                groups = ["system:serviceaccounts", "system:authenticated"]
                status = {"authenticated": True, "user": {**user, "groups": groups}}
                status["audiences"] = spec["audiences"]
            return Answer(201, {"kind": "TokenReview", "status": status})

        server.script = {REVIEW: review}
        bao.root.sys.enable_auth_method("kubernetes", path="k8s")
        bao.root.auth.kubernetes.configure(
            kubernetes_host=server.url,
            token_reviewer_jwt=identity_provider.token(),
            kubernetes_ca_cert=certificates.authority.read_text(encoding="utf-8"),
            disable_local_ca_jwt=True,
            mount_point="k8s",
        )
        bao.root.auth.kubernetes.create_role(
            "job", ["job"], ["default"], policies=["job"], ttl="1h", mount_point="k8s"
        )
        yield cluster
        bao.root.adapter.delete("/v1/sys/auth/k8s")


def account_token(provider: IdentityProvider, account: str = "job", life_s: float = 3600) -> str:
    about = {"namespace": "default", "serviceaccount": {"name": account, "uid": "1"}}
    subject = f"system:serviceaccount:default:{account}"
    return provider.token(life_s, sub=subject, aud=["bao"], **{"kubernetes.io": about})


def test_keys_by_a_service_account_whose_token_rotates(
    bao: Bao, cluster: Cluster, identity_provider: IdentityProvider, tmp_path: Path
) -> None:
    path = tmp_path / "jwt"
    query = f"?auth=kubernetes&role=job&auth_mount=k8s&jwt={path}"
    source = bao.source("secret/app", query)
    with pytest.raises(CredentialsError, match=r"the service account's token .* does not exist"):
        source.load()
    for life_s in (3600, 7200):
        token = account_token(identity_provider, life_s=life_s)
        cluster.good = {token}
        path.write_text(token, encoding="utf-8")
        assert bao.source("secret/app", query).load() == KEYS
        assert json.loads(cluster.server.asked[-1].body)["spec"]["token"] == token


def test_a_service_account_that_is_refused(
    bao: Bao, cluster: Cluster, identity_provider: IdentityProvider, tmp_path: Path
) -> None:
    path = tmp_path / "jwt"
    query = f"?auth=kubernetes&role=job&auth_mount=k8s&jwt={path}"
    other, old = account_token(identity_provider, "other"), account_token(identity_provider)
    cluster.good = {other}
    for token, words in ((other, "service account name not authorized"), (old, ""), ("a.b.c", "")):
        path.write_text(token, encoding="utf-8")
        why = bao.problem("secret/app", query)
        assert why.startswith("the login at auth/k8s ")
        assert words in why
        assert token not in why
    why = bao.problem("secret/app", query.replace("role=job", "role=gone"))
    assert why.startswith("the login at auth/k8s refused: InvalidRequest: invalid role name")


# ------------------------------------------------------------------------------ proxy and https


def test_its_own_proxy_carries_its_requests_and_no_others(
    bao: Bao, forward_proxy: ForwardProxy
) -> None:
    """Whatever the environment says (NO_PROXY=* is set)."""
    login = bao.login()
    before = len(forward_proxy.requests())
    assert bao.source("secret/app", login).load() == KEYS
    assert forward_proxy.requests()[before:] == []
    source = bao.source("secret/app", f"{login}&proxy={forward_proxy.url}/")
    assert source.load() == KEYS
    assert forward_proxy.requests()[before:] == [
        f"POST {bao.url}/v1/auth/approle/login",
        f"GET {bao.url}/v1/secret/data/app",
    ]


def test_a_proxy_that_is_not_there_is_an_error(bao: Bao) -> None:
    proxy = f"http://127.0.0.1:{closed_port()}"
    why = bao.problem("secret/app", f"{bao.login()}&proxy={proxy}")
    assert why.startswith("the login at auth/approle failed: ProxyError: ")


@pytest.fixture(scope="module")
def https(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """Another server, by https, with a certificate of its own authority."""
    [program] = need(OPENBAO)
    folder, port = tmp_path_factory.mktemp("bao-https"), free_port()
    argv: list[str | Path] = [
        program, "server", "-dev", "-dev-root-token-id=root", "-dev-no-store-token", "-dev-tls",
        f"-dev-tls-cert-dir={folder}", f"-dev-listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    daemon = Daemon("bao-https", argv, folder)
    try:
        [ca] = wait_for_ca(daemon, folder)
        daemon.wait_ready(lambda: answers(port, "/v1/sys/health", ca_file=ca, status=200))
        bao = Bao(f"https://127.0.0.1:{port}", "root", folder, str(ca))
        bao.set_up()
        yield bao
    finally:
        daemon.stop()


def wait_for_ca(daemon: Daemon, folder: Path) -> list[Path]:
    daemon.wait_ready(lambda: any(folder.glob("*-ca.pem")))
    return list(folder.glob("*-ca.pem"))


def test_https_is_trusted_by_its_own_certificates_only(
    https: Bao, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the environment names aren't used."""
    for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "VAULT_CACERT"):
        monkeypatch.setenv(name, str(https.ca))
    login = https.login()
    assert https.source("secret/app", f"{login}&ca={https.ca}").load() == KEYS
    why = https.problem("secret/app", login)
    assert why.startswith("the login at auth/approle failed: SSLError: ")
    assert "certificate verify failed" in why


def test_https_goes_through_its_own_proxy_as_a_tunnel(
    https: Bao, forward_proxy: ForwardProxy
) -> None:
    before = len(forward_proxy.requests())
    query = f"{https.login()}&ca={https.ca}&proxy={forward_proxy.url}"
    assert https.source("secret/app", query).load() == KEYS
    host = https.url.removeprefix("https://")
    assert forward_proxy.requests()[before:] == [f"CONNECT {host}"] * 2  # the login, the secret
