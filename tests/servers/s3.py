"""An S3 server for tests, and a botocore client for it that does nothing behind our back."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import botocore.session
from botocore.config import Config

from tests.servers.daemon import Daemon

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

REGION = "us-east-1"
_CONNECT_S = 5
_READ_S = 60  # losers of a race on SeaweedFS wait for up to 14 s


@dataclass(frozen=True, slots=True)
class Keys:
    """Who a request is from."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


OWNER = Keys("testaccess", "testsecretkey0123456789")
"""Keys that every server knows, with all rights."""


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server.

    Attributes:
        name: What the tests call it.
        version: As its program prints it.
        url: Where it listens, without a slash at the end.
        keys: The owner's.
        ca_file: What to trust, of one that listens with TLS.
        daemons: Its processes by name, to pause and to look into.
    """

    name: str
    version: str
    url: str
    keys: Keys = OWNER
    ca_file: Path | None = None
    daemons: Mapping[str, Daemon] = field(default_factory=dict)

    def client(
        self, keys: Keys | None = None, *, region: str = REGION, **settings: object
    ) -> S3Client:
        """Make a client whose every call is one signed request; ``settings`` are of `Config`."""
        keys = keys or self.keys
        client = _session().create_client(
            "s3",
            endpoint_url=self.url,
            region_name=region,
            aws_access_key_id=keys.access_key_id,
            aws_secret_access_key=keys.secret_access_key,
            aws_session_token=keys.session_token,
            verify=str(self.ca_file) if self.ca_file else None,
            config=Config(**{**_SETTINGS, **settings}),
        )
        return cast("S3Client", client)

    def __str__(self) -> str:
        return self.name


@functools.cache
def _session() -> botocore.session.Session:
    """One for all: reading the model of S3 takes longer than most tests."""
    return botocore.session.Session(session_vars={"config_file": (None, None, "", None)})


_SETTINGS: dict[str, Any] = {
    "connect_timeout": _CONNECT_S,
    "read_timeout": _READ_S,
    "max_pool_connections": 64,
    "proxies": {},  # whatever the environment says
    "request_checksum_calculation": "when_required",  # Ceph 16 refuses the others
    "response_checksum_validation": "when_required",
    "retries": {"total_max_attempts": 1, "mode": "standard"},
    "s3": {"addressing_style": "path"},
    "signature_version": "s3v4",
}
