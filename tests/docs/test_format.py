"""The examples and numbers of the normative format, held against the code."""

import re

import pytest

from dispatch.checkpoint import Entry, parse_entry_name
from dispatch.checkpoint.completion import FRAMEWORKS
from dispatch.checkpoint.entry import PATH_BYTES_MAX
from dispatch.checkpoint.listing import PASSES_MAX
from dispatch.checkpoint.look import FILE_BYTES_MAX
from dispatch.checkpoint.settling import SETTLE_S
from dispatch.errors import MalformedError
from tests.docs.pages import ROOT, blocks, prose, rows

PAGE = ROOT / "docs/spec/publication-format.md"
TEXT = re.sub(r"\s+", " ", prose(PAGE))
MALFORMED = [row[0].strip("`") for row in rows(PAGE) if re.match(r"`\d{7}", row[0])]


def test_the_worked_example_is_right() -> None:
    given = re.search(r"Epoch (\d+), step (\d+) and path `([^`]+)` give", TEXT)
    assert given
    name = Entry(int(given[1]), int(given[2]), given[3]).name()
    assert f"{name}\n" in [block.text for block in blocks(PAGE)]


def test_there_are_malformed_names() -> None:
    assert len(MALFORMED) > 5


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(MalformedError):
        parse_entry_name(name)


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"at most {PATH_BYTES_MAX} bytes" in TEXT
    assert PASSES_MAX == 10
    assert "When ten passes gave no answer" in TEXT
    assert f"over {FILE_BYTES_MAX >> 20} MiB" in TEXT
    assert SETTLE_S == 5
    assert "waits for five seconds" in TEXT


def test_the_table_of_frameworks_is_that_of_the_code() -> None:
    table = [(f"`{f.name}`", f"`{f.prefix.decode()}<step>/`") for f in FRAMEWORKS]
    assert [tuple(row[:2]) for row in rows(PAGE) if row[0] in {"`hf`", "`dcp`"}] == table


def test_each_rule_that_a_test_is_named_for_exists() -> None:
    rules = set(re.findall(r"(?m)^(\d+\.\d+|\d+\.(?= [A-Z]))", prose(PAGE)))
    proven = [row[0] for row in rows(PAGE) if row[1].startswith("`tests/") and row[0] != "rules"]
    named = {number for cell in proven for number in re.findall(r"\d+\.\d+", cell)}
    assert proven
    assert named <= rules


def test_a_rule_is_numbered_by_its_section() -> None:
    section = rule = 0
    for line in prose(PAGE).splitlines():
        if heading := re.match(r"## (\d+)\. ", line):
            assert int(heading[1]) == section + 1
            section, rule = int(heading[1]), 0
        elif number := re.match(r"(\d+)\.(\d+) ", line):
            rule += 1
            assert (int(number[1]), int(number[2])) == (section, rule), line
