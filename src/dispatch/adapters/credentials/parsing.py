"""`-creds "SOURCE SOURCE …"`: an ordered list of places that keys can come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.adapters.credentials.vault_address import VaultAddress, parse_vault_address
from dispatch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMS = "env, file:PATH, profile[:NAME], web-identity, instance, vault:URL"


@dataclass(frozen=True, slots=True)
class Environment:
    """The source ``env``."""


@dataclass(frozen=True, slots=True)
class File:
    """The source ``file:PATH``."""

    path: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The source ``profile:NAME``; without a name it is the one that is in force."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class WebIdentity:
    """The source ``web-identity``."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The source ``instance``."""


@dataclass(frozen=True, slots=True)
class Vault:
    """The source ``vault:URL``."""

    address: VaultAddress


Place = Environment | File | Profile | WebIdentity | Instance | Vault

DEFAULT: tuple[Place, ...] = (Environment(), Profile(), WebIdentity(), Instance())
"""What is tried without ``-creds``, in this order."""

_PLAIN: dict[str, Place] = {
    "env": Environment(),
    "profile": Profile(),
    "web-identity": WebIdentity(),
    "instance": Instance(),
}


def parse_places(texts: Sequence[str]) -> tuple[Place, ...]:
    """The sources that the values of ``-creds`` name, in order; the default ones for no value.

    Args:
        texts: One text for each time the flag was given. In each, sources are separated by
            spaces; ``%20`` is a space in a source.

    Raises:
        InvalidInputError: A source is not known or malformed, or there is none. No secret is
            shown, also when one was given by mistake.
    """
    if not texts:
        return DEFAULT
    spelled = [part for text in texts for part in text.split(" ") if part]
    if not spelled:
        raise InvalidInputError("-creds names no source", hint=f"The sources are: {_FORMS}.")
    return tuple(map(_parse_place, spelled))


def _parse_place(spelled: str) -> Place:
    """One source.

    Raises:
        InvalidInputError: It is not known, or malformed.
    """
    kind, colon, rest = spelled.replace("%20", " ").partition(":")
    if not spelled.isprintable():
        raise InvalidInputError(f"-creds: {_shown(kind)} has a character that can't be printed")
    if not colon and kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "vault":
        return Vault(parse_vault_address(rest))
    if kind == "file" and rest:
        return File(rest)
    if kind == "profile" and rest:
        return Profile(rest)
    if kind in {*_PLAIN, "file"}:
        wrong = "names nothing after its colon" if colon and not rest else "is not written so"
        raise InvalidInputError(f"-creds: {kind} {wrong}", hint=f"The sources are: {_FORMS}.")
    message = f"-creds: {_shown(kind)} is not a source"
    raise InvalidInputError(message, hint=f"The sources are: {_FORMS}.")


def _shown(kind: str) -> str:
    """A misspelled source's first letters: it may be a key that was put there by mistake."""
    letters = kind[:_LETTERS_SHOWN]
    return repr(letters + "…" if len(kind) > len(letters) else letters)


_LETTERS_SHOWN = 12  # as many as the longest source's name has
