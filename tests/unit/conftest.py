"""What the tests of the rules are given: an empty root, its store and its log."""

from pathlib import Path

import pytest

from dispatch.checkpoint.log import Log
from tests.unit.stores import InlinePatience, ScriptedStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty checkpoint root."""
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def store(root: Path) -> ScriptedStore:
    """Its store, at which a test can let things happen."""
    return ScriptedStore(root)


@pytest.fixture
def log(store: ScriptedStore) -> Log:
    """Its log."""
    return Log(store, InlinePatience())
