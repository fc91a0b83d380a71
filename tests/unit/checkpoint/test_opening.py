"""The public door: which roots open, and what is said of those that don't."""

import os
from pathlib import Path

import pytest

from dispatch.checkpoint import open_store
from dispatch.errors import InvalidInputError, NotFoundError


@pytest.mark.parametrize("end", ["", "/", "/.", "//"])
def test_a_folder_opens(root: Path, end: str) -> None:
    """By text, bytes or path object; a trailing slash means nothing."""
    for given in (str(root) + end, os.fsencode(root) + end.encode(), root):
        log = open_store(given)
        assert log.entries() == []
        assert log.exec_dir("a") == f"{root}/exec/a"


def test_a_missing_root_is_an_error_and_nothing_is_created(root: Path) -> None:
    """Training must not start from scratch because nothing was mounted."""
    with pytest.raises(NotFoundError) as caught:
        open_store(root / "gone")
    assert caught.value.kind == "root-missing"
    assert list(root.iterdir()) == []


def test_a_root_that_is_a_file_is_an_error(root: Path) -> None:
    """It says so."""
    (root / "file").touch()
    with pytest.raises(NotFoundError) as caught:
        open_store(root / "file")
    assert caught.value.kind == "root-not-a-directory"


@pytest.mark.parametrize(
    "given", ["", "relative", "./relative", "~/x", "file:///x", "/a\0b", "/a\nb"]
)
def test_a_root_that_is_no_absolute_path_is_refused(given: str) -> None:
    """What it would mean depends on where one stands."""
    with pytest.raises(InvalidInputError):
        open_store(given)


@pytest.mark.parametrize("given", ["s3://bucket/prefix", "s3:bucket"])
def test_s3_is_refused_until_it_is_built(given: str) -> None:
    """And not taken for a folder."""
    with pytest.raises(InvalidInputError, match="S3 roots aren't built yet") as caught:
        open_store(given)
    assert caught.value.kind == "not-built"


def test_unknown_options_are_refused_by_name(root: Path) -> None:
    """A typing error in an option is not passed over."""
    with pytest.raises(InvalidInputError, match="unknown options of a POSIX root: region, zone"):
        open_store(root, zone=1, region=2)
