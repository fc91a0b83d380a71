"""`web-identity`: a token in a file, for temporary keys from a security token service (STS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.credentials.fields import Names, credentials_in, wrong_characters
from dispatch.adapters.credentials.outcome import Broken, Outcome, settle
from dispatch.adapters.credentials.reading import Unread, read_text
from dispatch.ports.credentials import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.adapters.credentials.surroundings import Surroundings
    from dispatch.ports.credentials import Credentials

TOKEN_FILE = "AWS_WEB_IDENTITY_TOKEN_FILE"  # noqa: S105 - a variable's name
ROLE = "AWS_ROLE_ARN"
_NAMES = Names("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")


class WebIdentitySource:
    """Temporary keys for a service account; its token is read afresh at each renewal.

    The service is the one of ``AWS_ENDPOINT_URL_STS``, else of ``AWS_ENDPOINT_URL``, else AWS's.
    It is reached through the store's proxy, and trusted by the store's certificates.
    """

    __slots__ = ("_around", "name")

    def __init__(self, around: Surroundings) -> None:
        self.name = "web-identity"
        self._around = around

    def load(self) -> Credentials | Absent:
        return settle(self.name, self._outcome())

    def has_changed(self) -> bool:
        return False

    def _outcome(self) -> Outcome:
        variables = self._around.variables
        path, role = variables.get(TOKEN_FILE), variables.get(ROLE)
        if not path:
            return Absent(f"{TOKEN_FILE} is not set")
        if not role:
            return Broken(f"{TOKEN_FILE} is set, but {ROLE} is not")
        text = read_text(path)
        if isinstance(text, Unread):
            return Broken(f"{TOKEN_FILE} {path!r} {text.why}")
        wrong = wrong_characters(text.value) or ("is empty" if not text.value else "")
        if wrong:
            return Broken(f"{TOKEN_FILE} {path!r} {wrong}")
        return self._exchange(text.value, role, variables)

    def _exchange(self, token: str, role: str, variables: Mapping[str, str]) -> Outcome:
        from dispatch.adapters.credentials import aws

        who = variables.get("AWS_ROLE_SESSION_NAME") or "dispatch"
        answer = aws.assume_role_with_web_identity(self._around, role, who, token)
        return answer if isinstance(answer, Broken) else credentials_in(answer, _NAMES)
