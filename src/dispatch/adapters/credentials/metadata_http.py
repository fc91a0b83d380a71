"""One small request to a metadata service: no proxy, no redirect, no retry, nothing logged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BYTES_MAX = 65_536  # an answer has some 1,500
_LEAST_S = 0.001  # a socket's time-out of 0 would mean not to wait at all


@dataclass(frozen=True, slots=True)
class Reply:
    """What the service said.

    Attributes:
        status: HTTP's.
        text: The body; it may be a secret.
    """

    status: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Silence:
    """No service, or no answer in time.

    Attributes:
        why: In the system's words.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask.

    Attributes:
        method: GET or PUT.
        url: All of it.
        headers: They may hold a token.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def ask(request: Request, time_out_s: float, monotonic: Callable[[], float]) -> Reply | Silence:
    """Send one request and read its answer, both within ``time_out_s`` seconds."""
    end = monotonic() + time_out_s
    connection: HTTPConnection | None = None
    try:
        parts = urlsplit(request.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=time_out_s)
        connection.connect()
        connection.sock.settimeout(max(end - monotonic(), _LEAST_S))
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.request(request.method, target, headers=dict(request.headers))
        response = connection.getresponse()
        content = response.read(_BYTES_MAX)
        return Reply(response.status, content.decode("utf-8", "replace"))
    except TimeoutError:
        return Silence(f"no answer within {time_out_s:g} s")
    except OSError as error:
        return Silence(error.strerror or type(error).__name__)
    except (HTTPException, ValueError) as error:
        return Silence(type(error).__name__)  # its text may quote a header
    finally:
        if connection is not None:
            connection.close()


def object_in(reply: Reply) -> dict[str, object] | None:
    """The JSON object that is the body; None when it is anything else."""
    try:
        document = json.loads(reply.text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", document) if isinstance(document, dict) else None
