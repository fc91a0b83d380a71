"""Reading `pub/` whole: a listing that isn't torn, and names that are all valid (01 §3).

A folder is not read atomically. While it is read, a newer entry can appear in a part already
passed and a prune can remove the old latest from a part still to come, so that neither is seen.
A pass counts when the store vouches for it or when a second pass finds the same names.
"""

from __future__ import annotations

from dispatch.checkpoint.entry import (
    HEADER_LENGTH,
    PATH_BYTES_MAX,
    TO_INT_DIGITS,
    Entry,
    entry_of_valid,
    latest,
    parse_entry_name,
)
from dispatch.errors import UnavailableError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dispatch.ports.store import NamesStore

PASSES_MAX = 10  # 01 §3: after ten it is an error
PUB = "pub"
_CHUNK = 8192
_TOGETHER = 512
_FIRST_DASH, _STEP, _SECOND_DASH = 20, 21, 41  # columns of a name
_DIGIT_COLUMNS = (*range(_FIRST_DASH), *range(_STEP, _SECOND_DASH))
_BODY = slice(HEADER_LENGTH, None)  # written out in a loop, it would be made for each name


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
    entries: list[Entry] = []
    # In the order of names, which is almost that of entries, the sort below has little to do.
    for chunk in _chunks(sorted(names)):
        parsed: dict[str, Entry] = {}
        for group in _by_length(chunk):
            parsed.update(zip(group, _parse_group(group), strict=True))
        entries += map(parsed.__getitem__, chunk)
    entries.sort(key=Entry.key)
    return entries


def latest_of(names: list[str]) -> Entry | None:
    """The greatest publication among ``names``; None of none.

    The same as ``latest(parse_all(names))``, and as strict, in about half the time that the
    listing itself takes: names are checked thousands at a time, and only those that share the
    greatest epoch and step are parsed one by one.

    Raises:
        MalformedError: A name is not an entry's, wherever it stands in the order.
    """
    chunks = _chunks(names)
    tops = []
    for chunk in chunks:
        for group in _by_length(chunk):
            if _decode_paths(group) is None:
                for name in group:
                    parse_entry_name(name)
        tops.append(max(chunk))
    header = max(tops, default="")[:HEADER_LENGTH]
    # No header is greater, so the names from it upwards are those that begin with it.
    at_top = (chunk for chunk, top in zip(chunks, tops, strict=True) if top >= header)
    return latest(parse_entry_name(name) for chunk in at_top for name in chunk if name >= header)


def _chunks(names: list[str]) -> list[list[str]]:
    return [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]


def _by_length(names: list[str]) -> Iterator[list[str]]:
    """The same names in groups of at most `_TOGETHER`, each of names of one length."""
    ordered = sorted(names, key=len)
    start = 0
    while start < len(ordered):
        group = ordered[start : start + _TOGETHER]
        length = len(group[0])
        if len(group[-1]) != length:
            group = [name for name in group if len(name) == length]
        yield group
        start += len(group)


def _parse_group(names: list[str]) -> Iterable[Entry]:
    """The publications that names of one length are, in their order."""
    paths = _decode_paths(names)
    if paths is None:
        return map(parse_entry_name, names)
    epochs = (int(name[:_FIRST_DASH]) for name in names)
    steps = (int(name[_STEP:_SECOND_DASH]) for name in names)
    size = (len(names[0]) - HEADER_LENGTH) * 5 // 8
    record = len(paths) // len(names)
    each = (paths[start : start + size] for start in range(0, len(paths), record))
    return map(entry_of_valid, epochs, steps, each)


def _decode_paths(names: list[str]) -> bytes | None:
    """The paths in names of one length, if all the names are valid beyond doubt.

    Every check looks at all names at once: joined, a column of them is a slice whose stride is
    their length, and one call in C checks it.

    Returns:
        The paths in the order of the names, each filled up to the same whole number of 5 bytes;
        None when a name is malformed, or unusual enough to be looked at on its own.
    """
    length, count = len(names[0]), len(names)
    text = "".join(names)
    if length <= HEADER_LENGTH or not text.isascii():
        return None
    data = text.encode()  # bytes.isdigit is five times as fast as str.isdigit
    for column in _DIGIT_COLUMNS:
        if not data[column::length].isdigit():
            return None
    if data[_FIRST_DASH::length] != b"-" * count or data[_SECOND_DASH::length] != b"-" * count:
        return None
    if data[::length] != b"0" * count or data[_STEP::length] != b"0" * count:
        return None  # from 10^19 on a number may be over 2^64-1
    return _decode_bodies([name[_BODY] for name in names])


def _decode_bodies(bodies: list[str]) -> bytes | None:
    """`_decode_paths` of what follows the numbers.

    Groups of 8 characters stand for 5 bytes, so bodies that are filled up to whole groups are
    decoded as one long integer. They are filled with one bits, which can't be taken for a path's.
    """
    size, spare = divmod(len(bodies[0]) * 5, 8)
    if spare >= 5 or size > PATH_BYTES_MAX:
        return None  # a length that no number of bytes encodes to, or that is not allowed
    fill = "7" * (-len(bodies[0]) % 8)
    digits = (fill.join(bodies) + fill).encode().translate(TO_INT_DIGITS)
    if b"!" in digits:
        return None
    record = (size * 8 + 39) // 40 * 5
    paths = int(digits, 32).to_bytes(record * len(bodies), "big")
    if spare and paths[size::record] != bytes([0xFF >> spare]) * len(bodies):
        return None  # bits are set behind a path's end
    return None if _may_be_unclean(paths, size, record) else paths


def _may_be_unclean(paths: bytes, size: int, record: int) -> bool:
    """Whether any of the paths, ``size`` bytes at every ``record``, may not be valid."""
    first, last = paths[::record], paths[size - 1 :: record]
    if b"\0" in paths or b"//" in paths or b"/" in first or b"/" in last:
        return True  # a NUL, or an empty element
    if b"/." in paths or b"." in first:
        return True  # an element that begins with a dot; few do, and most of those are invalid
    return b"p" in first and (*b"pub",) in zip(
        first, paths[1::record], paths[2::record], strict=True
    )
