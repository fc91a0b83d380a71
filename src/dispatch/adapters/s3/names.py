"""Flat folders of names: keys below ``pub/`` and ``runs/``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from dispatch.adapters.s3.listing import keys_below
from dispatch.adapters.s3.requests import Absent, Exists
from dispatch.errors import DispatchError

if TYPE_CHECKING:
    from dispatch.adapters.s3.requests import Requests


class S3Names:
    """`dispatch.ports.store.NamesStore`."""

    __slots__ = ()

    _requests: Requests

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        """See `dispatch.ports.store.NamesStore`.

        A pass counts when the keys came in ascending order: a newer one then lies ahead. A key
        in a folder below is a name with a slash in it, which no entry has.
        """
        del in_vain  # one pass is enough: each page in order, or an error
        start = self._requests.location.key(folder.encode()) + "/"
        found = [key[len(start) :] for key in keys_below(self._requests, start)]
        return found, all(map(operator.lt, found, found[1:]))

    def create(self, folder: str, name: str) -> bool:
        """See `dispatch.ports.store.NamesStore`.

        Durable when the store has answered. "Already there" is also said after a lost answer to
        a try of our own: the name is the content, whoever made it.
        """
        try:
            self._requests.call("put_object", _path(folder, name), Body=b"", IfNoneMatch="*")
        except Exists:
            return False
        return True

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        """See `dispatch.ports.store.NamesStore`.

        S3 answers a removal the same whether the key was there or not, so each is looked at
        first; one that somebody else removes between the two counts as removed by both.
        """
        removed: list[str] = []
        failures: dict[str, DispatchError] = {}
        for name in names:
            try:
                self._requests.call("head_object", _path(folder, name))
                self._requests.call("delete_object", _path(folder, name))
                removed.append(name)
            except Absent:
                pass
            except DispatchError as error:
                failures[name] = error
        return removed, failures

    def written(self, folder: str, name: str) -> float | None:
        """See `dispatch.ports.store.NamesStore`."""
        try:
            answer = self._requests.call("head_object", _path(folder, name))
        except Absent:
            return None
        return float(answer["LastModified"].timestamp())


def _path(folder: str, name: str) -> bytes:
    return f"{folder}/{name}".encode("utf-8", "surrogateescape")
