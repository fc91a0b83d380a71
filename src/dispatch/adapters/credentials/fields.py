"""From the texts that a place holds to credentials, or to what is wrong with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dispatch.adapters.credentials.outcome import Broken
from dispatch.ports.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS_MAX = 1e11  # the year 5138: more is milliseconds


@dataclass(frozen=True, slots=True)
class Names:
    """What a place calls each of them; None for what it never has."""

    access_key_id: str
    secret_access_key: str
    session_token: str
    expires_at: str | None = None


def credentials_in(values: Mapping[str, object], names: Names) -> Credentials | Broken:
    """The credentials among ``values``. What is there besides is not looked at.

    A key or token of nothing but visible ASCII is required: with a line break at its end, which
    is easily made, it would end up in the message of an invalid header.
    """
    required = (names.access_key_id, names.secret_access_key)
    optional = names.session_token
    for name in (*required, optional):
        value = values.get(name)
        if name == optional and (value is None or value == ""):
            continue
        wrong = _wrong(value)
        if wrong:
            return Broken(f"{name} {wrong}")
    expires_at = _moment(values, names.expires_at)
    if isinstance(expires_at, Broken):
        return expires_at
    access_key_id, secret_access_key = (str(values[name]) for name in required)
    session_token = values.get(optional)
    return Credentials(
        access_key_id, secret_access_key, str(session_token) if session_token else None, expires_at
    )


def _wrong(value: object) -> str:
    """What is wrong with a key, without showing it."""
    if value is None:
        return "is missing"
    if not isinstance(value, str):
        return f"is not text but of type {type(value).__name__}"
    if not value:
        return "is empty"
    return wrong_characters(value)


def wrong_characters(value: str) -> str:
    """What is wrong with the characters of a secret, or nothing."""
    if not (value.isascii() and value.isprintable()) or " " in value:
        return "has a space, a line break or another character that no key has"
    return ""


def _moment(values: Mapping[str, object], name: str | None) -> float | Broken | None:
    """Seconds since 1970, from a number of them or from an ISO 8601 time with its zone."""
    value = values.get(name) if name else None
    if value is None:
        return None
    seconds = _seconds(value)
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds < _SECONDS_MAX:
        hint = "Write 2027-01-31T18:00:00Z, or seconds since 1970."
        return Broken(f"{name} is not a time with a zone, and not seconds since 1970", hint=hint)
    return seconds


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            return float(value)
        if not isinstance(value, str):
            return None
        if value.isascii() and value.isdigit():
            return float(value)
        moment = datetime.fromisoformat(value)
    except (OverflowError, ValueError):
        return None
    return None if moment.tzinfo is None else moment.timestamp()
