"""Listings that changes overtake: from the third on each waits a moment first."""

import os
from pathlib import Path

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint.listing import PASSES_MAX, PUB, read_names
from dispatch.errors import UnavailableError
from tests.unit.stores import UnsyncedFilesystem, next_token


class BusyFilesystem(UnsyncedFilesystem):
    """Another process adds a name during each of the next ``left`` listings of a folder."""

    def __init__(self, folder: Path, left: int) -> None:
        super().__init__()
        self._folder = folder
        self.left = left

    def listdir(self, handle: int) -> list[str]:
        names = super().listdir(handle)
        if self.left:
            (self._folder / f"name-{self.left}").touch()
            self.left -= 1
        return names


@pytest.mark.parametrize("burst", range(PASSES_MAX - 1))
def test_the_third_pass_and_later_ones_wait(root: Path, burst: int) -> None:
    """All ten passes in one burst of a prune's removals would all be torn."""
    (root / PUB).mkdir()
    pauses: list[None] = []
    filesystem = BusyFilesystem(root / PUB, burst)
    store = PosixStore(
        os.fsencode(root),
        filesystem,
        now_ns=lambda: 1 << 62,
        token=next_token,
        pause=lambda: pauses.append(None),
    )
    assert len(read_names(store)) == burst
    assert len(pauses) == max(0, burst - 1)


def test_a_folder_that_never_rests_is_an_error(root: Path) -> None:
    """After ten passes, however long they waited."""
    (root / PUB).mkdir()
    filesystem = BusyFilesystem(root / PUB, PASSES_MAX)
    store = PosixStore(os.fsencode(root), filesystem, now_ns=lambda: 1 << 62, token=next_token)
    with pytest.raises(UnavailableError, match="changed during each of 10 listings"):
        read_names(store)
