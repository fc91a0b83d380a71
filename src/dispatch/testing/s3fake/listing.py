"""ListObjectsV2: pages of keys and of common prefixes, and the tokens that lead on."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from dispatch.testing.s3fake.answer import Answer, RefusalError, UnexpectedCallError, document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dispatch.testing.s3fake.answer import Node
    from dispatch.testing.s3fake.objects import Bucket

PAGE_KEYS_MAX = 1000  # S3 gives no more, whatever is asked for
_LAST_CHARACTER = "\U0010ffff"
_PARAMETERS = frozenset(
    {
        "list-type",
        "prefix",
        "delimiter",
        "max-keys",
        "start-after",
        "continuation-token",
        "encoding-type",
        "x-id",
    }
)


@dataclass(frozen=True, slots=True)
class _Position:
    """After what a page goes on: a key, or all keys with a common prefix."""

    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """What a page is asked for.

    Attributes:
        prefix: The beginning of every key.
        delimiter: Where keys are cut off after the prefix; empty for nowhere.
        keys_max: How many keys and common prefixes together.
        start_after: The key to begin after, when there is no token.
        token: Where the last page ended; None for the first page.
        encoded: Whether keys come percent-encoded.
    """

    prefix: str
    delimiter: str
    keys_max: int
    start_after: str
    token: str | None
    encoded: bool


def parse_ask(query: Mapping[str, str]) -> Ask:
    """What the parameters ask for.

    Raises:
        RefusalError: One has no meaning.
        UnexpectedCallError: One is not supported.
    """
    unknown = query.keys() - _PARAMETERS
    if unknown:
        raise UnexpectedCallError(f"a listing with {', '.join(sorted(unknown))}")
    keys_max = query.get("max-keys") or str(PAGE_KEYS_MAX)
    if not keys_max.isdecimal():
        message = "Argument maxKeys must be an integer between 0 and 2147483647"
        raise RefusalError(400, "InvalidArgument", message, details=_argument("maxKeys", keys_max))
    encoding = query.get("encoding-type")
    if encoding not in {None, "url"}:
        message = "Invalid Encoding Method specified in Request"
        details = _argument("encoding-type", str(encoding))
        raise RefusalError(400, "InvalidArgument", message, details=details)
    return Ask(
        prefix=query.get("prefix", ""),
        delimiter=query.get("delimiter", ""),
        keys_max=min(int(keys_max), PAGE_KEYS_MAX),
        start_after=query.get("start-after", ""),
        token=query.get("continuation-token"),
        encoded=encoding == "url",
    )


class Tokens:
    """Tokens that tell nothing and fit nowhere else: each is for one bucket and one listing."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[tuple[str, str, str], _Position]] = {}
        self._lock = Lock()

    def make(self, bucket: Bucket, ask: Ask, position: _Position) -> str:
        """A new token, which holds characters that a query must encode."""
        with self._lock:
            number = len(self._places).to_bytes(8, "big")
            digest = base64.b64encode(hashlib.sha256(number).digest())
            token = f"1+/{digest.decode()}"
            self._places[token] = ((bucket.name, ask.prefix, ask.delimiter), position)
        return token

    def position(self, bucket: Bucket, ask: Ask) -> _Position:
        """Where the page that is asked for begins.

        Raises:
            RefusalError: The token is not one of ours for this listing.
        """
        if ask.token is None:
            return _Position(ask.start_after)
        with self._lock:
            listing, position = self._places.get(ask.token, (None, _Position("")))
        if listing != (bucket.name, ask.prefix, ask.delimiter):
            message = "The continuation token provided is incorrect"
            details = _argument("continuation-token", ask.token)
            raise RefusalError(400, "InvalidArgument", message, details=details)
        return position


@dataclass(slots=True)
class Page:
    """One page.

    Attributes:
        keys: Whole keys, in order.
        prefixes: Common prefixes, in order.
        is_truncated: Whether there is more.
        next_token: What leads to it.
    """

    keys: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    is_truncated: bool = False
    next_token: str | None = None


