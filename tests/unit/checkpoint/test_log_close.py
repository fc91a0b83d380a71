"""Giving back what a log holds open."""

import os
import pickle
from pathlib import Path

import pytest

from dispatch.checkpoint import open_store
from dispatch.errors import UnavailableError


def descriptors() -> int:
    """How many are open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - of this very moment


def test_a_log_gives_its_descriptor_back_at_the_end_of_its_block(tmp_path: Path) -> None:
    """A program that opens many roots does not run out of descriptors."""
    before = descriptors()
    with open_store(tmp_path) as log:
        assert descriptors() == before + 1
        log.close()
    assert descriptors() == before


def test_nothing_can_be_asked_of_a_closed_log(tmp_path: Path) -> None:
    """Above all it does not answer for the working directory."""
    (tmp_path / "pub").mkdir()
    log = open_store(tmp_path)
    log.close()
    with pytest.raises(UnavailableError):
        log.resolve()


def test_a_log_cannot_be_pickled(tmp_path: Path) -> None:
    """Another process would take its descriptor's number for the root's."""
    with open_store(tmp_path) as log, pytest.raises(TypeError, match="open the root again"):
        pickle.dumps(log)
