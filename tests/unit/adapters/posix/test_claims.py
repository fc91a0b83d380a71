"""Claims as links: what is in the way, what goes under our hands, what has no links."""

import errno
import os
from pathlib import Path

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.adapters.posix.translation import NO_LINKS
from dispatch.errors import RefusedError, UnavailableError
from dispatch.model.access import Access
from dispatch.testing.calls import Call, Rule
from dispatch.testing.crashfs import CrashFilesystem
from dispatch.testing.faults import fail_always
from dispatch.testing.tree import Link
from tests.unit.stores import next_token, plain_store

ROOT = b"/disk/root"
CLAIM = ROOT + b"/runs/1"


def store_on(disk: CrashFilesystem) -> PosixStore:
    """Open a root on a disk in memory."""
    return PosixStore(ROOT, disk, now_ns=disk.now_ns, token=next_token)


def disk_with(*rules: Rule) -> CrashFilesystem:
    """Make one with an empty root."""
    disk = CrashFilesystem(*rules)
    disk.make_folder(ROOT)
    return disk


def test_a_claim_that_vanishes_in_between_is_made_anew() -> None:
    """Somebody took back what was in the way, right before it was read."""

    def take_back(call: Call) -> None:
        if call.method == "readlink":
            disk.remove(CLAIM)

    disk = disk_with(take_back)
    disk.link(CLAIM, b"theirs")
    assert store_on(disk).claim("runs", "1", "ours") == "ours"
    assert disk.tree().at(CLAIM) == Link(b"ours")
    assert [call.method for call in disk.calls if "link" in call.method] == [
        "symlink",
        "readlink",
        "symlink",
    ]


def test_a_claim_that_comes_and_goes_for_ever_ends() -> None:
    """With an error that says so, not with a value that nobody has."""

    def meddle(call: Call) -> None:
        if call.method == "symlink":
            disk.link(CLAIM, b"theirs")
        elif call.method == "readlink":
            disk.remove(CLAIM)

    disk = disk_with(meddle)
    with pytest.raises(UnavailableError, match="it was there, and gone, again and again"):
        store_on(disk).claim("runs", "1", "ours")
    assert disk.open_handles == 1


@pytest.mark.parametrize("code", sorted(NO_LINKS), ids=errno.errorcode.get)
def test_a_file_system_without_links_is_told_by_its_own_kind(code: int) -> None:
    """So that whoever asks can tell it from a folder that may not be written to."""
    disk = disk_with(fail_always(code, lambda call: call.method == "symlink"))
    store = store_on(disk)
    with pytest.raises(RefusedError, match=errno.errorcode[code]) as caught:
        store.claim("runs", "1", "ours")
    assert caught.value.kind == "no-links"
    assert store.claimed("runs", "1") is None
    assert store.create("runs", "1")


def test_a_real_claim_is_a_link(root: Path) -> None:
    """That is what another implementation sees, and what a person reads with ls."""
    store = plain_store(root)
    store.claim("runs", "1", "../..\udcff")
    assert os.fsencode((root / "runs" / "1").readlink()) == b"../..\xff"


def test_a_claim_that_leads_to_a_claim_is_read_by_itself(root: Path) -> None:
    """A value is no path."""
    store = plain_store(root)
    store.claim("runs", "1", "2")
    store.claim("runs", "2", "1")
    assert [store.claimed("runs", name) for name in "12"] == ["2", "1"]
    assert sorted(store.written("runs", ["1", "2"])) == ["1", "2"]


def test_how_a_root_is_reached_is_the_type_of_its_file_system(root: Path) -> None:
    """As `mount` shows it; where /proc doesn't tell, that is said."""
    told = plain_store(root).access()
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    above = [(len(at), kind) for _, at, kind, *_ in mounts if root.is_relative_to(at)]
    assert told == Access(max(above)[1])

    class Untold(OsFilesystem):
        def mount(self, handle: int) -> None:
            return None

    store = PosixStore(bytes(root), Untold(), now_ns=lambda: 0, token=next_token)
    assert store.access() == Access("file system of unknown type")
    assert store.names("pub") == ([], True)
