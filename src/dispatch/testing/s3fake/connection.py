"""The HTTP of the fake: one thread for each connection, and answers that may not arrive."""

from __future__ import annotations

import os
import socket
import struct
import sys
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event
from typing import TYPE_CHECKING, Any

from dispatch.testing.s3fake.faults import Drip, LoseReply

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from dispatch.testing.s3fake.faults import Delivery

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)  # linger for 0 s: the connection is reset
_WITHOUT_BODY = frozenset({"DELETE", "GET", "HEAD"})  # unless they say that there is one
_CLOSE_S_MAX = 5.0  # for connections to end after `close`: a script's action may be waiting


@dataclass(frozen=True, slots=True)
class Message:
    """A request of HTTP, all of it.

    Attributes:
        method: In upper case.
        target: As it was sent: a path with a query, or a whole URL from a client that takes us
            for its proxy.
        headers: By lower-case name; several of one name are joined by commas.
        body: None when its length wasn't told.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What to do with the connection.

    Attributes:
        data: What to send; None to reset the connection.
        delivery: How, when not at once.
        closes: Whether the connection ends with it.
    """

    data: bytes | None
    delivery: Delivery | None = None
    closes: bool = False


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Every method of HTTP comes here: what isn't S3's is an unexpected call."""
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            lower = name.lower()
            headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
        length = headers.get("content-length", "0" if self.command in _WITHOUT_BODY else "")
        body = None
        if "chunked" in headers.get("transfer-encoding", ""):
            self._skip_chunks()
        elif length.isdecimal():
            body = self.rfile.read(int(length))
        reply = self.server.respond(Message(self.command, self.path, headers, body))
        self.close_connection = self.close_connection or reply.closes
        try:
            self._deliver(reply)
        except OSError:  # the client has gone, or the fake is being closed
            self.close_connection = True

    def _skip_chunks(self) -> None:
        while size := int(self.rfile.readline().partition(b";")[0] or b"0", 16):
            self.rfile.read(size + len(b"\r\n"))
        while self.rfile.readline().strip():
            pass  # a trailer

    def _deliver(self, reply: Reply) -> None:
        if reply.data is None:
            self.close_connection = True
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            os.close(self.connection.detach())
            return
        match reply.delivery:
            case LoseReply(bytes_sent):
                self.close_connection = True
                self.wfile.write(reply.data[:bytes_sent])
            case Drip(pause_s, piece_bytes):
                for start in range(0, len(reply.data), piece_bytes):
                    self.wfile.write(reply.data[start : start + piece_bytes])
                    if self.server.closing.wait(pause_s):
                        return
            case None:
                self.wfile.write(reply.data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as its parent has it
        """Say nothing: every request is recorded."""


class Server(ThreadingHTTPServer):
    """A server on a free loopback port.

    Args:
        respond: What answers each request, on the connection's own thread.
        report: What is told of an error in that.
        tls: To speak TLS; the handshake happens on the connection's own thread.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # more than connect at once in any test

    def __init__(
        self,
        respond: Callable[[Message], Reply],
        report: Callable[[BaseException], None],
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond
        self.closing = Event()
        self._report = report
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._changed = Condition()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection, and remember it to close it at the end."""
        accepted, address = super().get_request()
        if self._tls is not None:
            accepted = self._tls.wrap_socket(
                accepted, server_side=True, do_handshake_on_connect=False
            )
        with self._changed:
            self._open.add(accepted)
        return accepted, address

    def close_request(self, request: Any) -> None:  # noqa: ANN401 - as its parent has it
        """Close a connection."""
        super().close_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - as its parent has it
        """Report what a handler raised, but for clients that went away."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self._report(error)

    def close(self) -> None:
        """End `serve_forever` and every connection."""
        self.closing.set()
        self.shutdown()
        with self._changed:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: not self._open, _CLOSE_S_MAX)
