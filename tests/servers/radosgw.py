"""A real Ceph Object Gateway on loopback: one monitor, one storage daemon in memory, radosgw."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.servers.certificates import Certificates
from tests.servers.daemon import Daemon, answers, run
from tests.servers.ports import free_ports
from tests.servers.programs import CEPH_MON, CEPH_OSD, RADOSGW, need
from tests.servers.s3 import OWNER, Keys, S3Server

OTHER = Keys("otheraccess", "othersecretkey9876543210")
"""A second user, who may do what a policy on a bucket gives them."""

_CONFIG = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{mon}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
ms bind port min = {osd_low}
ms bind port max = {osd_high}
# Without keys the encryption of messages has nothing to start from: radosgw would ask for ever.
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
run dir = {folder}
admin socket = {folder}/$name.asok
crash dir = {folder}
log file = {folder}/$name.ceph.log
mon cluster log file = {folder}/cluster.ceph.log
# One copy on one machine, and room even where the disk is nearly full.
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon max pg per osd = 10000
mon data avail crit = 1
mon data avail warn = 2
[mon.a]
mon data = {folder}/mon
paxos propose interval = 0.05
[osd.0]
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd op num shards = 2
osd class load list = *
osd class default list = *
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{http} tcp_nodelay=1 ssl_endpoint=127.0.0.1:{https} \
ssl_certificate={certificate} ssl_private_key={key}
rgw dns name = localhost
rgw enable apis = s3, admin
rgw enable usage log = false
rgw enable ops log = false
rgw dynamic resharding = false
rgw override bucket index max shards = 1
rgw run sync thread = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw enable quota threads = false
rgw thread pool size = 64
"""


class _Cluster:
    """The commands and the processes of one cluster."""

    def __init__(self, folder: Path, certificates: Certificates, stack: ExitStack) -> None:
        self._folder = folder
        self._log = folder / "commands.log"
        self._stack = stack
        self._config = folder / "ceph.conf"
        self._mon_program, self._osd_program, self._rgw_program = need(CEPH_MON, CEPH_OSD, RADOSGW)
        ports = free_ports(16)
        self.mon_port, self.http_port, self.https_port = ports[:3]
        self.fsid = str(uuid.uuid4())
        config = _CONFIG.format(
            fsid=self.fsid, mon=self.mon_port, http=self.http_port, https=self.https_port,
            osd_low=ports[3], osd_high=ports[-1], folder=folder,
            certificate=certificates.certificate, key=certificates.key,
        )  # fmt: skip
        self._config.write_text(config, encoding="utf-8")

    def _run(self, program: str | Path, *arguments: str) -> None:
        run([program, "-c", self._config, *arguments], self._folder, self._log)

    def _start(self, name: str, program: str | Path, *arguments: str) -> Daemon:
        daemon = Daemon(name, [program, "-c", self._config, *arguments, "-f"], self._folder)
        self._stack.callback(daemon.stop)
        return daemon

    def start_mon(self) -> Daemon:
        """Make and start the monitor; it is ready when the first command gets an answer."""
        for name in ("mon", "osd"):
            (self._folder / name).mkdir()
        address = f"[v2:127.0.0.1:{self.mon_port}]"
        monmap = self._folder / "monmap"
        creation = ["--create", "--fsid", self.fsid, "--addv", "a", address, str(monmap)]
        run(["monmaptool", *creation], self._folder, self._log)
        self._run(self._mon_program, "-i", "a", "--mkfs", "--monmap", str(monmap))
        return self._start("mon", self._mon_program, "-i", "a")

    def start_osd(self) -> Daemon:
        """Make and start the storage daemon."""
        osd = str(uuid.uuid4())
        self._run("ceph", "--connect-timeout", "30", "osd", "new", osd, "0")
        self._run(self._osd_program, "-i", "0", "--mkfs", "--osd-uuid", osd)
        self._run("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default", "host=localhost")
        return self._start("osd", self._osd_program, "-i", "0")

    def start_rgw(self) -> Daemon:
        """Start the gateway, wait for it, and add its users."""
        daemon = self._start("rgw", self._rgw_program, "-n", "client.rgw")
        daemon.wait_ready(lambda: answers(self.http_port))
        for keys in (OWNER, OTHER):
            self._run(
                "radosgw-admin", "-n", "client.rgw", "user", "create",
                f"--uid={keys.access_key_id}", f"--display-name={keys.access_key_id}",
                f"--access-key={keys.access_key_id}", f"--secret-key={keys.secret_access_key}",
            )  # fmt: skip
        return daemon


def give_owner(server: S3Server, keys: Keys) -> None:
    """Let the owner have further keys."""
    secret = f"--secret-key={keys.secret_access_key}"
    _admin(server, "create", f"--access-key={keys.access_key_id}", secret)


def take_from_owner(server: S3Server, keys: Keys) -> None:
    """Take keys from the owner, for good."""
    _admin(server, "rm", f"--access-key={keys.access_key_id}")


def _admin(server: S3Server, verb: str, *arguments: str) -> None:
    folder = server.daemons["rgw"].log.parent
    command: list[str | Path] = [
        "radosgw-admin",
        "-c",
        folder / "ceph.conf",
        "-n",
        "client.rgw",
        "key",
        verb,
    ]
    whose = [f"--uid={OWNER.access_key_id}", "--key-type=s3"]
    run([*command, *whose, *arguments], folder, folder / "commands.log")


@contextmanager
def run_radosgw(folder: Path, certificates: Certificates) -> Iterator[tuple[S3Server, S3Server]]:
    """Run a cluster; yield the same store by http and by https."""
    with ExitStack() as stack:
        cluster = _Cluster(folder, certificates, stack)
        mon = cluster.start_mon()
        daemons = {"mon": mon, "osd": cluster.start_osd(), "rgw": cluster.start_rgw()}
        version = RADOSGW.version()
        http_url = f"http://127.0.0.1:{cluster.http_port}"
        https_url = f"https://127.0.0.1:{cluster.https_port}"
        yield (
            S3Server("radosgw-http", version, http_url, daemons=daemons),
            S3Server(
                "radosgw-https",
                version,
                https_url,
                ca_file=certificates.authority,
                daemons=daemons,
            ),
        )
