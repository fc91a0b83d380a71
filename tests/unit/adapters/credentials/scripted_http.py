"""A server on loopback that answers as a test says, and remembers what it was asked."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Asked:
    """One request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What to say: a status, a body (text as it is, anything else as JSON), headers."""

    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


Script = Answer | list[Answer] | Callable[[Asked], Answer]


class ScriptedServer:
    """Answers for "METHOD /path": always the same, one after the other, or what a function says.

    What isn't in the script gets a 404, and is remembered like the rest.
    """

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.script: dict[str, Script] = {}
        self.asked: list[Asked] = []

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        script = self.script.get(f"{asked.method} {urlsplit(asked.path).path}", Answer(404, "{}"))
        if isinstance(script, list):
            return script.pop(0) if len(script) > 1 else script[0]
        return script if isinstance(script, Answer) else script(asked)

    def lines(self) -> list[str]:
        """What was asked: methods and paths."""
        return [f"{asked.method} {asked.path}" for asked in self.asked]


@contextmanager
def scripted_server(*, closes_unasked: bool = False) -> Iterator[ScriptedServer]:
    """Run one; at wish it says that connections live on, and answers one request on each."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if closes_unasked else "HTTP/1.0"
        is_used = False

        def answer(self) -> None:
            if self.is_used:
                self.close_connection = True
                return
            self.is_used = closes_unasked
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = scripted.answer(Asked(self.command, self.path, headers, body))
            content = answer.content()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if "Content-Type" not in answer.headers:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = answer  # noqa: N815 - http.server chooses these names
        do_PUT = answer  # noqa: N815
        do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing: `asked` has it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scripted = ScriptedServer(server)
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def silent_server() -> Iterator[str]:
    """Yield the address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def closed_port() -> int:
    """Return a port that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
