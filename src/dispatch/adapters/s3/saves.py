"""Saves: keys below a path. An object that exists is whole; S3 shows no partial ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch.adapters.s3.listing import keys_below
from dispatch.adapters.s3.requests import Absent, os_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.adapters.s3.requests import Requests

_MARKER_AND_ONE = 2  # a folder marker is no part of a save, so one key more is asked for


class S3Saves:
    """`dispatch.ports.store.SavesStore`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        """See `dispatch.ports.store.SavesStore`."""
        start = folder + b"/" + prefix
        names = keys_below(self._requests, start, by_folder=True)
        return [prefix + name.encode() for name in names]

    def has_save(self, save: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`: the key itself, or one key under it."""
        requests = self._requests
        below = requests.location.key(save + b"/")
        what = f"list_objects_v2 {os_text(requests.location.url(save))}"
        page = requests.do(
            what,
            lambda: requests.client.list_objects_v2(
                Bucket=requests.location.bucket, Prefix=below, MaxKeys=_MARKER_AND_ONE
            ),
        )
        return any(item["Key"] != below for item in page.get("Contents", ())) or self._has(save)

    def has_file(self, save: bytes, file: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`."""
        return self._has(save + b"/" + file)

    def has_name(self, save: bytes, file: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`."""
        return self._has(save + b"/" + file)

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        """See `dispatch.ports.store.SavesStore`."""
        requests = self._requests
        path = save + b"/" + file
        location = requests.location

        def get() -> dict[str, Any]:
            answer = requests.client.get_object(Bucket=location.bucket, Key=location.key(path))
            with answer["Body"] as body:
                if answer["ContentLength"] > size_max:
                    return {"content": None}
                return {"content": body.read()}

        try:
            content = requests.do(f"get_object {os_text(location.url(path))}", get)["content"]
        except Absent:
            return None
        return None if content is None else bytes(content)

    def sync_save(self, save: bytes) -> Iterator[bytes]:
        """See `dispatch.ports.store.SavesStore`: what S3 has answered for is durable."""
        yield from ()

    def _has(self, path: bytes) -> bool:
        try:
            self._requests.call("head_object", path)
        except Absent:
            return False
        return True
