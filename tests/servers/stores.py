"""One face for the fake and the real S3 servers, so that one suite runs on all of them."""

from __future__ import annotations

import itertools
import json
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from dispatch.testing import s3fake
from tests.servers import radosgw, seaweedfs
from tests.servers.certificates import Certificates
from tests.servers.s3 import Keys, S3Server

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

_NUMBERS = itertools.count(1)

READER = seaweedfs.READER
"""Keys that may read objects and nothing else, once `Store.let_read` has let them."""


@dataclass(frozen=True, slots=True)
class Store:
    """A store to test, fake or real.

    Attributes:
        server: Where it is.
        make_bucket: Make a bucket of a name.
        let_read: Let keys read the objects of a bucket, but neither list nor write; returns them.
        fake: The fake itself; None for a real store.
    """

    server: S3Server
    make_bucket: Callable[[str], None]
    let_read: Callable[[str], Keys]
    fake: s3fake.S3Fake | None = None

    @property
    def name(self) -> str:
        """What the tests call it."""
        return self.server.name

    def client(self, keys: Keys | None = None, **settings: object) -> S3Client:
        """See `S3Server.client`."""
        return self.server.client(keys, **settings)  # type: ignore[arg-type]  # region is a str

    def new_bucket(self) -> str:
        """Make a bucket that nobody has used."""
        name = f"bucket-{os.getpid()}-{next(_NUMBERS)}"
        self.make_bucket(name)
        return name


def real_store(server: S3Server) -> Store:
    """Give a real server the face."""

    def make_bucket(name: str) -> None:
        server.client().create_bucket(Bucket=name)

    def let_read(bucket: str) -> Keys:
        if server.name == "seaweedfs":
            return READER
        statement = {
            "Effect": "Allow",
            "Principal": {"AWS": [f"arn:aws:iam:::user/{radosgw.OTHER.access_key_id}"]},
            "Action": ["s3:GetObject"],
            "Resource": [f"arn:aws:s3:::{bucket}/*"],
        }
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        server.client().put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
        return radosgw.OTHER

    return Store(server, make_bucket, let_read)


@contextmanager
def fake_store(certificates: Certificates | None = None) -> Iterator[Store]:
    """Run a fake, with TLS when there are certificates, and give it the face."""
    tls = None
    if certificates is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificates.certificate, certificates.key)
    with s3fake.S3Fake(tls=tls) as fake:
        denied = frozenset({"s3:ListBucket", "s3:PutObject", "s3:DeleteObject"})
        fake.add_keys(
            s3fake.Keys(READER.access_key_id, READER.secret_access_key, denied=denied),
        )
        server = S3Server(
            name="s3fake-https" if tls else "s3fake",
            version="",
            url=fake.url,
            keys=Keys(fake.keys.access_key_id, fake.keys.secret_access_key),
            ca_file=certificates.authority if certificates else None,
        )
        yield Store(server, fake.create_bucket, lambda _: READER, fake)


def outcome(call: Callable[[], object]) -> tuple[int, str]:
    """Make a call; return its HTTP status and S3's code, which is ``ok`` when there was none."""
    try:
        answer = call()
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return status, error.response["Error"].get("Code") or ""
    assert isinstance(answer, dict)
    return answer["ResponseMetadata"]["HTTPStatusCode"], "ok"
