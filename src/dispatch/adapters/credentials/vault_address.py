"""`vault:URL` taken apart: which server, which secret, how to log in, which fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from dispatch.adapters.credentials.fields import Names
from dispatch.errors import InvalidInputError
from dispatch.model.loopback import is_loopback
from dispatch.model.proxy import parse_proxy

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_JWT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_ANY = (
    "auth",
    "auth_mount",
    "namespace",
    "proxy",
    "ca",
    "key_field",
    "secret_field",
    "token_field",
)
_OWN = {"kubernetes": ("role", "jwt"), "approle": ("role_id", "secret_id_file")}
_SECRET = {"secret_id": "secret_id_file", "token": "auth", "password": "auth"}
_KNOWN = frozenset({*_ANY, *_OWN["kubernetes"], *_OWN["approle"]})
_NAME_LETTERS_MAX = 16  # of an unknown parameter; a longer one may be a value that lost its name
_HINT = (
    "Write vault:https://HOST:PORT/MOUNT/PATH?auth=kubernetes&role=ROLE, "
    "or ?auth=approle&role_id=ID&secret_id_file=FILE."
)


@dataclass(frozen=True, slots=True)
class KubernetesLogin:
    """By the token of a service account.

    Attributes:
        mount: Where the method is mounted.
        role: The method's role.
        jwt_file: The absolute path of the token.
    """

    mount: str
    role: str
    jwt_file: str


@dataclass(frozen=True, slots=True)
class AppRoleLogin:
    """By a role's id and a secret id.

    Attributes:
        mount: Where the method is mounted.
        role_id: The role's.
        secret_id_file: The absolute path of the secret id.
    """

    mount: str
    role_id: str
    secret_id_file: str


@dataclass(frozen=True, slots=True)
class VaultAddress:
    """Where keys lie in a Vault.

    Attributes:
        server: ``https://HOST:PORT``.
        mount: Where the key-value store is mounted: one path element.
        path: The secret's path in it.
        login: How to get a token.
        fields: What the secret calls its keys; no ``expires_at``.
        is_token_named: Whether the session token's name was given, so that it must be there.
        namespace: For servers that have them.
        proxy: Its own; the store's is another.
        ca_file: The absolute path of PEM certificates to trust instead of the usual ones.
    """

    server: str
    mount: str
    path: str
    login: KubernetesLogin | AppRoleLogin
    fields: Names
    is_token_named: bool = False
    namespace: str | None = None
    proxy: str | None = None
    ca_file: str | None = None

    @property
    def location(self) -> str:
        """The source's name for messages: without the query, which says how to log in."""
        return f"vault:{self.server}/{self.mount}/{self.path}"


def parse_vault_address(url: str) -> VaultAddress:
    """Take ``https://HOST:PORT/MOUNT/PATH?auth=…`` apart.

    Raises:
        InvalidInputError: It is malformed, goes to another machine by plain http, or holds a
            secret. Nothing of the query's values is shown.
    """
    parts = _split(url)
    server, mount, path = _place(parts)
    shown = f"vault:{server}/{mount}/{path}"
    query = _query(parts.query, shown)
    login = _login(query, shown)
    named = query.get("token_field")
    return VaultAddress(
        server,
        mount,
        path,
        login,
        Names(
            query.get("key_field", "access_key_id"),
            query.get("secret_field", "secret_access_key"),
            named or "session_token",
        ),
        is_token_named=named is not None,
        namespace=query.get("namespace"),
        proxy=parse_proxy(query["proxy"], f"{shown}: proxy=") if "proxy" in query else None,
        ca_file=_absolute(query, "ca", shown) if "ca" in query else None,
    )


def _split(url: str) -> SplitResult:
    """The parts of a URL, when it is one.

    Raises:
        InvalidInputError: It isn't. None of it is shown.
    """
    wrong = ""
    if "@" in url.partition("?")[0]:
        wrong = "has a user or a password, which would be shown in lists of processes"
    elif "#" in url:
        wrong = "has a fragment"
    elif not url.isascii() or not url.isprintable() or not _is_url(url):
        wrong = "is not followed by http(s)://HOST[:PORT]/MOUNT/PATH?…"
    if wrong:
        raise InvalidInputError(f"vault: {wrong}", hint=_HINT)
    return urlsplit(url)


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _place(parts: SplitResult) -> tuple[str, str, str]:
    """The server, the mount and the path.

    Raises:
        InvalidInputError: There is no path in a mount, or plain http leaves this machine.
    """
    server = f"{parts.scheme}://{parts.netloc}"
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        message = f"vault:{server} is plain http to another machine"
        raise InvalidInputError(message, hint="Use https: keys and logins are sent there.")
    elements = parts.path.removeprefix("/").removesuffix("/").split("/")
    mount, *path = map(unquote, elements)
    if not path or any(e in {"", ".", ".."} or "/" in e for e in (mount, *path)):
        message = f"vault:{server}{parts.path} does not name a mount and a path in it"
        raise InvalidInputError(message, hint=_HINT)
    return server, mount, "/".join(path)


def _query(text: str, shown: str) -> dict[str, str]:
    """The query's parameters, each known and given once.

    Raises:
        InvalidInputError: One is unknown, repeated, empty, or would hold a secret.
    """
    found: dict[str, str] = {}
    for part in filter(None, text.split("&")):
        name, equals, value = part.partition("=")
        wrong = ""
        if name in _SECRET:
            wrong = f"has {name}=, but no secret is taken from here; use {_SECRET[name]}="
        elif name not in _KNOWN:
            is_name = equals and name.isidentifier() and len(name) <= _NAME_LETTERS_MAX
            wrong = f"has a parameter that is not known{f': {name}' if is_name else ''}"
        elif name in found or not value:
            wrong = f"has {name}= {'twice' if name in found else 'without a value'}"
        if wrong:
            raise InvalidInputError(f"{shown} {wrong}", hint=_HINT)
        found[name] = unquote(value)
    return found


def _login(query: dict[str, str], shown: str) -> KubernetesLogin | AppRoleLogin:
    """How to log in.

    Raises:
        InvalidInputError: A parameter is missing, or is another method's.
    """
    method = query.get("auth", "")
    own = _OWN.get(method, ())
    foreign = sorted(query.keys() - {*_ANY, *own})
    wrong = ""
    if not own:
        wrong = f"has no auth= of {' or '.join(_OWN)}"
    elif foreign:
        wrong = f"has {foreign[0]}=, which auth={method} doesn't take"
    elif own[0] not in query:
        wrong = f"has no {own[0]}=, which auth={method} needs"
    if wrong:
        raise InvalidInputError(f"{shown} {wrong}", hint=_HINT)
    mount = query.get("auth_mount", method).strip("/")
    if method == "kubernetes":
        jwt_file = _absolute(query, "jwt", shown) if "jwt" in query else _JWT
        return KubernetesLogin(mount, query["role"], jwt_file)
    return AppRoleLogin(mount, query["role_id"], _absolute(query, "secret_id_file", shown))


def _absolute(query: dict[str, str], name: str, shown: str) -> str:
    """A parameter that is an absolute path: anything else may be the secret itself.

    Raises:
        InvalidInputError: It isn't, or isn't given. It is not shown.
    """
    if not query.get(name, "").startswith("/"):
        message = f"{shown} has no {name}= that is the absolute path of a file"
        raise InvalidInputError(message, hint=_HINT)
    return query[name]
