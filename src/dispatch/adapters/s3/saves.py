"""Saves: keys below a path. An object that exists is whole; S3 shows no partial ones."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from dispatch.adapters.s3.listing import has_key_below, names_in, pages
from dispatch.adapters.s3.requests import Absent, operation, require_whole
from dispatch.model.contents import Contents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.adapters.s3.requests import Requests


class S3Saves:
    """`dispatch.ports.store.SavesStore`."""

    __slots__ = ()

    _requests: Requests

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        """See `dispatch.ports.store.SavesStore`.

        SeaweedFS lists folders for some time after their last key has gone. Nothing in one is
        complete, so that does no harm.
        """
        location = self._requests.location
        start = location.key(folder + b"/" if folder else b"")
        return [name.encode() for name in names_in(self._requests, start, location.text(prefix))]

    def has_save(self, save: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`: one key under it, or the key itself."""
        return has_save(self._requests, save)

    def has_file(self, save: bytes, file: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`."""
        return has_key(self._requests, save + b"/" + file)

    def has_name(self, save: bytes, file: bytes) -> bool:
        """See `dispatch.ports.store.SavesStore`: one listing finds a key and a folder alike."""
        return file in self.children(save, file)

    def contents(self, save: bytes) -> Contents:
        """See `dispatch.ports.store.SavesStore`: one listing, of a thousand keys a page.

        Several servers give the stamps and tell the time, so no age is told.
        """
        folder = self._requests.location.key(save) + "/"
        states: dict[bytes, object | None] = {}
        for page in pages(self._requests, folder):
            for item in page.get("Contents", ()):
                path = item["Key"][len(folder) :].encode()
                above = path.split(b"/")[:-1]
                states.update((b"/".join(above[: end + 1]), None) for end in range(len(above)))
                if path and not path.endswith(b"/"):
                    states[path] = item["Size"], item.get("ETag"), item["LastModified"]
        return Contents(states)

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        """See `dispatch.ports.store.SavesStore`."""
        try:
            return content_of(self._requests, save + b"/" + file, size_max)
        except Absent:
            return None

    def sync_save(self, save: bytes) -> Iterator[bytes]:
        """See `dispatch.ports.store.SavesStore`: what S3 has answered for is durable."""
        del save
        yield from ()


def has_save(requests: Requests, save: bytes) -> bool:
    """Whether there is a key under ``save``, or ``save`` is a key itself."""
    folder = requests.location.key(save) + "/"
    return has_key_below(requests, folder) or has_key(requests, save)


def content_of(requests: Requests, path: bytes, size_max: int) -> bytes | None:
    """What ``path`` holds; None when that is more than ``size_max`` bytes.

    Raises:
        Absent: There is no such key.
    """
    bucket, key = requests.location.bucket, requests.location.key(path)

    def request() -> dict[str, Any]:
        answer = requests.client.get_object(Bucket=bucket, Key=key)
        # Not the body's own `with`, which gives what is below it: that raises errors of its own.
        with closing(require_whole("get_object", answer)["Body"]) as body:
            if answer["ContentLength"] > size_max:
                return {"content": None}
            return {"content": body.read()}

    what = f"{operation('get_object')} s3://{bucket}/{key}"
    content = requests.do(what, request, "get_object")["content"]
    return None if content is None else bytes(content)


def has_key(requests: Requests, path: bytes) -> bool:
    """Whether ``path`` is a key."""
    try:
        requests.call("head_object", path)
    except Absent:
        return False
    return True
