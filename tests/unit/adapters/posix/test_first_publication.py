"""The first publication of a root, as it appears while somebody looks."""

import os
from pathlib import Path

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint import Log
from dispatch.errors import NotFoundError, UnavailableError
from tests.unit.stores import (
    Changes,
    InlinePatience,
    TroubledFilesystem,
    make_save,
    next_token,
    plain_log,
)


@pytest.mark.parametrize("call", range(8))
def test_resolving_while_the_first_save_is_published_is_no_error(root: Path, call: int) -> None:
    """Whichever call it comes before: the answer is either nothing or that save."""
    save = make_save(root, 1)
    filesystem = TroubledFilesystem(Changes())
    log = Log(
        PosixStore(os.fsencode(root), filesystem, now_ns=lambda: 0, token=next_token),
        InlinePatience(),
    )
    filesystem.interrupted_in = call
    filesystem.meanwhile = lambda: plain_log(root).publish(1, 1, save)
    found = log.resolve()
    assert found is None or found.step == 1
    filesystem.clear()
    published = log.resolve()
    assert (published is not None) == (root / "pub").exists()


def test_a_pub_that_leads_nowhere_is_not_taken_for_an_empty_one(root: Path) -> None:
    """What it leads to may not be mounted here."""
    (root / "pub").symlink_to("nowhere")
    with pytest.raises(UnavailableError, match="is a link to something that is not there"):
        plain_log(root).resolve()


def test_a_root_that_goes_is_not_taken_for_an_empty_one(root: Path) -> None:
    """The last thing that a torn mount may say is "nothing published"."""
    log = plain_log(root)
    root.rmdir()
    with pytest.raises(NotFoundError):
        log.resolve()