def make_page(bucket: Bucket, ask: Ask, tokens: Tokens, keys_max: int) -> Page:
    """The page that ``ask`` asks for, of at most ``keys_max`` keys.

    Raises:
        RefusalError: Its token is not one of this listing.
    """
    page = Page()
    limit = min(ask.keys_max, keys_max)
    position = tokens.position(bucket, ask)
    if limit == 0:
        return page  # S3 says that there is no more, whatever there is
    for item in _items(bucket, ask, position):
        if len(page.keys) + len(page.prefixes) == limit:
            page.is_truncated = True
            page.next_token = tokens.make(bucket, ask, position)
            break
        (page.prefixes if item.is_prefix else page.keys).append(item.text)
        position = item
    return page


def empty_page(bucket: Bucket, ask: Ask, tokens: Tokens) -> Page:
    """A page without a key that says that there is more, as S3 may give one."""
    position = tokens.position(bucket, ask)
    return Page(is_truncated=True, next_token=tokens.make(bucket, ask, position))


def _items(bucket: Bucket, ask: Ask, after: _Position) -> Iterator[_Position]:
    keys = bucket.names()
    index = bucket.first_from(keys, ask.prefix)
    if after.is_prefix:
        index = max(index, _index_past(bucket, keys, after.text))
    elif after.text:
        index = max(index, bucket.first_after(keys, after.text))
    while index < len(keys) and keys[index].startswith(ask.prefix):
        key = keys[index]
        cut = key.find(ask.delimiter, len(ask.prefix)) if ask.delimiter else -1
        if cut < 0:
            yield _Position(key)
            index += 1
        else:
            prefix = key[: cut + len(ask.delimiter)]
            yield _Position(prefix, is_prefix=True)
            index = max(index + 1, _index_past(bucket, keys, prefix))


def _index_past(bucket: Bucket, keys: Sequence[str], prefix: str) -> int:
    index = bucket.first_after(keys, prefix + _LAST_CHARACTER)
    while index < len(keys) and keys[index].startswith(prefix):
        index += 1
    return index


def render(bucket: Bucket, ask: Ask, page: Page) -> Answer:
    """The page as S3 writes it."""

    def shown(text: str) -> str:
        return quote_plus(text, safe="/*") if ask.encoded else text

    nodes: list[Node] = [("Name", bucket.name), ("Prefix", shown(ask.prefix))]
    if ask.delimiter:
        nodes.append(("Delimiter", shown(ask.delimiter)))
    if ask.token is not None:
        nodes.append(("ContinuationToken", ask.token))
    if ask.start_after:
        nodes.append(("StartAfter", shown(ask.start_after)))
    if ask.encoded:
        nodes.append(("EncodingType", "url"))
    if page.next_token is not None:
        nodes.append(("NextContinuationToken", page.next_token))
    nodes += [
        ("KeyCount", str(len(page.keys) + len(page.prefixes))),
        ("MaxKeys", str(ask.keys_max)),
        ("IsTruncated", "true" if page.is_truncated else "false"),
    ]
    for key in page.keys:
        entry = _entry(bucket, key, shown(key))
        nodes += [("Contents", entry)] if entry else []
    nodes += [("CommonPrefixes", [("Prefix", shown(prefix))]) for prefix in page.prefixes]
    headers = {"Content-Type": "application/xml", "x-amz-bucket-region": bucket.region}
    return Answer(200, headers, document("ListBucketResult", nodes))


def _entry(bucket: Bucket, key: str, shown: str) -> list[Node]:
    stored = bucket.get(key)
    if stored is None:  # removed since the page was made
        return []
    modified = datetime.fromtimestamp(stored.modified_at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return [
        ("Key", shown),
        ("LastModified", modified),
        ("ETag", stored.etag),
        ("Size", str(len(stored.body))),
        ("StorageClass", "STANDARD"),
    ]


def _argument(name: str, value: str) -> dict[str, str]:
    return {"ArgumentName": name, "ArgumentValue": value}
