"""The servers of tests/servers themselves: each can do what other tests will ask of it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import botocore.session
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError

from dispatch.testing import s3fake
from tests.servers.daemon import Daemon
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.openbao import OpenBao
from tests.servers.s3 import REGION, Keys, S3Server
from tests.servers.seaweedfs import ROLE_ARN, run_seaweedfs
from tests.servers.stores import outcome
from tests.servers.web_identity import IdentityProvider

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

pytestmark = pytest.mark.real

OK = (200, "ok")
NOBODY = (403, "InvalidAccessKeyId")
WAIT_S_MAX = 30.0


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until it is so, with a bound."""
    deadline = time.monotonic() + WAIT_S_MAX
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def put(client: S3Client, key: str) -> tuple[int, str]:
    """Create an object exclusively."""
    return outcome(lambda: client.put_object(Bucket="servers", Key=key, Body=b"", IfNoneMatch="*"))


def with_bucket(server: S3Server, **settings: object) -> S3Client:
    """Make a client, and the bucket too when it isn't there."""
    made = outcome(lambda: server.client().create_bucket(Bucket="servers"))
    assert made in {OK, (409, "BucketAlreadyOwnedByYou")}
    return server.client(**settings)  # type: ignore[arg-type]  # none is a key or a region


def assume_role(server: S3Server, token: str) -> Keys:
    """Exchange a web identity token for temporary keys."""
    sts: Any = botocore.session.Session().create_client(
        "sts",
        region_name=REGION,
        endpoint_url=server.url,
        config=Config(signature_version=UNSIGNED, proxies={}),
    )
    answer = sts.assume_role_with_web_identity(
        RoleArn=ROLE_ARN, RoleSessionName="tests", WebIdentityToken=token
    )
    keys = answer["Credentials"]
    return Keys(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])


def test_a_put_that_timed_out_may_have_happened(radosgw: S3Server) -> None:
    client = with_bucket(radosgw, read_timeout=1)
    osd = radosgw.daemons["osd"]
    osd.pause()
    try:
        with pytest.raises(ReadTimeoutError):
            put(client, "stalled")
    finally:
        osd.resume()
    wait_for(lambda: put(client, "stalled") == (412, "PreconditionFailed"))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_store_is_reached_through_a_proxy(
    radosgw_both: tuple[S3Server, S3Server], forward_proxy: ForwardProxy, scheme: str
) -> None:
    server = radosgw_both[scheme == "https"]
    client = with_bucket(server, proxies={scheme: forward_proxy.url})
    before = len(forward_proxy.requests())
    assert put(client, f"through-{scheme}") == OK
    [request] = forward_proxy.requests()[before:]
    host = urlsplit(server.url).netloc
    url = f"{server.url}/servers/through-http"
    assert request == (f"CONNECT {host}" if scheme == "https" else f"PUT {url}")


def test_a_token_is_worth_temporary_keys(
    seaweedfs: S3Server, identity_provider: IdentityProvider
) -> None:
    with_bucket(seaweedfs)
    keys = assume_role(seaweedfs, identity_provider.token())
    assert put(seaweedfs.client(keys), "temporary") == OK
    without = Keys(keys.access_key_id, keys.secret_access_key)
    wrong = Keys(keys.access_key_id, keys.secret_access_key, "wrong")
    assert [put(seaweedfs.client(k), "no") for k in (without, wrong)] == [NOBODY, NOBODY]


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"exp": 1}, "ExpiredTokenException"),
        ({"aud": "others"}, "InvalidParameterValue"),
        ({"iss": "http://127.0.0.1:1"}, "AccessDenied"),
    ],
)
def test_a_wrong_token_is_refused(
    seaweedfs: S3Server, identity_provider: IdentityProvider, claims: dict[str, object], code: str
) -> None:
    with pytest.raises(ClientError) as caught:
        assume_role(seaweedfs, identity_provider.token(**claims))  # type: ignore[arg-type]  # claims
    assert caught.value.response["Error"].get("Code") == code


def test_seaweedfs_calls_expired_keys_unknown(
    tmp_path: Path, identity_provider: IdentityProvider
) -> None:
    """S3 and the fake say ExpiredToken, with 400: an adapter must renew after either."""
    with run_seaweedfs(tmp_path, identity_provider, token_duration_s=2) as server:
        with_bucket(server)
        client = server.client(assume_role(server, identity_provider.token()))
        client.list_objects_v2(Bucket="servers")
        answers: list[tuple[int, str]] = []

        def is_refused() -> bool:
            answers.append(outcome(lambda: client.list_objects_v2(Bucket="servers")))
            return answers[-1] != OK

        wait_for(is_refused)
        assert answers[-1] == NOBODY


def test_the_fake_calls_temporary_keys_by_their_state() -> None:
    with s3fake.S3Fake() as fake:
        fake.create_bucket("servers")
        states: list[Any] = [("fine", None, OK), ("over", 0.0, (400, "ExpiredToken"))]
        for name, expires_at, expected in states:
            fake.add_keys(s3fake.Keys(name, "secret", "token", expires_at))
            server = S3Server("fake", "", fake.url, Keys(name, "secret", "token"))
            assert put(server.client(), name) == expected
            assert put(server.client(Keys(name, "secret")), "no") == NOBODY
            wrong = server.client(Keys(name, "secret", "wrong"))
            assert put(wrong, "no") == (400, "InvalidToken")


def test_openbao_keeps_a_secret(openbao: OpenBao) -> None:
    connection = http.client.HTTPConnection(urlsplit(openbao.url).netloc, timeout=10)
    headers = {"X-Vault-Token": openbao.root_token, "Content-Type": "application/json"}
    kept = {"access_key_id": "a", "secret_access_key": "s"}
    path = "/v1/secret/data/tests/servers"
    connection.request("POST", path, json.dumps({"data": kept}), headers)
    assert connection.getresponse().read()
    connection.request("GET", path, headers=headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["data"]["data"] == kept


def test_a_server_that_ends_shows_its_log(tmp_path: Path) -> None:
    daemon = Daemon("broken", ["sh", "-c", "echo cannot bind; exit 3"], tmp_path)
    with pytest.raises(RuntimeError, match=r"(?s)broken ended with 3; .*cannot bind"):
        daemon.wait_ready(lambda: False)
    daemon.stop()


def test_a_server_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! >child; trap '' TERM; echo ready; wait; wait"
    daemon = Daemon("stubborn", ["sh", "-c", script], tmp_path, grace_s=0.1)
    daemon.wait_ready(lambda: "ready" in daemon.log.read_text(encoding="utf-8"))
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    daemon.stop()
    wait_for(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
