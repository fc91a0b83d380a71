"""A proxy on loopback before a server, which does one request wrong, by script."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

_PIECE_BYTES = 65_536
_HEAD_END = b"\r\n\r\n"
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: what closes so is reset


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request on its way.

    Attributes:
        client: Who waits for the answer.
        request: All that it sent, head and body.
        server: The address of the real server.
    """

    client: socket.socket
    request: bytes
    server: tuple[str, int]

    def forward(self) -> bytes:
        """Ask the server; return its whole answer."""
        with socket.create_connection(self.server) as upstream:
            upstream.sendall(self.request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            return b"".join(iter(lambda: upstream.recv(_PIECE_BYTES), b""))


Fault = Callable[[Exchange], object]


def pass_on(exchange: Exchange) -> None:
    """Do nothing wrong."""
    exchange.client.sendall(exchange.forward())


def lose_reply(exchange: Exchange) -> None:
    """Let the request have its effect, and close without the answer."""
    exchange.forward()


def reset(exchange: Exchange) -> None:
    """Reset the connection; the server hears nothing of the request."""
    exchange.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    exchange.client.close()


def drip(exchange: Exchange) -> None:
    """Give the answer byte by byte."""
    exchange.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answer = exchange.forward()
    for at in range(len(answer)):
        exchange.client.sendall(answer[at : at + 1])
        time.sleep(0.001)


def delay(exchange: Exchange) -> None:
    """Let the request wait before the server gets it."""
    time.sleep(0.5)
    pass_on(exchange)


def refuse(status: int, code: str) -> Fault:
    """Answer with an error of S3's; the server hears nothing of the request."""

    def answer(exchange: Exchange) -> None:
        body = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code></Error>"
        lines = (
            f"HTTP/1.1 {status} Refused",
            "Content-Type: application/xml",
            f"Content-Length: {len(body)}",
            "Connection: close",
        )
        exchange.client.sendall("\r\n".join((*lines, "", body)).encode())

    return answer


@dataclass(slots=True)
class FaultyProxy:
    """A proxy, and what it saw.

    Attributes:
        url: Its own.
        lines: The first line of each request, in order.
    """

    url: str
    lines: list[bytes] = field(default_factory=list)
    _script: list[tuple[Fault, Callable[[bytes], bool]]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, fault: Fault, is_meant: Callable[[bytes], bool]) -> None:
        """Do ``fault`` to the next request whose first line is meant, and to no other."""
        self._script.append((fault, is_meant))

    def remaining(self) -> int:
        """How many faults wait for their request."""
        return len(self._script)

    def count(self, is_meant: Callable[[bytes], bool]) -> int:
        """How many requests so far are meant."""
        return sum(map(is_meant, self.lines))

    def fault_for(self, line: bytes) -> Fault:
        """Take what the script has for a request, by its first line."""
        with self._lock:
            self.lines.append(line)
            for index, (fault, is_meant) in enumerate(self._script):
                if is_meant(line):
                    del self._script[index]
                    return fault
        return pass_on


def _read(client: socket.socket) -> bytes:
    """Read one request, which says how long it is; ask for its body where that waits."""
    read = b""
    while _HEAD_END not in read:
        if not (piece := client.recv(_PIECE_BYTES)):
            raise ConnectionResetError
        read += piece
    head, _, body = read.partition(_HEAD_END)
    first, *lines = head.split(b"\r\n")
    headers = {name.lower(): (name, value) for name, _, value in (x.partition(b":") for x in lines)}
    if headers.pop(b"expect", None):  # nobody signs it
        client.sendall(b"HTTP/1.1 100 Continue" + _HEAD_END)
    size = int(headers.get(b"content-length", (b"", b"0"))[1])
    while len(body) < size:
        if not (piece := client.recv(_PIECE_BYTES)):
            raise ConnectionResetError
        body += piece
    return b"\r\n".join((first, *map(b":".join, headers.values()), b"", body))


@contextmanager
def run_faulty_proxy(url: str) -> Iterator[FaultyProxy]:
    """Run one before ``url``, an address of plain http. Each request has its own connection."""
    parts = urlsplit(url)
    server = (parts.hostname or "", parts.port or 0)

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # one side has gone
                request = _read(self.request)
                fault = proxy.fault_for(request.partition(b"\r\n")[0])
                fault(Exchange(self.request, request, server))

    class Listener(ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 64

    with Listener(("127.0.0.1", 0), Handler) as listener:
        proxy = FaultyProxy(f"http://127.0.0.1:{listener.server_address[1]}")
        thread = threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            listener.shutdown()
            thread.join()
