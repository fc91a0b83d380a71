"""Listing keys: every page, or an error; never a partial answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch.adapters.s3.answers import IncompleteAnswerError
from dispatch.adapters.s3.requests import operation, require_whole
from dispatch.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.adapters.s3.requests import Requests

_ACTION = "list_objects_v2"
_MARKER_AND_ONE = 2  # a folder marker is no part of a save, so one key more is asked for


def pages(requests: Requests, prefix: str, **parameters: object) -> Iterator[dict[str, Any]]:
    """The pages of keys that begin with ``prefix``. A page may be empty and not be the last.

    Raises:
        UnavailableError: A page failed, or says that there is more and not where (kind
            ``listing-incomplete``).
    """
    bucket = requests.location.bucket
    what = f"{operation(_ACTION)} s3://{bucket}/{prefix}"
    seen: set[str] = set()
    asked = {"Bucket": bucket, "Prefix": prefix, **parameters}

    def request() -> dict[str, Any]:
        return _whole_page(requests.client.list_objects_v2(**asked))

    while True:
        page = requests.do(what, request, _ACTION)
        yield page
        if not page["IsTruncated"]:
            return
        token = page.get("NextContinuationToken")
        if not token or token in seen:
            message = f"a page of the listing says that there is more, but not where: {what}"
            raise UnavailableError(message, kind="listing-incomplete")
        seen.add(token)
        asked["ContinuationToken"] = token


def _whole_page(page: dict[str, Any]) -> dict[str, Any]:
    """The page, which has as many keys as it says, and of each its time.

    Raises:
        IncompleteAnswerError: It has not; it was cut off.
    """
    require_whole(_ACTION, page)
    contents = page.get("Contents", ())
    keys, prefixes = len(contents), len(page.get("CommonPrefixes", ()))
    count = page.get("KeyCount", 0)  # rclone leaves it out where there are none
    if count not in {keys, keys + prefixes}:  # stores differ in what they count
        raise IncompleteAnswerError(f"{keys} keys, {prefixes} prefixes, not {count}")
    if any("LastModified" not in item for item in contents):
        raise IncompleteAnswerError("a key has no time")
    return page


def keys_below(requests: Requests, folder: str) -> list[str]:
    """Each key that begins with ``folder`` (a slash at its end), in the order of the store.

    A folder marker (a key that equals it) has no name and is left out.
    """
    return [item["Key"] for item in items_below(requests, folder)]


def times_below(requests: Requests, folder: str) -> dict[str, float]:
    """When each key of `keys_below` was made, in whole seconds since 1970, as a HEAD tells it.

    Ceph lists it with milliseconds.
    """
    return {
        item["Key"]: item["LastModified"].replace(microsecond=0).timestamp()
        for item in items_below(requests, folder)
    }


def items_below(requests: Requests, folder: str) -> Iterator[dict[str, Any]]:
    """What is told of each key of `keys_below`, page by page."""
    for page in pages(requests, folder):
        yield from (item for item in page.get("Contents", ()) if item["Key"] != folder)


def has_key_below(requests: Requests, folder: str) -> bool:
    """Whether there is any key that begins with ``folder``, its own marker aside."""
    return any(
        item["Key"] != folder
        for page in pages(requests, folder, MaxKeys=_MARKER_AND_ONE)
        for item in page.get("Contents", ())
    )


def names_in(requests: Requests, folder: str, prefix: str) -> list[str]:
    """The names directly in ``folder`` that begin with ``prefix``: of keys, and of folders.

    Args:
        requests: The root's.
        folder: The beginning of keys, with a slash at its end unless it is empty.
        prefix: What the names begin with.
    """
    start = len(folder)
    found: dict[str, None] = {}
    for page in pages(requests, folder + prefix, Delimiter="/"):
        for item in page.get("Contents", ()):
            found[item["Key"][start:]] = None
        for item in page.get("CommonPrefixes", ()):
            found[item["Prefix"][start:].removesuffix("/")] = None
    found.pop("", None)  # a folder marker, or `folder//…`
    return list(found)
