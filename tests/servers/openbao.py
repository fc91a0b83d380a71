"""A real OpenBao server on loopback, in memory: what a Vault source of credentials talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.daemon import Daemon, answers
from tests.servers.ports import free_port
from tests.servers.programs import OPENBAO, need

ROOT_TOKEN = "root-token-of-the-tests"


@dataclass(frozen=True, slots=True)
class OpenBao:
    """A running server, with a version 2 key-value store mounted at ``secret``.

    Attributes:
        version: As its program prints it.
        url: Where it listens, without a slash at the end.
        root_token: Whoever has it may do everything.
        daemons: Its process.
    """

    version: str
    url: str
    root_token: str
    daemons: dict[str, Daemon]


@contextmanager
def run_openbao(folder: Path) -> Iterator[OpenBao]:
    """Run it."""
    [bao] = need(OPENBAO)
    port = free_port()
    argv: list[str | Path] = [
        bao, "server", "-dev", f"-dev-root-token-id={ROOT_TOKEN}", "-dev-no-store-token",
        f"-dev-listen-address=127.0.0.1:{port}", "-log-level=info",
    ]  # fmt: skip
    daemon = Daemon("bao", argv, folder)
    try:
        daemon.wait_ready(lambda: answers(port, "/v1/sys/health", status=200))
        url = f"http://127.0.0.1:{port}"
        yield OpenBao(OPENBAO.version(), url, ROOT_TOKEN, {"bao": daemon})
    finally:
        daemon.stop()
