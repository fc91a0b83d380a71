"""Reading `pub/` whole: a listing that isn't torn, and names that are all valid (01 §3).

A folder is not read atomically. While it is read, a newer entry can appear in a part already
passed and a prune can remove the old latest from a part still to come, so that neither is seen.
A pass counts when the store vouches for it or when a second pass finds the same names.
"""

from __future__ import annotations

from dispatch.checkpoint.entry import (
    HEADER_LENGTH,
    TO_INT_DIGITS,
    Entry,
    latest,
    parse_entry_name,
)
from dispatch.errors import UnavailableError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.ports.store import NamesStore

PASSES_MAX = 10  # 01 §3: after ten it is an error
PUB = "pub"
_FIRST_DASH, _SECOND_DASH, _STEP = 20, 41, 21
_DIGIT_COLUMNS = (*range(_FIRST_DASH), *range(_STEP, _SECOND_DASH))
_BODY_LENGTH_MAX = 213  # of 133 bytes, the longest path: a store need not have NAME_MAX
_CHUNK = 4096  # names checked together: their bytes stay within a core's cache
_PUB_AT_START = b"\0" + PUB.encode()


def read_names(store: NamesStore, folder: str = PUB) -> list[str]:
    """All names in ``folder``, from a pass that can't have been torn; in no particular order.

    Raises:
        UnavailableError: Ten passes differed (kind ``listing-torn``); never an answer then.
    """
    before: list[str] | None = None
    for _ in range(PASSES_MAX):
        names, whole = store.names(folder)
        if whole or (before is not None and (names == before or set(names) == set(before))):
            return names
        before = names
    message = f"{folder}/ changed during each of {PASSES_MAX} listings"
    raise UnavailableError(
        message, kind="listing-torn", hint="Try again when fewer saves are published and pruned."
    )


def parse_all(names: list[str]) -> list[Entry]:
    """The publications that ``names`` are, ascending.

    Raises:
        MalformedError: A name is not an entry's; it is named, and never skipped.
    """
    return sorted(map(parse_entry_name, names), key=Entry.key)


def latest_of(names: list[str]) -> Entry | None:
    """The greatest publication among ``names``; None of none.

    The same as ``latest(parse_all(names))``, and as strict, in a small multiple of the time that
    the listing itself takes: names are checked thousands at a time, and only those that share
    the greatest epoch and step are parsed one by one.

    Raises:
        MalformedError: A name is not an entry's, wherever it stands in the order.
    """
    for chunk in _same_length_chunks(names):
        if not _surely_valid(chunk):
            for name in chunk:
                parse_entry_name(name)
    if not names:
        return None
    greatest = max(names)[:HEADER_LENGTH]
    return latest(parse_entry_name(name) for name in names if name.startswith(greatest))


def _same_length_chunks(names: list[str]) -> Iterator[list[str]]:
    lengths: dict[int, list[str]] = {}
    for name in names:
        lengths.setdefault(len(name), []).append(name)
    for group in lengths.values():
        for start in range(0, len(group), _CHUNK):
            yield group[start : start + _CHUNK]


def _surely_valid(names: list[str]) -> bool:
    """Whether names of one length are all valid; False when that takes a closer look.

    Every check looks at the names joined: columns are slices with the names' length as stride,
    and the paths are decoded as one long integer, each followed by at least one NUL.
    """
    length, count = len(names[0]), len(names)
    body_length = length - HEADER_LENGTH
    text = "".join(names)
    if not 1 <= body_length <= _BODY_LENGTH_MAX or not text.isascii():
        return False
    if text[_FIRST_DASH::length] != "-" * count or text[_SECOND_DASH::length] != "-" * count:
        return False
    if not all(text[column::length].isdigit() for column in _DIGIT_COLUMNS):
        return False
    if text[::length] != "0" * count or text[_STEP::length] != "0" * count:
        return False  # from 10^19 on a number may be over 2^64-1
    return _paths_surely_valid([name[HEADER_LENGTH:] for name in names])


def _paths_surely_valid(bodies: list[str]) -> bool:
    length, count = len(bodies[0]), len(bodies)
    size, spare = divmod(length * 5, 8)
    if spare >= 5:
        return False  # a length that no number of bytes encodes to
    padding = "A" * (-length % 8 or 8)  # zero bits, to whole groups of 8 characters
    record = (length + len(padding)) * 5 // 8
    digits = (padding.join(bodies) + padding).encode().translate(TO_INT_DIGITS)
    if b"!" in digits:
        return False
    paths = b"\0" + int(digits, 32).to_bytes(record * count, "big")
    zeros = bytes(count)
    if any(paths[1 + column :: record] != zeros for column in range(size, record)):
        return False  # bits are set behind a path's end
    if paths.count(0) != 1 + count * (record - size):
        return False  # a NUL within a path
    if b"//" in paths or b"\0/" in paths or b"/\0" in paths:
        return False  # an empty element
    return b"/." not in paths and b"\0." not in paths and _PUB_AT_START not in paths
