"""Reading `pub/` whole: a listing that isn't torn, and names that are all valid (format §5).

A folder is not read atomically. While it is read, a newer entry can appear in a part already
passed and a prune can remove the old latest from a part still to come, so that neither is seen.
A pass counts when the store vouches for it, or when a second pass finds the same names and
neither is known to have been overtaken by a change.
"""

from __future__ import annotations

from dispatch.checkpoint.entry import (
    HEADER_LENGTH,
    IMPOSSIBLE_LENGTHS,
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
    from collections.abc import Iterator

    from dispatch.ports.store import NamesStore

PASSES_MAX = 10  # format §5: after ten it is an error
PUB = "pub"
_CHUNK = 8192  # names handled together: few enough for a core's cache, many of each length
_GROUP = 512  # names joined, 50 KB: from 128 KB on, malloc gives memory back at each free
# The parts of a name. (A slice that is written out in a loop is made anew for each name.)
_EPOCH, _STEP, _BODY = slice(20), slice(21, 41), slice(HEADER_LENGTH, None)
_DIGIT_COLUMNS = (*range(20), *range(21, 41))
# For bytes.translate: a dot (46) has the lower bit, a slash (47) both, everything else none.
_MARKS = bytes(46) + b"\1\3" + bytes(208)


def read_names(store: NamesStore, folder: str = PUB) -> list[str]:
    """All names in ``folder``, from a pass that can't have been torn; in no particular order.

    Raises:
        UnavailableError: Ten passes differed (kind ``listing-torn``); never an answer then.
    """
    before: list[str] | None = None
    for in_vain in range(PASSES_MAX):
        names, whole = store.names(folder, in_vain)
        if whole:
            return names
        if whole is False and before is not None and _are_same(names, before):
            return names
        # Two passes that are torn alike agree: one that provably is vouches for no other.
        before = None if whole is None else names
    message = f"{folder}/ changed during each of {PASSES_MAX} listings"
    raise UnavailableError(
        message, kind="listing-torn", hint="Try again when fewer saves are published and pruned."
    )


def _are_same(names: list[str], others: list[str]) -> bool:
    return names == others or set(names) == set(others)


def parse_all(names: list[str]) -> list[Entry]:
    """The publications that ``names`` are, ascending.

    Raises:
        MalformedError: A name is not an entry's; it is named, and never skipped.
    """
    import gc

    # Nothing that is made here can be part of a cycle, and to look for cycles among a million
    # entries again and again would take a third of the time.
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        entries: list[Entry] = []
        # In the order of names, which is almost that of entries: the last sort has little to do.
        for chunk in _chunks(sorted(names)):
            parsed: dict[str, Entry] = {}
            for group in _by_length(chunk):
                parsed.update(zip(group, _parse_group(group), strict=True))
            entries += map(parsed.__getitem__, chunk)
        entries.sort(key=Entry.key)
    finally:
        if is_collecting:
            gc.enable()
    return entries


def latest_of(names: list[str]) -> Entry | None:
    """The greatest publication among ``names``; None of none.

    The same as ``latest(parse_all(names))``, and as strict, and several times as fast
    (docs/reference/performance.md): names are checked hundreds at a time, and only those that
    share the greatest epoch and step are parsed one by one.

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
    """The same names, in groups of one length each."""
    groups: dict[int, list[str]] = {}
    for name in names:
        try:
            groups[len(name)].append(name)
        except KeyError:
            groups[len(name)] = [name]
    for group in groups.values():
        for start in range(0, len(group), _GROUP):
            yield group[start : start + _GROUP]


def _parse_group(names: list[str]) -> list[Entry]:
    """The publications that names of one length are, in their order."""
    paths = _decode_paths(names)
    if paths is None:
        return list(map(parse_entry_name, names))
    size = (len(names[0]) - HEADER_LENGTH) * 5 // 8
    starts = range(0, len(paths), len(paths) // len(names))
    return [
        entry_of_valid(int(name[_EPOCH]), int(name[_STEP]), paths[start : start + size])
        for name, start in zip(names, starts, strict=True)
    ]


def _decode_paths(names: list[str]) -> bytes | None:
    """The paths in names of one length, if all the names are valid beyond doubt.

    Every check looks at all names at once: joined, a column of them is a slice whose stride is
    their length, and one call in C checks it.

    Returns:
        The paths in the order of the names, each followed by what fills it up to a whole number
        of 5 bytes; None when a name is malformed, or unusual enough to be looked at on its own.
    """
    length, count = len(names[0]), len(names)
    text = "".join(names)
    if length <= HEADER_LENGTH or not text.isascii():
        return None
    data = text.encode()  # as str, isdigit takes five times as long
    for column in _DIGIT_COLUMNS:
        if not data[column::length].isdigit():
            return None
    if not data[20::length] == data[41::length] == b"-" * count:
        return None
    if not data[0::length] == data[21::length] == b"0" * count:
        return None  # from 10^19 on a number may be over 2^64-1
    return _decode_bodies([name[_BODY] for name in names])


def _decode_bodies(bodies: list[str]) -> bytes | None:
    """`_decode_paths` of what follows the numbers, decoded as one long integer.

    8 characters stand for 5 bytes. So that each body begins at a whole byte, it is filled up
    with one bits to whole groups of 8 characters.
    """
    length, count = len(bodies[0]), len(bodies)
    size, spare = divmod(length * 5, 8)
    if length % 8 in IMPOSSIBLE_LENGTHS or size > PATH_BYTES_MAX:
        return None  # a length that no number of bytes encodes to, or that no name may have
    fill = "7" * (-length % 8)
    digits = (fill.join(bodies) + fill).encode().translate(TO_INT_DIGITS)
    if b"!" in digits:
        return None
    record = len(digits) // count * 5 // 8
    paths = int(digits, 32).to_bytes(record * count, "big")
    if spare and paths[size::record] != bytes([0xFF >> spare]) * count:
        return None  # bits are set behind a path's end
    return paths if _surely_clean(paths, size, record) else None


def _surely_clean(paths: bytes, size: int, record: int) -> bool:
    """Whether the paths, ``size`` bytes at every ``record``, are valid, all of them.

    False as well for an element that only begins with a dot: few do, and most are invalid.
    """
    first, last = paths[::record], paths[size - 1 :: record]
    if b"\0" in paths or b"/" in first or b"." in first or b"/" in last:
        return False
    # A slash's upper bit meets the lower bit of what follows it. `in` would take twice as long
    # to find "//" and "/.", since slashes are frequent.
    marks = int.from_bytes(paths.translate(_MARKS), "little")
    if marks & marks >> 7:
        return False
    starts = range(0, len(paths), record) if b"p" in first else ()
    return not any(paths.startswith(PUB.encode(), start) for start in starts)
