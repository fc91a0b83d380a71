"""hvac for one secret, with its hidden behaviour off and its errors put in our words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urljoin, urlsplit

import hvac
import requests
from hvac import exceptions
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from dispatch.adapters.credentials.fields import credentials_in
from dispatch.adapters.credentials.outcome import Broken, Outcome, words_of
from dispatch.adapters.credentials.vault_address import KubernetesLogin
from dispatch.model.loopback import is_loopback

if TYPE_CHECKING:
    from types import TracebackType

    from dispatch.adapters.credentials.vault_address import VaultAddress

_WAIT_S = 10  # to connect, and between two pieces of an answer
_CONNECTS = 3  # a login may use up a secret id, so that only what was never sent is tried again
_PAUSE_S = 0.5

_REFUSED = (exceptions.Forbidden, exceptions.InvalidRequest, exceptions.Unauthorized)


@dataclass(frozen=True, slots=True)
class Token:
    """What a login gave.

    Attributes:
        value: The token.
        life_s: How long it is good for.
    """

    value: str = field(repr=False)
    life_s: float


class _Session(requests.Session):
    """No proxy, certificates or passwords of the environment; no token by plain http elsewhere."""

    def __init__(self, address: VaultAddress) -> None:
        super().__init__()
        self.trust_env = False
        self.verify = address.ca_file or True
        if address.proxy:
            self.proxies = {"http": address.proxy, "https": address.proxy}
        never_sent = Retry(
            _CONNECTS - 1, connect=_CONNECTS - 1, read=0, other=0, backoff_factor=_PAUSE_S
        )
        for scheme in ("http://", "https://"):
            self.mount(scheme, HTTPAdapter(max_retries=never_sent))

    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:  # noqa: ANN401 - requests' own
        """Send on a connection of its own: some proxies close theirs after an answer, unasked."""
        try:
            return super().send(request, **how)
        finally:
            self.close()

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Follow a standby to its leader, but by https, or on this machine."""
        target: str | None = super().get_redirect_target(resp)
        parts = urlsplit(urljoin(resp.url, target or ""))
        is_safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
        return target if is_safe else None


