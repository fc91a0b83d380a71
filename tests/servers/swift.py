"""OpenStack Swift's s3api on loopback: a store that refuses the condition of a PUT, with 501."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.servers.daemon import Daemon, answers, run
from tests.servers.ports import free_ports
from tests.servers.programs import SWIFT, SWIFT_PARTS, need
from tests.servers.s3 import Keys, S3Server

_OWNER = Keys("test:tester", "testing")

_HASH = """
[swift-hash]
swift_hash_path_prefix = tests
swift_hash_path_suffix = tests
[storage-policy:0]
name = only
default = yes
"""
_DEFAULTS = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
user = {user}
workers = 0
log_address = {folder}/no-syslog
"""
_PART = """
devices = {folder}/devices
mount_check = false
[pipeline:main]
pipeline = {part}-server
[app:{part}-server]
use = egg:swift#{part}
"""
_PROXY = """
[pipeline:main]
pipeline = catch_errors healthcheck cache listing_formats s3api tempauth proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:cache]
use = egg:swift#memcache
# tempauth insists on the filter, not on a server behind it: nothing listens there.
memcache_servers = 127.0.0.1:{no_memcached}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
auth_pipeline_check = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
"""


_PYTHON = "/usr/bin/python3"  # Debian's, which has Swift's package
_RINGS = """
import sys
from swift.common.ring import RingBuilder
for name, _, port in (ring.partition("=") for ring in sys.argv[1:]):
    builder = RingBuilder(part_power=3, replicas=1, min_part_hours=1)
    place = {"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port)}
    builder.add_dev({**place, "device": "d1", "weight": 1.0})
    builder.rebalance()
    builder.get_ring().save(f"{name}.ring.gz")
"""
"""Where each storage server's one device is; `swift-ring-builder` needs three runs for each."""


@contextmanager
def run_swift_s3(folder: Path) -> Iterator[S3Server]:
    """Run a proxy and one of each storage server."""
    proxy, *parts = need(SWIFT, *SWIFT_PARTS)
    (folder / "devices" / "d1").mkdir(parents=True)
    (folder / "swift.conf").write_text(_HASH, encoding="utf-8")
    proxy_port, *part_ports, no_memcached = free_ports(len(parts) + 2)
    user = getpass.getuser()
    with ExitStack() as stack:

        def start(name: str, program: Path, port: int, config: str) -> Daemon:
            defaults = _DEFAULTS.format(port=port, folder=folder, user=user)
            (folder / f"{name}.conf").write_text(defaults + config, encoding="utf-8")
            variables = {"SWIFT_DIR": str(folder)}
            daemon = Daemon(name, [program, f"{name}.conf", "-v"], folder, variables)
            stack.callback(daemon.stop)
            return daemon

        named = {part.name.split("-")[1]: part for part in parts}
        ports = dict(zip(named, part_ports, strict=True))
        rings = [f"{name}={port}" for name, port in ports.items()]
        run([_PYTHON, "-c", _RINGS, *rings], folder, folder / "commands.log")
        daemons = {
            name: start(name, part, ports[name], _PART.format(folder=folder, part=name))
            for name, part in named.items()
        }
        config = _PROXY.format(no_memcached=no_memcached)
        daemons["proxy"] = start("proxy", proxy, proxy_port, config)
        for name, port in ports.items():
            daemons[name].wait_ready(partial(answers, port))
        daemons["proxy"].wait_ready(lambda: answers(proxy_port, "/healthcheck", status=200))
        yield S3Server(
            "swift", swift_version(), f"http://127.0.0.1:{proxy_port}", _OWNER, daemons=daemons
        )


def swift_version() -> str:
    """Return what the metadata of its Python package says: its programs print no version."""
    for found in Path("/usr/lib/python3/dist-packages").glob("swift-*.*-info"):
        match = re.match(r"swift-(\d+(?:\.\d+)+)", found.name)
        if match:
            return match[1]
    return "not installed"
