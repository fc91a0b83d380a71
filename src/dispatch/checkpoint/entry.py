"""The name of a publication, which is the whole publication (format §3).

Byte for byte::

    <epoch: 20 digits>-<step: 20 digits>-<path of the save: base32, A-Z 2-7, no padding>

A name is accepted only if encoding what it decodes to gives the same name, so every publication
has exactly one spelling.
"""

from __future__ import annotations

import os

from dispatch.errors import InvalidInputError, MalformedError
from dispatch.model.number import UINT64_MAX, parse_number, parse_uint64

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Iterable

PATH_BYTES_MAX = 133  # what is left of NAME_MAX (255) after 42 characters, at 8 for 5 bytes
HEADER_LENGTH = 42  # two numbers of 20 digits, each with its dash
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# int() reads base 32 as 0-9 A-V, in C: decoding a path costs one translation and one call.
# What is not of the alphabet becomes "!", which int() takes nowhere.
TO_INT_DIGITS = bytes(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUV"[ALPHABET.index(chr(code))] if chr(code) in ALPHABET else 33
    for code in range(256)
)
IMPOSSIBLE_LENGTHS = frozenset({1, 3, 6})  # modulo 8: those that no number of bytes encodes to
_NUMBER_LENGTH = 20
_PUB = b"pub"


class Entry:
    """One publication: immutable, ordered by (epoch, step, path bytes), the latest greatest.

    Attributes:
        epoch: The execution's epoch, 0 to 2^64-1.
        step: The training step, 0 to 2^64-1.
        path: The save's path relative to the root, slash-separated, as bytes.
        save: The same as text (`os.fsdecode`).

    Raises:
        InvalidInputError: A number or the path is outside its bounds.
    """

    __slots__ = ("epoch", "path", "step")
    epoch: int
    path: bytes
    step: int

    def __init__(self, epoch: int, step: int, save: str | bytes | os.PathLike[str]) -> None:
        path = os.fsencode(save)
        epoch, step = _uint64("epoch", epoch), _uint64("step", step)
        reason = why_invalid(path)
        if reason:
            message = f"save {os.fsdecode(path)!r} {reason}"
            raise InvalidInputError(message)
        _set_epoch(self, epoch)
        _set_step(self, step)
        _set_path(self, path)

    @property
    def save(self) -> str:
        """The path as text."""
        return os.fsdecode(self.path)

    def name(self) -> str:
        """The entry's name in ``pub/``: ASCII, at most 255 characters."""
        return f"{self.epoch:020d}-{self.step:020d}-{encode_path(self.path)}"

    def key(self) -> tuple[int, int, bytes]:
        """What entries are ordered by."""
        return (self.epoch, self.step, self.path)

    def __setattr__(self, name: str, value: object) -> None:
        message = f"an Entry is immutable: {name} can't be set"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> None:
        message = f"an Entry is immutable: {name} can't be deleted"
        raise AttributeError(message)

    def __reduce__(self) -> tuple[type[Entry], tuple[int, int, bytes]]:
        return (Entry, self.key())

    def __eq__(self, other: object) -> bool:
        return self.key() == other.key() if isinstance(other, Entry) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key())

    def __lt__(self, other: Entry) -> bool:
        return self.key() < other.key()

    def __le__(self, other: Entry) -> bool:
        return self.key() <= other.key()

    def __gt__(self, other: Entry) -> bool:
        return self.key() > other.key()

    def __ge__(self, other: Entry) -> bool:
        return self.key() >= other.key()

    def __repr__(self) -> str:
        return f"Entry(epoch={self.epoch}, step={self.step}, save={self.save!r})"


# An entry's own `__setattr__` refuses, so what makes one writes to its slots, and fastest so.
_set_epoch, _set_step, _set_path = (vars(Entry)[slot].__set__ for slot in ("epoch", "step", "path"))


def _uint64(what: str, value: int) -> int:
    """``value``, which may be any integer type, such as NumPy's."""
    is_integer = hasattr(value, "__index__")
    number = value.__index__() if is_integer else -1
    if not 0 <= number <= UINT64_MAX:
        message = f"{what} {value!r} is not an integer from 0 to {UINT64_MAX}"
        raise InvalidInputError(message)
    return number


