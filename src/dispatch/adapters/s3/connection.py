"""A botocore client that does nothing behind our back: one call is one signed request."""

from __future__ import annotations

import functools
import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.credentials import CredentialResolver, Credentials, ReadOnlyCredentials
from botocore.loaders import Loader
from botocore.session import Session

from dispatch.errors import InvalidInputError
from dispatch.model.loopback import is_loopback
from dispatch.model.shown import shown

if TYPE_CHECKING:
    from dispatch.ports.credentials import Keys

_CONNECT_S = 5  # seconds
_READ_S = 30  # a loser of a race on SeaweedFS waits seconds
_REGION = "us-east-1"  # what S3 compatibles answer to when none is configured


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a store.

    Attributes:
        endpoint: Its URL; None for AWS itself.
        region: Its region; None for the default.
        addressing: ``auto``, ``path`` or ``virtual``: where the bucket stands in a URL.
        ca_file: PEM certificates to trust instead of those that botocore brings along.
        proxy: The proxy for http and https; None for none, whatever the environment says.
        allow_http: Whether plain http may leave this machine.
    """

    endpoint: str | None = None
    region: str | None = None
    addressing: str = "auto"
    ca_file: str | None = None
    proxy: str | None = None
    allow_http: bool = False

    def __post_init__(self) -> None:
        if self.addressing not in {"auto", "path", "virtual"}:
            message = f"addressing {self.addressing!r} is not one of: auto, path, virtual"
            raise InvalidInputError(message)
        if self.ca_file is not None and not os.path.isfile(self.ca_file):
            message = f"the file of certificates {self.ca_file!r} does not exist"
            raise InvalidInputError(message)
        if self.ca_file is not None and not _holds_certificates(self.ca_file):
            message = f"the file of certificates {self.ca_file!r} holds none in PEM form"
            raise InvalidInputError(message)
        if self.endpoint is not None:
            self._check_endpoint(self.endpoint)

    def _check_endpoint(self, endpoint: str) -> None:
        try:
            parts = urlsplit(endpoint)
            host, _ = parts.hostname, parts.port
        except ValueError:
            parts, host = urlsplit(""), None
        extra = parts.query or parts.fragment or "@" in parts.netloc or parts.path not in {"", "/"}
        if parts.scheme not in {"http", "https"} or not host or extra:
            message = f"endpoint {shown(endpoint)} is not http(s)://HOST[:PORT]"
            raise InvalidInputError(message)
        if parts.scheme == "http" and not is_loopback(host) and not self.allow_http:
            message = f"endpoint {endpoint!r} is plain http to another machine"
            raise InvalidInputError(message, hint="Use https, or -insecure-http knowingly.")


def _holds_certificates(path: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError:  # an SSLError too
        return False
    return True


def make_client(connection: Connection, keys: Keys) -> Any:  # noqa: ANN401 - botocore has no types
    """A client for S3 that signs each request with the keys of that moment."""
    proxies = {scheme: connection.proxy for scheme in ("http", "https") if connection.proxy}
    settings: dict[str, Any] = {
        "signature_version": "s3v4",
        "connect_timeout": _CONNECT_S,
        "read_timeout": _READ_S,
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "proxies": proxies,
        "s3": {"addressing_style": connection.addressing},
        "request_checksum_calculation": "when_required",  # Ceph 16 answers 411 to the default
        "response_checksum_validation": "when_required",
        "ignore_configured_endpoint_urls": True,
    }
    session = _isolated_session()
    providers: list[Any] = [_Provider(keys)]
    session.register_component("credential_provider", CredentialResolver(providers))
    client = session.create_client(
        "s3",
        region_name=connection.region or _REGION,
        endpoint_url=connection.endpoint,
        verify=connection.ca_file or True,
        config=Config(**settings),
    )
    client.meta.events.register("before-call.s3", _never_redirect)
    return client


def _never_redirect(context: dict[str, Any], **_: object) -> None:
    """Say that the request was redirected already.

    Else botocore looks for the bucket's region and asks there by itself: requests that nobody
    counts, with no deadline, for a mistake that somebody should know of.
    """
    context.setdefault("s3_redirect", {})["redirected"] = True


def _isolated_session() -> Session:
    """A session that reads no variable, profile or file: what it needs is passed."""
    variables = {
        name: (None, None, default, convert)
        for name, (_, _, default, convert) in Session.SESSION_VARIABLES.items()
    }
    no_file = (None, None, os.devnull, None)
    files = {"config_file": no_file, "credentials_file": no_file}
    session = Session(session_vars={**variables, **files})
    session.register_component("data_loader", _loader())
    return session


@functools.cache
def _loader() -> Loader:
    """What has read S3's model, once for all roots: it takes longer than all else."""
    return Loader()


class _Provider:
    """What botocore asks for credentials."""

    METHOD = "dispatch"
    CANONICAL_NAME = None

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def load(self) -> _Signing:
        return _Signing(self._keys)


class _Signing(Credentials):
    """Credentials that hold none, and are looked up at each signature."""

    def __init__(self, keys: Keys) -> None:
        super().__init__("", "", method=_Provider.METHOD)
        self._keys = keys

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        keys = self._keys.current()
        return ReadOnlyCredentials(keys.access_key_id, keys.secret_access_key, keys.session_token)
