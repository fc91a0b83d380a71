"""A proxy is one URL: the store's ``-proxy``, a Vault source's ``proxy=``."""

from __future__ import annotations

from dispatch.errors import InvalidInputError

_SCHEMES = ("http", "https")
_PORT_MAX = 65_535
_HINT = "A proxy is http://HOST:PORT or https://HOST:PORT, and nothing more."
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OF_A_NAME = frozenset(f"{_LETTERS}{_LETTERS.upper()}0123456789.-_")
_OF_AN_IPV6_ADDRESS = frozenset("0123456789abcdefABCDEF:.")


def parse_proxy(text: str, shown: str) -> str:
    """The proxy that ``text`` names, as ``scheme://host`` or ``scheme://host:port``.

    Environment variables such as ``HTTP_PROXY`` are never read: a proxy is named, or there is none.

    Args:
        text: One URL of scheme (http or https), host, optional port, and at most a final slash.
        shown: Where it was written, for messages, such as ``-proxy``.

    Raises:
        InvalidInputError: It is anything else. The message says what is wrong; a user or
            password, and what may hold one, is not shown.
    """
    scheme, separator, rest = text.partition("://")
    authority = rest.removesuffix("/")
    wrong = (
        _wrong_as_a_whole(text)
        or _wrong_scheme(scheme, separator)
        or _wrong_after_the_port(rest)
        or _wrong_host_or_port(authority)
    )
    if wrong:
        raise InvalidInputError(f"{shown} {wrong}", hint=_HINT)
    return f"{scheme.lower()}://{authority}"


def _wrong_as_a_whole(text: str) -> str:
    if not text:
        return "is empty"
    if "@" in text:
        return "has a user or a password, which would be shown in lists of processes"
    if not text.isascii() or not text.isprintable() or " " in text:
        return f"{text!r} has a character that no URL has"
    return ""


def _wrong_scheme(scheme: str, separator: str) -> str:
    if not separator:
        return "has no scheme"
    if scheme.lower() not in _SCHEMES:
        return f"has the scheme {scheme!r}, not http or https"
    return ""


def _wrong_after_the_port(rest: str) -> str:
    """A query may hold a secret, so that nothing of it is shown."""
    for mark, what in (("#", "a fragment"), ("?", "a query")):
        if mark in rest:
            return f"has {what}"
    path = rest.partition("/")[2]
    return "has a path" if path else ""


def _wrong_host_or_port(authority: str) -> str:
    if authority.startswith("["):
        host, bracket, after = authority[1:].partition("]")
        is_host = bool(bracket) and ":" in host and set(host) <= _OF_AN_IPV6_ADDRESS
        colon, port = after[:1], after[1:]
        is_host = is_host and colon in {"", ":"}
    else:
        host, colon, port = authority.partition(":")
        is_host = set(host) <= _OF_A_NAME
    if not host:
        return "has no host"
    if not is_host:
        return f"has a host that is no name and no address: {authority!r}"
    digits = port.isascii() and port.isdigit() and len(port) <= len(str(_PORT_MAX))
    if colon and not (digits and 0 < int(port) <= _PORT_MAX):
        return f"has a port that is not one of 1 to {_PORT_MAX}"  # it may be a mistyped password
    return ""