class VaultClient:
    """One server and one secret."""

    def __init__(self, address: VaultAddress) -> None:
        self._address = address
        self._client = hvac.Client(
            url=address.server,
            token="",  # none, whatever VAULT_TOKEN and ~/.vault-token say
            verify=address.ca_file or True,
            timeout=_WAIT_S,
            session=_Session(address),
            namespace=address.namespace,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._client.adapter.close()

    def login(self, secret: str) -> Token | Broken:
        """A new token, for the service account's token or the secret id."""
        login = self._address.login
        self._client.token = ""
        methods = self._client.auth
        answer: Any
        try:
            if isinstance(login, KubernetesLogin):
                answer = methods.kubernetes.login(
                    login.role, secret, use_token=False, mount_point=login.mount
                )
            else:
                answer = methods.approle.login(
                    login.role_id, secret, use_token=False, mount_point=login.mount
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, it may hold the secret
            return _explain(f"the login at auth/{login.mount}", error, secret)
        auth = _object(_object(answer).get("auth"))
        value, life_s = auth.get("client_token"), auth.get("lease_duration")
        if not isinstance(value, str) or not value:
            return Broken(f"the login at auth/{login.mount} gave no token")
        does_end = isinstance(life_s, int | float) and life_s > 0  # 0: it never ends
        return Token(value, float(life_s or 0) if does_end else math.inf)

    def read(self, token: Token) -> Outcome | None:
        """The keys, or what is wrong; None when the token may not read them."""
        at = self._address
        self._client.token = token.value
        try:
            answer: Any = self._client.secrets.kv.v2.read_secret_version(
                at.path, mount_point=at.mount, raise_on_deleted_version=True
            )
        except exceptions.Forbidden:
            return None
        except exceptions.InvalidPath as error:
            return _deleted(_object(error.json)) or self._explain_absence()
        except Exception as error:  # noqa: BLE001 - whatever it is, it may hold the token
            return _explain("reading", error, token.value)
        if not isinstance(answer, dict):
            status = getattr(answer, "status_code", 200)  # hvac takes a 200 apart
            return Broken(f"the server answered with status {status} and no secret")
        return _deleted(answer) or self._keys_in(answer)

    def explain_denial(self, token: Token) -> Broken:
        """Why reading was denied, as far as the server tells."""
        self._client.token = token.value
        wrong = self._wrong_mount()
        if wrong:
            return wrong
        at = self._address
        hint = f"The login's policy must allow to read {at.mount}/data/{at.path}."
        why = "reading was denied (403), also after a new login"
        return Broken(why, kind="credentials-refused", hint=hint)

    def _keys_in(self, answer: dict[str, Any]) -> Outcome:
        data = _object(answer.get("data"))
        if not isinstance(data.get("data"), dict) or "version" not in _object(data.get("metadata")):
            return self._wrong_mount() or _of_version_1(self._address.mount)
        names, values = self._address.fields, data["data"]
        if self._address.is_token_named and names.session_token not in values:
            return Broken(f"{names.session_token} is missing")
        return credentials_in(values, names)

    def _explain_absence(self) -> Broken:
        at = self._address
        wrong = self._wrong_mount()
        if wrong:
            return wrong
        if at.path.startswith("data/"):
            hint = f"Leave data/ out: vault:{at.server}/{at.mount}/{at.path.removeprefix('data/')}."
            return Broken(
                "there is no such secret, and data/ is added to the path by itself", hint=hint
            )
        hint = f"See what `vault kv get -mount={at.mount} {at.path}` says."
        return Broken(f"there is no secret {at.path!r} in the mount {at.mount!r}", hint=hint)

    def _wrong_mount(self) -> Broken | None:
        """What is wrong with the mount, when the server tells us: it does who may read in it."""
        mount = self._address.mount
        try:
            answer: Any = self._client.adapter.get(f"/v1/sys/internal/ui/mounts/{quote(mount)}")
        except Exception:  # noqa: BLE001 - the answer is only for a better message
            return None
        data = _object(_object(answer).get("data"))
        kind, version = data.get("type"), _object(data.get("options")).get("version", "1")
        if kind is None or (kind == "kv" and version == "2"):
            return None
        if kind in {"kv", "generic"}:
            return _of_version_1(mount)
        return Broken(f"the mount {mount!r} is of type {kind!r}, not a key-value store")


def _of_version_1(mount: str) -> Broken:
    hint = f"Use a mount of version 2, or `vault kv enable-versioning {mount}`."
    return Broken(f"the mount {mount!r} is a key-value store of version 1; 2 is needed", hint=hint)


def _deleted(answer: dict[str, Any]) -> Broken | None:
    """What happened to the latest version, when it is gone: its data is null then."""
    data = _object(answer.get("data"))
    metadata = _object(data.get("metadata"))
    if data.get("data") is not None or "version" not in metadata:
        return None
    hint = "Write the secret again, or undelete the version."
    if metadata.get("destroyed"):
        return Broken(f"the latest version, {metadata['version']}, was destroyed", hint=hint)
    when = words_of(str(metadata.get("deletion_time")), ())
    return Broken(f"the latest version, {metadata['version']}, was deleted at {when}", hint=hint)


def _explain(what: str, error: Exception, secret: str) -> Broken:
    if isinstance(error, exceptions.VaultError):
        said = ", ".join(error.errors or ()) if not isinstance(error.errors, str) else error.errors
        words = words_of(said, [secret])
        is_refused = isinstance(error, _REFUSED)
        verb, kind = ("refused", "refused") if is_refused else ("failed", "unreachable")
        if isinstance(error, exceptions.InvalidPath):
            verb, kind = "found nothing there (404)", "refused"
        why = f"{what} {verb}: {type(error).__name__}{': ' if words else ''}{words}"
        return Broken(why, kind=f"credentials-{kind}")
    if isinstance(error, requests.RequestException):
        inner = getattr(error.args[0], "reason", error) if error.args else error
        words = words_of(f"{type(error).__name__}: {inner}", [secret])
        return Broken(f"{what} failed: {words}", kind="credentials-unreachable")
    return Broken(f"{what} failed with {type(error).__name__}")


def _object(value: object) -> dict[str, Any]:
    """A JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
