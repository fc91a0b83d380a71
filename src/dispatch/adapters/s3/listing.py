"""Listing keys: every page, or an error; never a partial answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch.adapters.s3.requests import os_text
from dispatch.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.adapters.s3.requests import Requests


def pages(
    requests: Requests, prefix: bytes, *, by_folder: bool = False
) -> Iterator[dict[str, Any]]:
    """The pages of what is below ``prefix``, a path relative to the root.

    Args:
        requests: The root's.
        prefix: The beginning of every key, relative to the root.
        by_folder: Stop at the next slash, as for a folder's own names.

    Raises:
        UnavailableError: A page failed, or says that there is more and not where (kind
            ``listing-incomplete``).
    """
    location = requests.location
    what = f"list_objects_v2 {os_text(location.url(prefix))}"
    parameters: dict[str, Any] = {"Bucket": location.bucket, "Prefix": location.key(prefix)}
    if by_folder:
        parameters["Delimiter"] = "/"
    seen: set[str] = set()
    while True:
        page = requests.do(what, lambda: requests.client.list_objects_v2(**parameters))
        yield page
        if not page.get("IsTruncated"):
            return
        token = page.get("NextContinuationToken")
        if not token or token in seen:
            message = f"{what}: a page says that there is more, but not where"
            raise UnavailableError(message, kind="listing-incomplete")
        seen.add(token)
        parameters["ContinuationToken"] = token


def keys_below(requests: Requests, prefix: bytes, *, by_folder: bool = False) -> Iterator[str]:
    """Each key below ``prefix``, without it, in the order of the store.

    A folder marker (a key that equals the prefix) has no name and is left out.
    """
    start = len(requests.location.key(prefix))
    for page in pages(requests, prefix, by_folder=by_folder):
        for item in page.get("Contents", ()):
            if len(item["Key"]) > start:
                yield item["Key"][start:]
        for item in page.get("CommonPrefixes", ()):
            yield item["Prefix"][start:].rstrip("/")
