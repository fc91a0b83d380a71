"""Real servers as session fixtures. tests/conftest.py loads this.

A server starts when the first test asks for it and stops with the session. Its log stays in
pytest's temporary folder, and its end is shown with a test that failed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from tests.servers.certificates import Certificates, make_certificates
from tests.servers.daemon import tail
from tests.servers.forward_proxy import ForwardProxy, run_forward_proxy
from tests.servers.openbao import OpenBao, run_openbao
from tests.servers.programs import SHOWN
from tests.servers.radosgw import run_radosgw
from tests.servers.rclone import run_rclone_s3
from tests.servers.s3 import S3Server
from tests.servers.seaweedfs import run_seaweedfs
from tests.servers.swift import run_swift_s3, swift_version
from tests.servers.web_identity import IdentityProvider, run_identity_provider

Server = S3Server | OpenBao | ForwardProxy


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which servers there are, unless no test can ask for one."""
    if config.getoption("markexpr") == "fast":
        return []
    versions = {name: program.version() for name, program in SHOWN.items()}
    versions["swift"] = swift_version()
    return ["servers: " + ", ".join(f"{name} {versions[name]}" for name in versions)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the logs of the servers that a failed test used."""
    report = yield
    if report.failed:
        used = getattr(item, "funcargs", {}).values()
        for server in (value for value in used if isinstance(value, Server)):
            for name, daemon in server.daemons.items():
                report.sections.append((f"log of {name}: {daemon.log}", tail(daemon.log)))
    return report


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority of our own and a certificate for loopback."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def radosgw_both(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[tuple[S3Server, S3Server]]:
    """One Ceph store, by http and by https. ``daemons["osd"]`` is what to pause."""
    with run_radosgw(tmp_path_factory.mktemp("radosgw"), certificates) as servers:
        yield servers


@pytest.fixture(scope="session")
def radosgw(radosgw_both: tuple[S3Server, S3Server]) -> S3Server:
    """Ceph's gateway by http."""
    return radosgw_both[0]


@pytest.fixture(scope="session")
def radosgw_https(radosgw_both: tuple[S3Server, S3Server]) -> S3Server:
    """The same store by https."""
    return radosgw_both[1]


@pytest.fixture(scope="session")
def identity_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    """What signs the tokens that SeaweedFS takes."""
    with run_identity_provider(tmp_path_factory.mktemp("identity")) as provider:
        yield provider


@pytest.fixture(scope="session")
def seaweedfs(
    tmp_path_factory: pytest.TempPathFactory, identity_provider: IdentityProvider
) -> Iterator[S3Server]:
    """SeaweedFS; its S3 port is also an STS endpoint for ``identity_provider``'s tokens."""
    with run_seaweedfs(tmp_path_factory.mktemp("seaweedfs"), identity_provider) as server:
        yield server


@pytest.fixture(scope="session")
def openbao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenBao]:
    """OpenBao, in memory."""
    with run_openbao(tmp_path_factory.mktemp("openbao")) as server:
        yield server


@pytest.fixture(scope="session")
def forward_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardProxy]:
    """A forward proxy."""
    with run_forward_proxy(tmp_path_factory.mktemp("proxy")) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def rclone_s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A store that ignores the condition of a PUT."""
    with run_rclone_s3(tmp_path_factory.mktemp("rclone")) as server:
        yield server


@pytest.fixture(scope="session")
def swift_s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A store that refuses the condition of a PUT, with 501."""
    with run_swift_s3(tmp_path_factory.mktemp("swift")) as server:
        yield server
