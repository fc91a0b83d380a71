"""`rclone serve s3` on loopback: a store that ignores the condition of a PUT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.daemon import Daemon, answers
from tests.servers.ports import free_port
from tests.servers.programs import RCLONE, need
from tests.servers.s3 import OWNER, S3Server


@contextmanager
def run_rclone_s3(folder: Path) -> Iterator[S3Server]:
    """Serve a folder."""
    [rclone] = need(RCLONE)
    (folder / "data").mkdir()
    port = free_port()
    argv: list[str | Path] = [
        rclone, "--config=", "serve", "s3", f"--addr=127.0.0.1:{port}",
        f"--auth-key={OWNER.access_key_id},{OWNER.secret_access_key}", "data",
    ]  # fmt: skip
    daemon = Daemon("rclone", argv, folder)
    try:
        daemon.wait_ready(lambda: answers(port))
        url = f"http://127.0.0.1:{port}"
        yield S3Server("rclone", RCLONE.version(), url, daemons={"rclone": daemon})
    finally:
        daemon.stop()
