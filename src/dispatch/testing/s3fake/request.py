"""One request as it came, and which operation of S3 it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

OPERATIONS = (
    "PutObject",
    "GetObject",
    "HeadObject",
    "DeleteObject",
    "DeleteObjects",
    "ListObjectsV2",
)
"""What the fake can do; anything else is an unexpected call."""

_ON_A_KEY = {
    "PUT": "PutObject",
    "GET": "GetObject",
    "HEAD": "HeadObject",
    "DELETE": "DeleteObject",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        number: Counted from 1, in the order in which they came.
        method: Of HTTP, in upper case.
        bucket: Its name; empty when the request names none.
        key: The key, decoded; empty when the request names none.
        query: The parameters, decoded.
        headers: By lower-case name; several of one name are joined by commas. They hold the
            session token, so they are not shown.
        body: All of it.
        path: As it was sent, still encoded, without the query.
        operation: One of `OPERATIONS`, or empty for anything else.
    """

    number: int
    method: str
    bucket: str
    key: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    path: str = field(repr=False)
    operation: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operation", self._operation())

    def _operation(self) -> str:
        sub_resources = self.query.keys() - {"x-id"}  # some clients repeat the operation's name
        if not self.bucket:
            return ""
        if self.key:
            return "" if sub_resources else _ON_A_KEY.get(self.method, "")
        if self.method == "GET" and self.query.get("list-type") == "2":
            return "ListObjectsV2"
        if self.method == "POST" and sub_resources == {"delete"}:
            return "DeleteObjects"
        return ""

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        return f"{self.method} {self.path}{'?' if query else ''}{query}"


def split_target(target: str) -> tuple[str, str, str]:
    """The host (empty unless a client took us for its proxy), the path and the query."""
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return "", path, query
    parts = urlsplit(target)
    return parts.netloc, parts.path or "/", parts.query


def parse_query(query: str) -> dict[str, str]:
    """The parameters; of one that is repeated, the last.

    Raises:
        UnicodeDecodeError: One is not UTF-8.
    """
    pairs = (item.partition("=") for item in query.split("&") if item)
    return {_decode(name): _decode(value) for name, _, value in pairs}


def find_bucket(host: str, path: str, domain: str) -> tuple[str, str]:
    """The bucket and the key, from the host's name or from the path.

    Raises:
        UnicodeDecodeError: The key is not UTF-8.
    """
    name = host.partition(":")[0].lower()
    virtual = name.removesuffix(f".{domain}")
    if virtual != name:
        return virtual, _decode(path[1:])
    bucket, _, key = path[1:].partition("/")
    return _decode(bucket), _decode(key)


def _decode(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8")