def entry_of_valid(epoch: int, step: int, path: bytes) -> Entry:
    """The entry of parts that are known to be valid: nothing is looked at again."""
    entry = object.__new__(Entry)
    _set_epoch(entry, epoch)
    _set_step(entry, step)
    _set_path(entry, path)
    return entry


def why_invalid(path: bytes) -> str:
    """Why ``path`` can't be published (a clause for a message), or an empty string."""
    elements = path.split(b"/")
    if path in {b"", b"."}:
        return "is the root itself"
    if path.startswith(b"/") or b".." in elements:
        return "leads outside the root"
    if b"" in elements or b"." in elements or b"\0" in path:
        return "is not clean: it has an empty element, '.', a trailing slash or a NUL"
    if elements[0] == _PUB:
        return "is pub or inside it"
    if len(path) > PATH_BYTES_MAX:
        return f"is {len(path)} bytes long; at most {PATH_BYTES_MAX} fit an entry's name"
    return ""


def valid_save(rel: str | bytes | os.PathLike[str]) -> bool:
    """Whether ``rel`` is a path, relative to the root, that an entry can name."""
    return not why_invalid(os.fsencode(rel))


def parse_epoch(text: str) -> int:
    """An epoch from decimal digits.

    Raises:
        InvalidInputError: It is not a decimal number from 0 to 2^64-1.
    """
    return parse_number("epoch", text)


def parse_step(text: str) -> int:
    """A step from decimal digits.

    Raises:
        InvalidInputError: It is not a decimal number from 0 to 2^64-1.
    """
    return parse_number("step", text)


def parse_entry_name(name: str) -> Entry:
    """The publication that ``name`` is.

    Raises:
        MalformedError: Any other spelling than `Entry.name` gives, or an invalid path.
    """
    step_end = HEADER_LENGTH - 1
    numbers = name[:_NUMBER_LENGTH], name[_NUMBER_LENGTH + 1 : step_end]
    epoch, step = (parse_uint64(text) for text in numbers)
    path = decode_path(name[HEADER_LENGTH:])
    dashes = name[_NUMBER_LENGTH : _NUMBER_LENGTH + 1] + name[step_end:HEADER_LENGTH]
    if epoch is None or step is None or path is None or dashes != "--" or why_invalid(path):
        raise MalformedError(f"{name!r} in pub/ is not an entry's name", hint=_malformed_hint(name))
    return entry_of_valid(epoch, step, path)


def parse_entry_held(value: str, where: str) -> Entry:
    """The publication whose name a claim in ``where`` holds.

    Raises:
        MalformedError: It holds anything else.
    """
    try:
        return parse_entry_name(value)
    except MalformedError as error:
        message = f"{where} holds {value!r}, which is not an entry's name"
        hint = "It isn't ours: look at it, and move it away."
        raise MalformedError(message, kind="malformed-claim", hint=hint) from error


def _malformed_hint(name: str) -> str:
    if name.startswith(".nfs"):
        return (
            "An NFS client keeps such a name for a removed file that some process still has open; "
            "it goes when that process ends."
        )
    return "Nothing but entries may be in pub/: look at what it is, then move it away."


def encode_path(path: bytes) -> str:
    """``path`` in RFC 4648 base32, upper case, without padding."""
    bits = len(path) * 8
    length = (bits + 4) // 5
    value = int.from_bytes(path, "big") << (length * 5 - bits)
    shifts = range(length * 5 - 5, -1, -5)
    return "".join(ALPHABET[value >> shift & 31] for shift in shifts)


def decode_path(text: str) -> bytes | None:
    """What `encode_path` made ``text`` from; None when it made no such text."""
    if not text or len(text) % 8 in IMPOSSIBLE_LENGTHS or not text.isascii():
        return None
    digits = text.encode().translate(TO_INT_DIGITS)
    if b"!" in digits:
        return None
    size, spare = divmod(len(text) * 5, 8)
    value = int(digits, 32)
    if value & ((1 << spare) - 1):
        return None
    return (value >> spare).to_bytes(size, "big")


def latest(entries: Iterable[Entry]) -> Entry | None:
    """The greatest by (epoch, step, path bytes); None of none."""
    return max(entries, key=Entry.key, default=None)
