"""`vault:URL`: keys in a key-value store, version 2, of HashiCorp Vault or OpenBao."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dispatch.adapters.credentials.fields import wrong_characters
from dispatch.adapters.credentials.outcome import Broken, Outcome, settle
from dispatch.adapters.credentials.quiet import quiet
from dispatch.adapters.credentials.reading import Text, Unread, read_text
from dispatch.adapters.credentials.vault_address import KubernetesLogin

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.adapters.credentials.vault_address import AppRoleLogin, VaultAddress
    from dispatch.adapters.credentials.vault_client import Token, VaultClient
    from dispatch.ports.credentials import Absent, Credentials

_EARLY_S = 10.0  # a token this close to its end is not used: the request takes time, too
_NS = 1e9


class VaultSource:
    """Keys from a Vault, read afresh at each `load`.

    A login's token is used until its end, then there is a new login, with the service account's
    token or the secret id as it is then. A 403 makes one new login, and after that it is an
    error. Proxy and certificates are its own; the environment's, and ``VAULT_…``, aren't used.
    It is never absent: who names a server means it.
    """

    __slots__ = ("_address", "_now_ns", "_token", "_token_ends_at", "name")

    def __init__(self, address: VaultAddress, now_ns: Callable[[], int]) -> None:
        self.name = address.location
        self._address = address
        self._now_ns = now_ns
        self._token: Token | None = None
        self._token_ends_at = 0.0

    def load(self) -> Credentials | Absent:
        return settle(self.name, self._outcome())

    def has_changed(self) -> bool:
        return False

    def _outcome(self) -> Outcome:
        try:
            from dispatch.adapters.credentials.vault_client import VaultClient
        except ImportError:
            hint = "Install the extra vault, in a clone of dispatch: pip install '.[vault]'."
            return Broken("the package hvac isn't installed", hint=hint)
        ca_file = self._address.ca_file
        if ca_file and not os.path.isfile(ca_file):
            return Broken(f"the file of certificates {ca_file!r} does not exist")
        with quiet(), VaultClient(self._address) as client:
            outcome = self._with_token(client)
            return outcome if outcome is not None else self._after_denial(client)

    def _with_token(self, client: VaultClient) -> Outcome | None:
        """What reading gives with the token in hand, or a new one; None when it is denied."""
        token = self._token
        if token is None or self._now_ns() / _NS >= self._token_ends_at - _EARLY_S:
            answer = self._login(client)
            if isinstance(answer, Broken):
                return answer
            token = answer
        return client.read(token)

    def _after_denial(self, client: VaultClient) -> Outcome:
        """One new login: the token may have been revoked, or rights may have been added."""
        answer = self._login(client)
        if isinstance(answer, Broken):
            why = f"reading was denied (403), and so was a new login: {answer.why}"
            return Broken(why, kind=answer.kind, hint=answer.hint)
        outcome = client.read(answer)
        if outcome is None:
            self._token = None
            return client.explain_denial(answer)
        return outcome

    def _login(self, client: VaultClient) -> Token | Broken:
        self._token = None
        secret = _secret_of(self._address.login)
        if isinstance(secret, Unread):
            return Broken(secret.why)
        token = client.login(secret.value)
        if isinstance(token, Broken):
            return token
        self._token = token
        self._token_ends_at = self._now_ns() / _NS + token.life_s
        return token


def _secret_of(login: KubernetesLogin | AppRoleLogin) -> Text | Unread:
    """What proves who we are: read afresh, since it rotates."""
    if isinstance(login, KubernetesLogin):
        what, path = "the service account's token", login.jwt_file
    else:
        what, path = "the secret id", login.secret_id_file
    text = read_text(path)
    if isinstance(text, Unread):
        return Unread(f"{what} {path!r} {text.why}")
    wrong = wrong_characters(text.value) if text.value else "is empty"
    return Unread(f"{what} {path!r} {wrong}") if wrong else text
