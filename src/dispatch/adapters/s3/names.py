"""Flat folders of names: keys below ``pub/`` and ``runs/``."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING

from dispatch.adapters.s3.listing import items_below, times_below
from dispatch.adapters.s3.requests import Absent, Exists
from dispatch.adapters.s3.saves import content_of
from dispatch.errors import DispatchError, UnavailableError
from dispatch.model.claimed import VALUE_BYTES_MAX, no_claim, parse_claimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.adapters.s3.requests import Requests

_CLAIMS_MAX = 8  # tries; another is made only when a claim was removed between two requests


class S3Names:
    """`dispatch.ports.store.NamesStore` and `dispatch.ports.store.ClaimsStore`."""

    __slots__ = ("listed",)

    _requests: Requests
    listed: list[str]
    """What `names` has found so far, page by page: for somebody who waits for it, on a thread of
    their own.
    """

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        """See `dispatch.ports.store.NamesStore`.

        A pass counts when the keys came in ascending order: a newer one then lies ahead. A key
        in a folder below is a name with a slash in it, which no entry has.
        """
        del in_vain  # one pass is enough: each page in order, or an error
        start = self._requests.location.key(folder.encode()) + "/"
        found = self.listed = []
        found.extend(item["Key"][len(start) :] for item in items_below(self._requests, start))
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

        S3 answers a removal the same whether the key was there or not, so it is asked before
        which are, of several by one listing; what somebody else removes after that counts as
        removed by both.
        """
        removed: list[str] = []
        failures: dict[str, DispatchError] = {}
        is_listed = len(names) > 1
        present = self._times(folder) if is_listed else names
        for name in filter(present.__contains__, names):
            path = _path(folder, name)
            try:
                if not is_listed:
                    self._requests.call("head_object", path)
                self._requests.call("delete_object", path)
                removed.append(name)
            except Absent:
                pass
            except DispatchError as error:
                failures[name] = error
        return removed, failures

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        """See `dispatch.ports.store.NamesStore`: one request for one, one listing for more."""
        if len(names) > 1:
            times = self._times(folder)
            return {name: times[name] for name in names if name in times}
        found = {}
        for name in names:
            try:
                answer = self._requests.call("head_object", _path(folder, name))
                found[name] = float(answer["LastModified"].timestamp())
            except Absent:
                pass
        return found

    def claim(self, folder: str, name: str, value: str) -> str:
        """See `dispatch.ports.store.ClaimsStore`: an object, whose content is the value."""
        path, body = _path(folder, name), os.fsencode(value)
        for _ in range(_CLAIMS_MAX):
            try:
                self._requests.call("put_object", path, Body=body, IfNoneMatch="*")
            except Exists:  # after a lost answer it may be our own
                held = self.claimed(folder, name)
                if held is not None:
                    return held
            else:
                return value
        shown = os.fsdecode(self._requests.location.url(path))
        raise UnavailableError(f"creating {shown}: it was there, and gone, again and again")

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        """See `dispatch.ports.store.ClaimsStore`: one by one, for each has a condition."""
        return {name: self.claim(folder, name, value) for name, value in values.items()}

    def claimed(self, folder: str, name: str) -> str | None:
        """See `dispatch.ports.store.ClaimsStore`."""
        path = _path(folder, name)
        shown = os.fsdecode(self._requests.location.url(path))
        try:
            content = content_of(self._requests, path, VALUE_BYTES_MAX)
        except Absent:
            return None
        if content is None:
            error = no_claim(shown, f"over {VALUE_BYTES_MAX} bytes long")
            raise error
        return parse_claimed(content, shown)

    def drop(self, folder: str) -> bool:
        """See `dispatch.ports.store.ScratchStore`: a folder is but a part of keys."""
        del folder
        return True

    def _times(self, folder: str) -> dict[str, float]:
        start = self._requests.location.key(folder.encode()) + "/"
        times = times_below(self._requests, start)
        return {key[len(start) :]: time for key, time in times.items()}


def _path(folder: str, name: str) -> bytes:
    return f"{folder}/{name}".encode("utf-8", "surrogateescape")
