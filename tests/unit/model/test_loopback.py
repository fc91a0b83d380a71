"""What counts as this machine itself."""

import pytest

from dispatch.model.loopback import is_loopback


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "127.0.0.1", "127.255.255.255", "127.1.2.3", "::1", "[::1]"]
)
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "0.0.0.0", "10.0.0.1", "127", "127.1", "127.0.0.256", "127.0.0.1.evil.example",
        "127.0.0.x", "128.0.0.1", "127.0.0.0001", "127.0.0.\u0661", "localhost.evil.example",
        "vault", "::2", "::ffff:127.0.0.1", "[::1]x", "::1]x",
    ],
)  # fmt: skip
def test_anything_else_may_lead_elsewhere(host: str) -> None:
    assert not is_loopback(host)
