"""`instance`: the keys of the role of this container, or of this machine.

Not through botocore: it would take a proxy from the environment, fall back to version 1 of the
instance's service, log answers that don't parse, and wait for 8 s where the limit is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from dispatch.adapters.credentials.fields import Names, credentials_in, wrong_characters
from dispatch.adapters.credentials.metadata_http import Reply, Request, Silence, ask, object_in
from dispatch.adapters.credentials.outcome import Broken, Outcome, settle
from dispatch.adapters.credentials.reading import Unread, read_text
from dispatch.model.loopback import is_loopback
from dispatch.ports.credentials import Absent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dispatch.ports.credentials import Credentials

TIME_OUT_S = 1.0  # who doesn't answer in that time isn't there
CONTAINER_TRIES = 3  # its variable says that it is there, and an agent on a busy node may stall

_NAMES = Names("AccessKeyId", "SecretAccessKey", "Token", "Expiration")
_CONTAINER = "http://169.254.170.2"
_CONTAINER_HOSTS = frozenset({"169.254.170.2", "169.254.170.23", "fd00:ec2::23"})
_MACHINE = {"ipv4": "http://169.254.169.254", "ipv6": "http://[fd00:ec2::254]"}
_LIFE = {"x-aws-ec2-metadata-token-ttl-seconds": "60"}  # used at once, for two requests
_ROLES = "/latest/meta-data/iam/security-credentials/"
_OK, _NOT_FOUND, _SERVER_FAULT = 200, 404, 500
_WITHOUT_TOKENS = {
    403: "the metadata service is turned off",
    404: "no metadata service of version 2",
    405: "no metadata service of version 2",
    501: "no metadata service of version 2",
}
_CODE_LETTERS_MAX = 64  # longer than any of AWS's codes


class InstanceSource:
    """Temporary keys from a metadata service; a container's comes before its machine's.

    The first that is set up is the only one asked: a container whose service fails doesn't get
    its machine's role. Every request goes straight to the service, whatever proxy is set.
    """

    __slots__ = ("_monotonic", "_variables", "name")

    def __init__(self, variables: Mapping[str, str], monotonic: Callable[[], float]) -> None:
        self.name = "instance"
        self._variables = variables
        self._monotonic = monotonic

    def load(self) -> Credentials | Absent:
        return settle(self.name, self._outcome())

    def has_changed(self) -> bool:
        return False

    def _outcome(self) -> Outcome:
        outcome = of_container(self._variables, self._monotonic)
        if isinstance(outcome, Absent):
            outcome = of_machine(self._variables, self._monotonic)
        return outcome


def of_container(variables: Mapping[str, str], monotonic: Callable[[], float]) -> Outcome:
    """The keys of the role of this container (ECS, EKS Pod Identity)."""
    relative = variables.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    url = _CONTAINER + relative if relative else variables.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if not url:
        return Absent("no AWS_CONTAINER_CREDENTIALS_… variable is set")
    wrong = _wrong_url(url)
    if wrong:
        return Broken(f"the container's metadata service {wrong}")
    token = _authorization(variables)
    if isinstance(token, Broken):
        return token
    headers = {"Accept": "application/json"} | ({"Authorization": token} if token else {})
    why = ""
    for _ in range(CONTAINER_TRIES):
        reply = ask(Request("GET", url, headers), TIME_OUT_S, monotonic)
        if isinstance(reply, Reply):
            return _keys_in(reply, "the container's metadata service")
        why = f"the container's metadata service: {reply.why}, {CONTAINER_TRIES} times"
    return Broken(why, kind="credentials-unreachable")


def _wrong_url(url: str) -> str:
    """A token goes there, so that plain http is for the known addresses only."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "has an address that is no URL"
    if parts.scheme == "https" and host:
        return ""
    if parts.scheme == "http" and (is_loopback(host) or host in _CONTAINER_HOSTS):
        return ""
    return f"is at {parts.scheme}://{host}, not on this machine or at a known address"


def _authorization(variables: Mapping[str, str]) -> str | Broken:
    """What to show to a container's service; the file is read afresh, since it rotates."""
    path = variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    if not path:
        token = variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
        where = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
    else:
        text = read_text(path)
        if isinstance(text, Unread):
            return Broken(f"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE {path!r} {text.why}")
        token, where = text.value, f"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE {path!r}"
    # "Basic …" is a valid token, so that a space is allowed here.
    wrong = wrong_characters(token.replace(" ", ""))
    return Broken(f"{where} {wrong}") if wrong else token


def of_machine(variables: Mapping[str, str], monotonic: Callable[[], float]) -> Outcome:
    """The keys of the role of this machine, by version 2 of the protocol (with a token)."""
    if variables.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return Absent("AWS_EC2_METADATA_DISABLED is set")
    mode = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "").lower() or "ipv4"
    endpoint = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _MACHINE.get(mode)
    if endpoint is None:
        return Broken(f"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE is {mode!r}, not ipv4 or ipv6")
    base = endpoint.rstrip("/")
    reply = ask(Request("PUT", f"{base}/latest/api/token", _LIFE), TIME_OUT_S, monotonic)
    if isinstance(reply, Silence):
        return Absent(f"no metadata service ({reply.why})")
    if reply.status in _WITHOUT_TOKENS:
        return Absent(f"{_WITHOUT_TOKENS[reply.status]} (status {reply.status})")
    if reply.status != _OK or not reply.text or wrong_characters(reply.text):
        return Broken(f"the metadata service gave no token (status {reply.status})")
    headers = {"x-aws-ec2-metadata-token": reply.text}
    return _of_role(base, headers, monotonic)


def _of_role(base: str, headers: Mapping[str, str], monotonic: Callable[[], float]) -> Outcome:
    reply = ask(Request("GET", base + _ROLES, headers), TIME_OUT_S, monotonic)
    role = reply.text.strip() if isinstance(reply, Reply) else ""
    if isinstance(reply, Reply) and (
        reply.status == _NOT_FOUND or (reply.status, role) == (_OK, "")
    ):
        return Absent("this machine has no role")
    if isinstance(reply, Reply) and reply.status == _OK:
        role = quote(role.splitlines()[0], safe="")
        reply = ask(Request("GET", base + _ROLES + role, headers), TIME_OUT_S, monotonic)
    if isinstance(reply, Silence):
        return Broken(f"the metadata service: {reply.why}", kind="credentials-unreachable")
    return _keys_in(reply, "the metadata service")


def _keys_in(reply: Reply, who: str) -> Outcome:
    """The keys in an answer; nothing of it is shown, since it may hold some of them."""
    if reply.status != _OK:
        is_fault = reply.status >= _SERVER_FAULT
        kind = "credentials-unreachable" if is_fault else "credentials-refused"
        return Broken(f"{who} answered with status {reply.status}", kind=kind)
    document = object_in(reply)
    if document is None:
        return Broken(f"{who} answered with something that is no JSON object")
    code = document.get("Code", "Success")
    if code != "Success":
        is_code = isinstance(code, str) and code.isalpha() and len(code) <= _CODE_LETTERS_MAX
        why = f"{who} answered with {code if is_code else 'an error'}"
        return Broken(why, kind="credentials-refused")
    outcome = credentials_in(document, _NAMES)
    return Broken(f"{who}: {outcome.why}") if isinstance(outcome, Broken) else outcome
