"""An identity provider on loopback: keys at a JWKS address, and tokens signed with them."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.servers.daemon import run
from tests.servers.programs import OPENSSL, need

AUDIENCE = "sts.amazonaws.com"
SUBJECT = "system:serviceaccount:default:job"
_KEY_ID = "dispatch-tests"
_EXPONENT = 65_537  # of every RSA key that openssl makes


class IdentityProvider:
    """What a Kubernetes API server is to a service account's token."""

    def __init__(self, folder: Path) -> None:
        [self._openssl] = need(OPENSSL)
        self._key = folder / "identity.key"
        log = folder / "openssl.log"
        bits = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        run([self._openssl, "genpkey", *bits, "-out", self._key], folder, log)
        printed = run([self._openssl, "rsa", "-in", self._key, "-noout", "-modulus"], folder, log)
        modulus = bytes.fromhex(printed.strip().removeprefix("Modulus="))
        exponent = _EXPONENT.to_bytes(3, "big")
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID}
        self._jwks = {"keys": [{**key, "n": _encode(modulus), "e": _encode(exponent)}]}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.jwks_url = f"{self.issuer}/jwks"

    def token(self, lifetime_s: float = 3600, **claims: object) -> str:
        """Sign a token; ``claims`` replace the usual ones."""
        now = int(time.time())
        times = {"iat": now, "nbf": now - 5, "exp": now + int(lifetime_s)}
        body = {"iss": self.issuer, "sub": SUBJECT, "aud": AUDIENCE, **times, **claims}
        header = {"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}
        signed = ".".join(_encode(json.dumps(part).encode()) for part in (header, body))
        signature = subprocess.run(
            [self._openssl, "dgst", "-sha256", "-sign", self._key],
            input=signed.encode(),
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        return f"{signed}.{_encode(signature)}"

    def serve(self) -> None:
        """Answer until `close`."""
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop `serve`."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append(self.path)
                body = json.dumps(provider.document(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: `asked` has it."""

        return Handler

    def document(self, path: str) -> dict[str, object]:
        """Return what is at ``path``: the keys, or where they are."""
        if path == "/jwks":
            return dict(self._jwks)
        return {
            "issuer": self.issuer,
            "jwks_uri": self.jwks_url,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@contextmanager
def run_identity_provider(folder: Path) -> Iterator[IdentityProvider]:
    """Run a provider."""
    provider = IdentityProvider(folder)
    thread = threading.Thread(target=provider.serve, name="identity-provider", daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.close()
        thread.join()
