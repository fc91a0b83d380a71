"""The public door: which roots open, and what is said of those that don't."""

import os
import sys
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


@pytest.mark.parametrize(
    "given",
    ["s3:bucket", "s3://", "s3://ab", "s3://Bucket/x", "s3://bucket//x", "s3://bucket/a/../b",
     "s3://bucket/./a", "s3://bucket/a\\b", "s3://bucket/a\nb", "s3://bucket/\udcff",
     "s3://bucket/" + "x" * 764, "s3:///x"],
)  # fmt: skip
def test_a_root_that_is_no_bucket_is_refused(given: str) -> None:
    """And not taken for a folder."""
    with pytest.raises(InvalidInputError):
        open_store(given)


@pytest.mark.parametrize(
    "given", ["s3://bucket", "s3://bucket/", "s3://bucket/a/b", "s3://a.b-c/a/"]
)
def test_a_bucket_opens_without_being_asked(given: str) -> None:
    """A slash at its end means nothing."""
    options = {"endpoint": "http://127.0.0.1:1", "creds": ["env"], "environment": {}}
    with open_store(given, **options) as log:
        assert log.exec_dir("a") == f"{given.rstrip('/')}/exec/a"
        assert log.relative(f"{given.rstrip('/')}/exec/a/") == b"exec/a"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"zone": 1, "area": 2}, "unknown options of an S3 root: area, zone"),
        ({"endpoint": 1}, "option endpoint is of type int, not text"),
        ({"endpoint": "ftp://x"}, "is not http"),
        ({"endpoint": "http://user:MARKED@x"}, "is not http"),
        ({"endpoint": "https://x/path"}, "is not http"),
        ({"endpoint": "https://[x"}, "is not http"),
        ({"endpoint": "http://x"}, "plain http to another machine"),
        ({"addressing": "both"}, "auto, path, virtual"),
        ({"ca_file": "/no/such/file"}, "/no/such/file"),
        ({"insecure_http": "yes"}, "option insecure_http is of type str, not True or False"),
        ({"creds": "env"}, "option creds is of type str, not a list of texts"),
        ({"creds": ["nowhere"]}, "is not a source"),
        ({"environment": "MARKED"}, "option environment is of type str, not a mapping"),
        ({"proxy": "http://user:MARKED@x"}, "a user or a password"),
    ],
)
def test_an_option_of_s3_that_is_wrong_is_refused(options: dict[str, object], said: str) -> None:
    """By its name, and never with what may be a secret."""
    with pytest.raises(InvalidInputError, match=said) as caught:
        open_store("s3://bucket/x", **options)
    assert "MARKED" not in str(caught.value)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3's packages are looked for when an S3 root is opened, and not before."""
    forget_s3(monkeypatch)
    monkeypatch.setitem(sys.modules, "botocore.config", None)
    with pytest.raises(InvalidInputError, match="botocore") as caught:
        open_store("s3://bucket/x")
    assert caught.value.kind == "not-built"
    assert "pip install '.[s3]'" in caught.value.hint


def test_a_package_of_our_own_that_is_missing_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not something to install."""
    forget_s3(monkeypatch)
    monkeypatch.setitem(sys.modules, "dispatch.adapters.s3.location", None)
    with pytest.raises(ModuleNotFoundError):
        open_store("s3://bucket/x")


def forget_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the adapter be imported anew."""
    for name in [name for name in sys.modules if name.startswith("dispatch.adapters.s3")]:
        monkeypatch.delitem(sys.modules, name)


def test_unknown_options_are_refused_by_name(root: Path) -> None:
    """A typing error in an option is not passed over."""
    with pytest.raises(InvalidInputError, match="unknown options of a POSIX root: region, zone"):
        open_store(root, zone=1, region=2)
