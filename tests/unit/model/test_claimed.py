import os

import pytest

from dispatch.errors import MalformedError
from dispatch.model.claimed import VALUE_BYTES_MAX, no_claim, parse_claimed


@pytest.mark.parametrize("raw", [b"a", b"x" * VALUE_BYTES_MAX, b"\xff\n", "Ω".encode()])
def test_a_value_keeps_its_bytes(raw: bytes) -> None:
    assert os.fsencode(parse_claimed(raw, "runs/1")) == raw


@pytest.mark.parametrize("raw", [b"", b"x" * (VALUE_BYTES_MAX + 1), b"a\0", b"\0"])
def test_what_can_be_no_value_is_told_with_its_place(raw: bytes) -> None:
    with pytest.raises(MalformedError, match=r"^runs/1 is no claim: it is not 1") as e:
        parse_claimed(raw, "runs/1")
    assert e.value.kind == no_claim("", "").kind == "malformed-claim"
