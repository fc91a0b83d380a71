"""Buckets and the objects in them, in memory, with S3's rules for keys."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from dispatch.testing.s3fake.answer import RefusalError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Order = Callable[[str], Any]  # whatever it returns can be compared with its like

KEY_BYTES_MAX = 1024  # S3's own limit
ELEMENT_BYTES_MAX = 255  # SeaweedFS keeps folders, and refuses a longer name in one


def utf8_order(key: str) -> bytes:
    """The order of S3 and of Ceph: by the bytes of the keys."""
    return key.encode("utf-8", "surrogatepass")


def directory_order(key: str) -> list[bytes]:
    """The order of SeaweedFS: folder by folder, so that ``a/b`` comes before ``a b``."""
    return [element.encode("utf-8", "surrogatepass") for element in key.split("/")]


@dataclass(frozen=True, slots=True)
class Stored:
    """One object.

    Attributes:
        body: Its content.
        modified_at: When it was put, in seconds since 1970 by the fake's clock.
    """

    body: bytes
    modified_at: float

    @property
    def etag(self) -> str:
        """With its quotes."""
        return f'"{hashlib.md5(self.body, usedforsecurity=False).hexdigest()}"'


def check_key(key: str) -> None:
    r"""Refuse what any real store refuses or would keep under another name.

    S3 and Ceph take ``a//b``, ``a\b`` and ``/a``, but SeaweedFS makes ``a/b`` and ``a`` of them.

    Raises:
        RefusalError: The key is too long, or is one of these.
    """
    size = len(key.encode("utf-8"))
    elements = key.removesuffix("/").split("/")
    if size > KEY_BYTES_MAX or any(len(e.encode("utf-8")) > ELEMENT_BYTES_MAX for e in elements):
        details = {"Size": str(size), "MaxSizeAllowed": str(KEY_BYTES_MAX)}
        raise RefusalError(400, "KeyTooLongError", "Your key is too long", details=details)
    if "\0" in key or "\\" in key or not {"", ".", ".."}.isdisjoint(elements):
        message = "not every store keeps such a key as it is"
        raise RefusalError(400, "InvalidRequest", message, details={"Key": key})


@dataclass(slots=True)
class Bucket:
    """One bucket; every method may be called from any thread.

    Attributes:
        name: Its name.
        region: A request must be signed for it.
        redirects: Whether one for another region gets 301, else 400.
        order: In which its keys are listed.
    """

    name: str
    region: str
    redirects: bool
    order: Order
    _objects: dict[str, Stored] = field(default_factory=dict)
    _below: Counter[str] = field(default_factory=Counter)  # objects in each folder
    _sorted: list[str] | None = None
    _lock: Lock = field(default_factory=Lock)

    def put(self, key: str, stored: Stored, *, only_new: bool = False) -> bool:
        """Store an object; False, and nothing done, when it must be new and is not.

        A folder counts too when it must be new: SeaweedFS answers 412 for ``a`` where ``a/b`` is,
        though a HEAD of ``a`` gets 404.
        """
        with self._lock:
            if only_new and (key in self._objects or self._below[key]):
                return False
            if key not in self._objects:
                self._sorted = None
                self._below.update(_folders(key))
            self._objects[key] = stored
            return True

    def get(self, key: str) -> Stored | None:
        """The object; None when there is none."""
        with self._lock:
            return self._objects.get(key)

    def remove(self, key: str) -> bool:
        """Remove it; False when there is none."""
        with self._lock:
            if self._objects.pop(key, None) is None:
                return False
            self._sorted = None
            self._below.subtract(_folders(key))
            return True

    def names(self) -> Sequence[str]:
        """All keys, in the bucket's order. What is returned never changes."""
        with self._lock:
            if self._sorted is None:
                self._sorted = sorted(self._objects, key=self.order)
            return self._sorted

    def first_from(self, keys: Sequence[str], key: str) -> int:
        """Where in ``keys``, which are in order, the first stands that isn't before ``key``."""
        return bisect_left(keys, self.order(key), key=self.order)

    def first_after(self, keys: Sequence[str], key: str) -> int:
        """Where in ``keys``, which are in order, the first stands that is after ``key``."""
        return bisect_right(keys, self.order(key), key=self.order)


def _folders(key: str) -> list[str]:
    return [key[:end] for end, character in enumerate(key) if character == "/"]
