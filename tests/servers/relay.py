"""A relay on loopback before a server: it sees each request go by, and a test may act then."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

See = Callable[[bytes], object]
_PIECE_BYTES = 65_536


class _Relay:
    def __init__(self, url: str, before: See) -> None:
        server = urlsplit(url)
        self._address = (server.hostname or "", server.port or 0)
        self._before = before
        self._opened: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.url = f"http://{host}:{port}"

    def serve(self) -> None:
        """Relay until `close`."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                upstream = socket.create_connection(self._address)
                self._opened += [client, upstream]
                for way in ((client, upstream, self._before), (upstream, client, len)):
                    threading.Thread(target=_pump, args=way, daemon=True).start()

    def close(self) -> None:
        """End `serve` and every connection."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._opened:
            end.close()


def _pump(source: socket.socket, target: socket.socket, see: See) -> None:
    with suppress(OSError):  # one side has gone
        while piece := source.recv(_PIECE_BYTES):
            see(piece)
            target.sendall(piece)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def run_relay(url: str, before: See) -> Iterator[str]:
    """Relay to ``url``, an address of plain http; yield the relay's own.

    ``before`` is called with each piece that a client sent, before the server gets it. A request
    without a body is one piece.
    """
    relay = _Relay(url, before)
    thread = threading.Thread(target=relay.serve, name="relay", daemon=True)
    thread.start()
    try:
        yield relay.url
    finally:
        relay.close()
        thread.join()
