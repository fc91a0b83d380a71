"""A certificate authority of the tests' own, and a certificate for loopback from it."""

from dataclasses import dataclass
from pathlib import Path

from tests.servers.daemon import run
from tests.servers.programs import OPENSSL, need

_CONFIG = """
[req]
distinguished_name = name
prompt = no
[name]
CN = dispatch tests
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = IP:127.0.0.1, DNS:localhost, DNS:*.localhost
"""


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files.

    Attributes:
        authority: What a client trusts.
        certificate: The server's, for 127.0.0.1 and localhost.
        key: Its private key.
    """

    authority: Path
    certificate: Path
    key: Path


def make_certificates(folder: Path) -> Certificates:
    """Make them afresh: no key lies in the repository."""
    [openssl] = need(OPENSSL)
    log = folder / "openssl.log"
    (folder / "openssl.cnf").write_text(_CONFIG, encoding="utf-8")
    new: list[str | Path] = [
        openssl, "req", "-x509", "-config", "openssl.cnf", "-days", "2", "-nodes",
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
    ]  # fmt: skip
    authority = ["-extensions", "authority", "-keyout", "ca.key", "-out", "ca.pem"]
    run([*new, *authority], folder, log)
    signed = ["-extensions", "server", "-CA", "ca.pem", "-CAkey", "ca.key"]
    run([*new, *signed, "-keyout", "server.key", "-out", "server.pem"], folder, log)
    return Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
