"""What goes back to a client: an answer of S3, or one of its refusals, in S3's own words."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

_NONE: Mapping[str, str] = MappingProxyType({})
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

Node = tuple[str, "str | list[Node]"]
"""An XML element: its name, and its text or its children."""

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        status: Of HTTP.
        headers: Those of this answer; Date, Content-Length and the like are added.
        body: What follows them, unless the request was a HEAD.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def encode(self, common: Mapping[str, str], *, head_only: bool = False) -> bytes:
        """The bytes of the answer; ``common`` are the headers that each one has."""
        lines = [f"HTTP/1.1 {self.status} {_phrase(self.status)}"]
        headers = {**common, **self.headers}
        if self.status not in _BODILESS:
            headers.setdefault("Content-Length", str(len(self.body)))
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        return head if head_only or self.status in _BODILESS else head + self.body


class RefusalError(Exception):
    """S3 refuses a request, with a status, a code, and what the code's body tells besides."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str = "",
        *,
        details: Mapping[str, str] = _NONE,
        headers: Mapping[str, str] = _NONE,
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers

    def answer(self, resource: str, request_id: str) -> Answer:
        """The answer that tells it."""
        told = {"Code": self.code, "Message": self.message, **self.details}
        told |= {"Resource": resource, "RequestId": request_id, "HostId": "s3fake"}
        headers = {"Content-Type": "application/xml", **self.headers}
        return Answer(self.status, headers, document("Error", list(told.items()), namespace=False))


class UnexpectedCallError(Exception):
    """A call that the fake is not made for: a mistake in what is being tested."""


@dataclass(slots=True)
class _Writer:
    parts: list[str] = field(default_factory=list)

    def write(self, node: Node) -> None:
        name, content = node
        self.parts.append(f"<{name}>")
        if isinstance(content, str):
            self.parts.append(_text(content))
        else:
            for child in content:
                self.write(child)
        self.parts.append(f"</{name}>")


def document(root: str, children: list[Node], *, namespace: bool = True) -> bytes:
    """An XML document, as S3 writes them."""
    writer = _Writer()
    for child in children:
        writer.write(child)
    start = f'{root} xmlns="{NAMESPACE}"' if namespace else root
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<{start}>{"".join(writer.parts)}</{root}>'
    return body.encode("utf-8")


def _text(text: str) -> str:
    """Escaped. What XML can't hold becomes a reference all the same, which no parser takes.

    S3 does so too: that is what ``encoding-type=url`` is for.
    """
    escaped = escape(text, {'"': "&quot;"})
    return "".join(c if c >= " " else f"&#x{ord(c):x};" for c in escaped)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
