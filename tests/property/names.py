"""Names for the properties, good and hostile, and a parser that shares nothing with ours."""

import base64
import binascii
import posixpath
import re

from hypothesis import strategies as st

Parts = tuple[int, int, bytes]

UINT64_MAX = 2**64 - 1
PATH_BYTES_MAX = 133
_FORM = re.compile(r"([0-9]{20})-([0-9]{20})-([A-Z2-7]+)")
_NASTY = "AMZ27-_=0189amz \n\0.,+/\u0661\u00b2\uff21\u017f\udcff"


def b32(path: bytes) -> str:
    """Encode as RFC 4648 says, without the padding."""
    return base64.b32encode(path).decode().rstrip("=")


def is_valid_path(path: bytes) -> bool:
    """Say whether 01 §2 lets an entry name it, in other words than the code's."""
    return (
        0 < len(path) <= PATH_BYTES_MAX
        and posixpath.normpath(path) == path
        and path[:1] != b"/"
        and path.split(b"/")[0] not in {b".", b"..", b"pub"}
        and b"\0" not in path
    )


def parse(name: str) -> Parts | None:
    """Parse a name by a regular expression and the standard library's base32; None: malformed."""
    match = _FORM.fullmatch(name)
    if match is None or max(int(match[1]), int(match[2])) > UINT64_MAX:
        return None
    try:
        path = base64.b32decode(match[3] + "=" * (-len(match[3]) % 8))
    except binascii.Error:
        return None
    if b32(path) != match[3] or not is_valid_path(path):
        return None
    return int(match[1]), int(match[2]), path


def spell(epoch: int, step: int, body: str) -> str:
    """Put a name together, right or not."""
    return f"{epoch:020d}-{step:020d}-{body}"


# Few values, so that ties are frequent, with those at which something changes.
numbers = st.integers(0, 2) | st.sampled_from(
    [9, 10, 10**19 - 1, 10**19, 2**63, UINT64_MAX]
) | st.integers(0, UINT64_MAX)  # fmt: skip

_wide_numbers = st.integers(0, 20) | st.integers(2**64 - 2, 2**64 + 1) | st.just(10**20 - 1)

_elements = st.sampled_from(
    [b"a", b"b", b"z", b"exec", b"checkpoint-1", b"pub", b".a", b"...", b"\xff", b"\xe9", b"run s"]
) | st.binary(min_size=1, max_size=9)

paths = st.lists(_elements, min_size=1, max_size=5).map(b"/".join).filter(is_valid_path)
"""Valid paths, random bytes among them."""

wild_paths = st.lists(
    st.sampled_from([b"a", b"/", b".", b"\0", b"pub", b"p", b"\xff", b"xx", b"x" * 128]),
    min_size=1,
    max_size=8,
).map(b"".join)
"""Paths that are often invalid, each for another reason."""


@st.composite
def good_names(draw: st.DrawFn) -> str:
    """Draw a name that parses."""
    return spell(draw(numbers), draw(numbers), b32(draw(paths)))


@st.composite
def mutated_names(draw: st.DrawFn) -> str:
    """Draw a name with a character replaced, inserted or taken away: it may still parse."""
    name = draw(good_names())
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(name)))
        take = draw(st.integers(0, 1))
        put = draw(st.sampled_from(_NASTY) | st.just(""))
        name = name[:at] + put + name[at + take :]
    return name


@st.composite
def number_like_names(draw: st.DrawFn) -> str:
    """Draw a name whose numbers hold a character that int() may take, or are too great."""
    epoch, step = draw(_wide_numbers), draw(_wide_numbers)
    numbers = f"{epoch:020d}-{step:020d}"
    at = draw(st.sampled_from([0, 1, 19, 21, 22, 40]))
    numbers = numbers[:at] + draw(st.sampled_from("0+-_ \t\u0661\uff11")) + numbers[at + 1 :]
    return f"{numbers}-{b32(draw(paths))}"


@st.composite
def otherwise_spelled_names(draw: st.DrawFn) -> str:
    """Draw a name that decoders may take for a good one: other case, padding, trailing bits."""
    name = draw(good_names())
    body = name[42:]
    spellings = [body.lower(), body.swapcase(), body + "=" * (-len(body) % 8), body.title()]
    spellings += [body[:-1] + letter for letter in "BCDEIQY7"]
    return name[:42] + draw(st.sampled_from(spellings))


any_names = st.one_of(
    good_names(),
    otherwise_spelled_names(),
    mutated_names(),
    number_like_names(),
    st.builds(spell, numbers, numbers, wild_paths.map(b32)),
    st.builds(spell, st.integers(0, 10**22), st.integers(0, 10**22), paths.map(b32)),
    st.text(max_size=60),
)


@st.composite
def _bodies(draw: st.DrawFn, length: int) -> str:
    """Draw what follows the numbers, of one length: valid, or invalid for one reason or two."""
    size = length * 5 // 8
    hostile = draw(st.booleans())
    alphabet = b"a/.\0pub\xff" if hostile else b"abcxyz\xff"
    path = bytes(draw(st.lists(st.sampled_from(alphabet), min_size=size, max_size=size)))
    if hostile and draw(st.booleans()):
        start = draw(st.sampled_from([b"pub", b"pub/", b"../", b"./", b"/", b"\0", b".a"]))
        path = (start + path)[:size]
    body = b32(path).ljust(length, "A")[:length]
    if hostile and draw(st.booleans()):
        body = body[:-1] + draw(st.sampled_from("ABCEIQY7"))  # one bit set, each at its place
    return body


@st.composite
def same_length_lists(draw: st.DrawFn) -> list[str]:
    """Draw names of one length: many good ones, and what a check of them together may miss."""
    length = draw(st.integers(1, 24) | st.sampled_from([211, 212, 213, 214, 215, 216, 221]))
    size = max(length * 5 // 8, 1)
    good = spell(1, 1, b32(b"x" * size))
    names = [good] * draw(st.integers(0, 5))
    hostile = st.builds(spell, numbers, numbers, _bodies(length))
    names += draw(st.lists(hostile, max_size=3))
    return draw(st.permutations(names))


@st.composite
def tied_lists(draw: st.DrawFn) -> list[str]:
    """Draw names of one epoch and step, some lower ones among them."""
    names = draw(st.lists(paths.map(lambda path: spell(7, 7, b32(path))), min_size=2, max_size=5))
    names += draw(st.lists(paths.map(lambda path: spell(7, 6, b32(path))), max_size=2))
    return draw(st.permutations(names))


name_lists = st.one_of(
    st.lists(good_names(), max_size=8),
    st.lists(any_names, max_size=5),
    same_length_lists(),
    tied_lists(),
)
