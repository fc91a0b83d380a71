"""A real SeaweedFS on loopback: S3, and temporary keys for web identity tokens."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from tests.servers.daemon import Daemon, answers
from tests.servers.ports import free_ports
from tests.servers.programs import SEAWEEDFS, need
from tests.servers.s3 import OWNER, Keys, S3Server
from tests.servers.web_identity import AUDIENCE, IdentityProvider

ROLE_ARN = "arn:aws:iam::role/job"
"""What a token of the identity provider may become."""

READER = Keys("readeraccess", "readersecretkey9876543210")
"""May read objects; may not list or write."""

_PORT_FLAGS = (
    "s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port",
    "volume.port.grpc", "filer.port", "filer.port.grpc",
)  # fmt: skip


def _identities() -> dict[str, object]:
    def identity(name: str, keys: Keys, *actions: str) -> dict[str, object]:
        pair = {"accessKey": keys.access_key_id, "secretKey": keys.secret_access_key}
        return {"name": name, "credentials": [pair], "actions": actions}

    owner = identity("owner", OWNER, "Admin", "Read", "Write", "List", "Tagging")
    return {"identities": [owner, identity("reader", READER, "Read")]}


def _iam(provider: IdentityProvider, token_duration_s: int) -> dict[str, object]:
    trust = {
        "Effect": "Allow",
        "Principal": {"Federated": "*"},
        "Action": ["sts:AssumeRoleWithWebIdentity"],
    }
    rights = [
        {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["*"]},
        {"Effect": "Allow", "Action": ["sts:ValidateSession"], "Resource": ["*"]},
    ]
    version = "2012-10-17"  # of the language of policies, not of these
    return {
        "sts": {
            "tokenDuration": f"{token_duration_s}s",
            "maxSessionLength": "12h",
            "issuer": "seaweedfs-sts",
            "signingKey": base64.b64encode(b"a key of 32 characters for tests").decode(),
            "providers": [
                {
                    "name": "tests",
                    "type": "oidc",
                    "enabled": True,
                    "config": {
                        "issuer": provider.issuer,
                        "clientId": AUDIENCE,
                        "jwksUri": provider.jwks_url,
                    },
                }
            ],
        },
        "policy": {"defaultEffect": "Deny", "storeType": "memory"},
        "roles": [
            {
                "roleName": "job",
                "roleArn": ROLE_ARN,
                "trustPolicy": {"Version": version, "Statement": [trust]},
                "attachedPolicies": ["everything"],
            }
        ],
        "policies": [{"name": "everything", "document": {"Version": version, "Statement": rights}}],
    }


@contextmanager
def run_seaweedfs(
    folder: Path, provider: IdentityProvider, token_duration_s: int = 3600
) -> Iterator[S3Server]:
    """Run master, volume, filer and gateway in one process.

    Temporary keys last for ``token_duration_s``, unless a client asks for 900 s or more.
    """
    [weed] = need(SEAWEEDFS)
    (folder / "data").mkdir()
    iam = _iam(provider, token_duration_s)
    for name, content in (("s3.json", _identities()), ("iam.json", iam)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    ports = free_ports(len(_PORT_FLAGS))
    argv: list[str | Path] = [
        weed, "-logtostderr", "server", "-dir=data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        *(f"-{flag}={port}" for flag, port in zip(_PORT_FLAGS, ports, strict=True)),
        "-master.telemetry=false", "-master.electionTimeout=1s", "-master.volumeSizeLimitMB=64",
        "-volume.max=5000", "-volume.preStopSeconds=0", "-metricsPort=0",
        "-filer", f"-filer.localSocket={folder / 'filer.sock'}",
        "-s3", f"-s3.localSocket={folder / 's3.sock'}", "-s3.autoCreateBucket=false",
        "-s3.config=s3.json", "-s3.iam=true", "-s3.iam.config=iam.json",
        "-s3.port.iceberg=0", "-s3.port.lance=0",  # else they listen on fixed ports
    ]  # fmt: skip
    daemon = Daemon("weed", argv, folder, grace_s=0.5)  # it takes 10 s over a kind end
    try:
        url = f"http://127.0.0.1:{ports[0]}"
        server = S3Server("seaweedfs", SEAWEEDFS.version(), url, daemons={"weed": daemon})
        daemon.wait_ready(lambda: answers(ports[0]) and _serves(server))
        yield server
    finally:
        daemon.stop()
        for grpc in ports[1::2]:  # it leaves these, wherever its own sockets are
            for socket in Path("/tmp").glob(f"seaweedfs-*-grpc-{grpc}.sock"):
                socket.unlink(missing_ok=True)


def _serves(server: S3Server) -> bool:
    """The gateway answers long before the filer behind it does."""
    try:
        server.client().list_buckets()
    except (BotoCoreError, ClientError):
        return False
    return True
