"""`env`: the three variables that every tool for S3 reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.credentials.fields import Names, credentials_in
from dispatch.adapters.credentials.outcome import Outcome, settle
from dispatch.ports.credentials import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.ports.credentials import Credentials

NAMES = Names("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


class EnvironmentSource:
    """Keys that the process was started with; they never change. An empty variable is unset."""

    __slots__ = ("_variables", "name")

    def __init__(self, variables: Mapping[str, str], name: str = "env") -> None:
        self.name = name
        self._variables = variables

    def load(self) -> Credentials | Absent:
        return settle(self.name, self._outcome())

    def has_changed(self) -> bool:
        return False

    def _outcome(self) -> Outcome:
        wanted = (NAMES.access_key_id, NAMES.secret_access_key, NAMES.session_token)
        given = {name: self._variables[name] for name in wanted if self._variables.get(name)}
        return credentials_in(given, NAMES) if given else Absent(f"{wanted[0]} is not set")
