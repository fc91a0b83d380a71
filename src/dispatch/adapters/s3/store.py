"""A checkpoint root in a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.s3.connection import make_client
from dispatch.adapters.s3.location import parse_location
from dispatch.adapters.s3.names import S3Names
from dispatch.adapters.s3.removal import S3Removal
from dispatch.adapters.s3.requests import Requests
from dispatch.adapters.s3.saves import S3Saves
from dispatch.errors import InvalidInputError
from dispatch.model.access import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.adapters.s3.connection import Connection
    from dispatch.adapters.s3.requests import Surroundings
    from dispatch.ports.credentials import Keys


class S3Store(S3Names, S3Saves, S3Removal):
    """`dispatch.ports.store.Store` below one prefix of a bucket.

    Args:
        requests: The root's.
        markers: The files that make a save of any framework complete, relative to the save.
    """

    __slots__ = ("_markers", "_requests")

    def __init__(self, requests: Requests, markers: Sequence[bytes]) -> None:
        self._requests = requests
        self._markers = markers
        self.listed = []

    def check(self) -> None:
        """See `dispatch.ports.store.Root`: nothing can be mounted over a bucket."""

    def access(self) -> Access:
        """See `dispatch.ports.store.Root`."""
        keys, meta = self._requests.keys, self._requests.client.meta
        return Access(
            medium=meta.endpoint_url,
            source=keys.source(),
            expires_at=keys.current().expires_at,
            proxy=meta.config.proxies.get("https"),
        )

    def close(self) -> None:
        """See `dispatch.ports.store.Store`: the connections."""
        self._requests.client.close()

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
    around: Surroundings,
    *,
    markers: Sequence[bytes],
) -> S3Store:
    """The store below ``root``, ``s3://BUCKET/PREFIX``. Nothing is asked of the store yet.

    Raises:
        InvalidInputError: The root, the endpoint, or another setting is malformed.
    """
    location = parse_location(root)
    return S3Store(Requests(make_client(connection, keys), keys, location, around), markers)
