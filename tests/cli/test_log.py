"""`log`: the publications, for people."""

import os
import re
import time

import pytest

from tests.cli.program import Program
from tests.cli.roots import Root


def test_a_line_has_epoch_step_age_mark_and_path(root: Root, publish: Program) -> None:
    """Newest first; the latest is marked, and what it outranks although of a higher step."""
    old = root.hf(5000, attempt="1.4101.0")
    new = root.hf(100, attempt="2.4102.0")
    root.publish(root.hf(7, attempt="1.4101.0"), 7, 1_000_000)
    root.publish(old, 5000, 1_000_000)
    root.publish(new, 100, 2_000_003)
    lines = publish.run("log", "-checkpoint", root.path).well().out.decode().splitlines()
    wanted = [
        r"g0 n2 r3  100   \d+s  latest     exec/2\.4102\.0/checkpoint-100",
        r"g0 n1 r0  5000  \d+s  outranked  exec/1\.4101\.0/checkpoint-5000",
        r"g0 n1 r0  7     \d+s             exec/1\.4101\.0/checkpoint-7",
    ]
    for line, pattern in zip(lines, wanted, strict=True):
        assert re.fullmatch(pattern, line), line


def test_nothing_published_is_nothing_printed(root: Root, publish: Program) -> None:
    """Status 0, as resolve."""
    ended = publish.run("log", "-checkpoint", root.path).well().answers("")
    assert ended.err == b""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (119, "119s"), (130, "2m"), (7100, "118m"), (7300, "2h"), (200_000, "2d")],
)
def test_an_age_has_one_unit(root: Root, publish: Program, seconds: int, shown: str) -> None:
    """The largest of which there are two."""
    entry = root.write_entry("exec/a/checkpoint-1", 1)
    # Ten seconds for a slow machine, which no unit but the second shows.
    moment = time.time() - seconds
    os.utime(entry, (moment, moment))
    line = publish.run("log", "-checkpoint", root.path).well().out.decode()
    age = line.split()[4]
    if shown.endswith("s"):
        assert int(shown[:-1]) <= int(age[:-1]) <= int(shown[:-1]) + 60
    else:
        assert age == shown


def test_an_age_in_the_future_is_none(root: Root, publish: Program) -> None:
    """Clocks differ; nothing is decided by them."""
    entry = root.write_entry("exec/a/checkpoint-1", 1)
    os.utime(entry, (time.time() + 10_000,) * 2)
    assert b"  0s  " in publish.run("log", "-checkpoint", root.path).well().out


@pytest.mark.parametrize("epoch", [0, 999_999, 2**64 - 1, 18_446_744 * 10**12])
def test_an_epoch_that_no_submission_has_is_shown_as_a_number(
    root: Root, publish: Program, epoch: int
) -> None:
    """Somebody made it by hand."""
    root.write_entry("exec/a/checkpoint-1", 1, epoch)
    assert publish.run("log", "-checkpoint", root.path).well().out.startswith(b"%d  1  " % epoch)


def test_log_looks_at_no_save(root: Root, publish: Program) -> None:
    """It lists what is published, there or not."""
    root.write_entry("exec/gone/checkpoint-1", 1)
    ended = publish.run("log", "-checkpoint", root.path).well()
    assert ended.out.endswith(b"latest  exec/gone/checkpoint-1\n")
