"""A checkpoint root in a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.s3.connection import Connection, make_client
from dispatch.adapters.s3.location import Location, parse_location
from dispatch.adapters.s3.names import S3Names
from dispatch.adapters.s3.removal import S3Removal
from dispatch.adapters.s3.requests import Requests
from dispatch.adapters.s3.saves import S3Saves
from dispatch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch.ports.credentials import Keys
    from dispatch.ports.waiting import Clock


class S3Store(S3Names, S3Saves, S3Removal):
    """`dispatch.ports.store.Store` below one prefix of a bucket."""

    def __init__(self, requests: Requests, markers: Sequence[bytes]) -> None:
        S3Removal.__init__(self, requests, markers)

    def check(self) -> None:
        """See `dispatch.ports.store.Root`: nothing can be mounted over a bucket."""

    def location(self, path: bytes) -> bytes:
        """See `dispatch.ports.store.Root`."""
        return self._requests.location.url(path)

    def relative(self, location: bytes) -> bytes:
        """See `dispatch.ports.store.Root`."""
        root = self._requests.location.url(b"")
        path = location.rstrip(b"/")
        if path == root:
            return b""
        if not path.startswith(root + b"/"):
            shown = location.decode("utf-8", "surrogateescape")
            message = f"{shown!r} is not below the checkpoint root {root.decode()!r}"
            raise InvalidInputError(message)
        return path[len(root) + 1 :]


def open_bucket(
    root: str,
    connection: Connection,
    keys: Keys,
    clock: Clock,
    *,
    now: Callable[[], float],
    markers: Sequence[bytes],
) -> S3Store:
    """The store below ``root``, ``s3://BUCKET/PREFIX``. Nothing is asked of the store yet.

    Raises:
        InvalidInputError: The root, the endpoint, or another setting is malformed.
    """
    location: Location = parse_location(root)
    client = make_client(connection, keys)
    return S3Store(Requests(client, keys, location, clock, now), markers)
