"""What came of asking a source, as a value, so that no secret is near when an error is raised.

A traceback can show the variables of every frame that an error passed, and what it was raised
from. So a source works out a value in one function and raises, if need be, in another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS_MAX = 200  # characters of a server's own words that a message repeats
_PIECE_MIN = 8  # characters: a shorter piece of a secret gives nothing away, and may be a word


@dataclass(frozen=True, slots=True)
class Broken:
    """A source that is there and gives no keys.

    Attributes:
        why: What is wrong, for a message that begins with the source's name.
        kind: One of the error tree's.
        hint: One sentence with the cure, or nothing.
    """

    why: str
    kind: str = "credentials-malformed"
    hint: str = ""


Outcome = Credentials | Absent | Broken


def settle(name: str, outcome: Outcome) -> Credentials | Absent:
    """The outcome, when it isn't `Broken`.

    Raises:
        CredentialsError: It is. The error names the source, and has no cause and no context.
    """
    if isinstance(outcome, Broken):
        raise CredentialsError(f"{name}: {outcome.why}", kind=outcome.kind, hint=outcome.hint)
    return outcome


def words_of(text: str, secrets: Iterable[str]) -> str:
    """A server's words, fit for a message: one line, not long, without what it echoed of secrets.

    A secret's pieces between dots are secrets too (a token's parts).
    """
    pieces = {
        piece
        for secret in secrets
        for piece in (secret, *secret.split("."))
        if len(piece) >= _PIECE_MIN
    }
    for piece in sorted(pieces, key=len, reverse=True):
        text = text.replace(piece, "…")
    line = " ".join(text.split())
    line = "".join(character for character in line if character.isprintable())
    return line if len(line) <= _WORDS_MAX else line[:_WORDS_MAX] + "…"
