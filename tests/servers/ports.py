"""Free loopback ports for servers that must be told theirs before they start."""

import random
import socket

HOST = "127.0.0.1"
_LOW, _HIGH = 20_000, 32_000  # below Linux's 32768: the kernel gives none of them to a client
_TRIES_MAX = 200


def free_port() -> int:
    """Return one port that nothing listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """Return ``count`` ports in a row that nothing listens on."""
    for _ in range(_TRIES_MAX):
        low = random.randrange(_LOW, _HIGH - count)
        ports = range(low, low + count)
        if all(map(_is_free, ports)):
            return ports
    message = f"no {count} free ports in a row between {_LOW} and {_HIGH}"
    raise RuntimeError(message)


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # TIME_WAIT is free
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True
