"""Flat folders of names: keys of zero bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.s3.listing import keys_below
from dispatch.adapters.s3.requests import Absent, Exists
from dispatch.errors import DispatchError

if TYPE_CHECKING:
    from dispatch.adapters.s3.requests import Requests


class S3Names:
    """`dispatch.ports.store.NamesStore`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def names(self, folder: str) -> tuple[list[str], bool]:
        """See `dispatch.ports.store.NamesStore`.

        A pass counts when the keys came in ascending order: a newer one then lies ahead.
        """
        found = list(keys_below(self._requests, folder.encode() + b"/"))
        return found, all(map(str.__lt__, found, found[1:]))

    def create(self, folder: str, name: str) -> bool:
        """See `dispatch.ports.store.NamesStore`. Durable when the store answered."""
        path = f"{folder}/{name}".encode()
        try:
            self._requests.call("put_object", path, Body=b"", IfNoneMatch="*")
        except Exists:
            return False
        return True

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], list[DispatchError]]:
        """See `dispatch.ports.store.NamesStore`.

        S3 answers the same whether a key was there or not, so names that another prune removed
        at the same moment count as removed by both.
        """
        removed, failures = [], []
        for name in names:
            try:
                self._requests.call("delete_object", f"{folder}/{name}".encode())
                removed.append(name)
            except Absent:
                pass
            except DispatchError as error:
                failures.append(error)
        return removed, failures

    def written(self, folder: str, name: str) -> float | None:
        """See `dispatch.ports.store.NamesStore`."""
        try:
            answer = self._requests.call("head_object", f"{folder}/{name}".encode())
        except Absent:
            return None
        return float(answer["LastModified"].timestamp())
