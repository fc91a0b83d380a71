"""botocore for credentials alone, with its hidden behaviour off and its errors put in our words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore import UNSIGNED, exceptions
from botocore.config import Config
from botocore.session import Session

from dispatch.adapters.credentials.outcome import Broken, words_of
from dispatch.adapters.credentials.quiet import quiet
from dispatch.model.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.adapters.credentials.surroundings import Surroundings

_CONNECT_S = 5  # as for the store
_READ_S = 10  # a token service answers in well under one
_TRIES = 3
_SERVER_FAULT = 500
_CODE_LETTERS_MAX = 64  # longer than any of AWS's codes

_OWN: dict[str, Any] = {"ignore_configured_endpoint_urls": True}  # the stubs don't know it
_UNSIGNED = Config(signature_version=UNSIGNED, **_OWN)
_TELLING = (
    exceptions.InvalidConfigError,
    exceptions.MissingDependencyException,
    exceptions.PartialCredentialsError,
    exceptions.SSOError,
)
"""Whose own words are ours to repeat: they name settings and files, and quote no value of a key."""


def client_config(around: Surroundings) -> Config:
    """How any client of botocore's is made here: no proxy but the store's, bounded waits."""
    proxies = {scheme: around.proxy for scheme in ("http", "https") if around.proxy}
    return Config(
        proxies=proxies,
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        retries={"total_max_attempts": _TRIES, "mode": "standard"},
    )


def assume_role_with_web_identity(
    around: Surroundings, role: str, who: str, token: str
) -> dict[str, object] | Broken:
    """Exchange a token for temporary keys: the fields of the service's answer, as text."""
    endpoint = _endpoint(around)
    if isinstance(endpoint, Broken):
        return endpoint
    with quiet():
        try:
            # A session whose defaults are not the user's files, which may not even parse.
            client: Any = _isolated_session().create_client(
                "sts",
                region_name=around.region,
                endpoint_url=endpoint,
                verify=around.ca_file or True,
                config=client_config(around).merge(_UNSIGNED),
            )
            with quiet():  # now that making the client has made all of its loggers
                answer = client.assume_role_with_web_identity(
                    RoleArn=role, RoleSessionName=who, WebIdentityToken=token
                )
            keys = dict(answer["Credentials"])
            return {**keys, "Expiration": keys["Expiration"].isoformat()}
        except Exception as error:  # noqa: BLE001 - whatever it is, it may hold the token
            return explain(error, [token])


def _endpoint(around: Surroundings) -> str | Broken | None:
    """Where the token service is, when it isn't AWS's own."""
    for variable in ("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"):
        url = around.variables.get(variable)
        if not url:
            continue
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            host, parts = "", urlsplit("")
        if parts.scheme not in {"http", "https"} or not host or "@" in url:
            return Broken(f"{variable} is not http(s)://HOST[:PORT]")
        if parts.scheme == "http" and not (around.allow_http or is_loopback(host)):
            hint = "Use https, or -insecure-http knowingly: the token is sent there."
            return Broken(f"{variable} {url!r} is plain http to another machine", hint=hint)
        return url
    return None


def _isolated_session() -> Session:
    nothing = (None, None, None, None)
    no_file = (None, None, os.devnull, None)
    files = {"config_file": no_file, "credentials_file": no_file}
    return Session(session_vars={"profile": nothing, "ca_bundle": nothing, **files})


def explain(error: Exception, secrets: Sequence[str] | None) -> Broken:
    """What an exception of botocore's means, without what it may hold of secrets.

    Args:
        error: What was raised.
        secrets: What was sent, so that a server's words can be shown without it; None when that
            isn't known, and they can't.
    """
    if isinstance(error, exceptions.ClientError):
        return _refused(error, secrets)
    if isinstance(error, (exceptions.HTTPClientError, exceptions.ConnectionError)):
        return Broken(_unreachable(error), kind="credentials-unreachable")
    return Broken(_told_by(error))


def _told_by(error: Exception) -> str:
    """What an exception that nothing was sent for tells, where its own words may hold keys."""
    match error:
        case exceptions.ConfigParseError():
            told = f"the file {error.kwargs.get('path')!r} does not parse"
        case exceptions.ParamValidationError():
            names = re.findall(r"parameter:? \"?(\w+)", str(error))
            told = f"not a valid value of {', '.join(names) or 'a parameter'}"
        case exceptions.CredentialRetrievalError():
            provider = error.kwargs.get("provider")
            told = f"{provider} gave no keys, for a reason that may hold some of them"
        case _ if isinstance(error, _TELLING):
            told = words_of(str(error), ())
        case _:
            what = "botocore" if isinstance(error, exceptions.BotoCoreError) else "getting the keys"
            told = f"{what} failed with {type(error).__name__}"
    return told


def _unreachable(error: exceptions.BotoCoreError) -> str:
    """Which address did not answer; the rest of its words may quote a header."""
    where = error.kwargs.get("endpoint_url") or error.kwargs.get("proxy_url")
    told = f"{type(error).__name__}{f' at {where}' if where else ''}"
    if isinstance(error, exceptions.SSLError):
        told += f": {error.kwargs.get('error')}"
    return words_of(told, ())


def _refused(error: exceptions.ClientError, secrets: Sequence[str] | None) -> Broken:
    said = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(said.get("Code", ""))
    if not code.isalnum() or len(code) > _CODE_LETTERS_MAX:
        code = f"status {status}"
    words = words_of(str(said.get("Message", "")), secrets) if secrets is not None else ""
    why = f"{error.operation_name} was refused: {code}{': ' if words else ''}{words}"
    is_fault = status >= _SERVER_FAULT
    return Broken(why, kind="credentials-unreachable" if is_fault else "credentials-refused")
