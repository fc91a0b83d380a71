"""Whether a host is this machine itself: plain http goes nowhere else unasked."""

from __future__ import annotations

_BYTE_MAX = 255
_PARTS_OF_IPV4 = 4


def is_loopback(host: str) -> bool:
    """Whether ``host`` is ``localhost``, 127.0.0.0/8 or ::1, as it is spelled.

    No name is looked up: what a resolver says can change, and a name other than ``localhost``
    can lead anywhere. Brackets around an IPv6 address are allowed.
    """
    name = host.lower().removeprefix("[").removesuffix("]")
    if name in {"localhost", "::1"}:
        return True
    parts = name.split(".")
    return len(parts) == _PARTS_OF_IPV4 and parts[0] == "127" and all(map(_is_byte, parts))


def _is_byte(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len("255") and int(text) <= _BYTE_MAX
