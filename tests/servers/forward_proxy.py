"""A real forward proxy on loopback, for CONNECT and for plain requests: tinyproxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.daemon import Daemon, answers
from tests.servers.ports import free_port
from tests.servers.programs import TINYPROXY, need

_CONFIG = """
Listen 127.0.0.1
Port {port}
Allow 127.0.0.1
Timeout 120
MaxClients 100
LogLevel Connect
DisableViaHeader Yes
"""
_REQUEST = re.compile(r"Request \(file descriptor \d+\): (CONNECT \S+|[A-Z]+ https?://\S+)")


@dataclass(frozen=True, slots=True)
class ForwardProxy:
    """A running proxy.

    Attributes:
        version: As its program prints it.
        url: What a client is told.
        daemons: Its process.
    """

    version: str
    url: str
    daemons: dict[str, Daemon]

    def requests(self) -> list[str]:
        """What came so far: ``CONNECT HOST:PORT``, or a method and a whole URL."""
        log = self.daemons["tinyproxy"].log.read_text(encoding="utf-8", errors="replace")
        return _REQUEST.findall(log)


@contextmanager
def run_forward_proxy(folder: Path) -> Iterator[ForwardProxy]:
    """Run it."""
    [tinyproxy] = need(TINYPROXY)
    port = free_port()
    config = folder / "tinyproxy.conf"
    config.write_text(_CONFIG.format(port=port), encoding="utf-8")
    daemon = Daemon("tinyproxy", [tinyproxy, "-d", "-c", config], folder)
    try:
        daemon.wait_ready(lambda: answers(port))
        yield ForwardProxy(TINYPROXY.version(), f"http://127.0.0.1:{port}", {"tinyproxy": daemon})
    finally:
        daemon.stop()
