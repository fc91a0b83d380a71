"""What the tests of the pages share."""

from pathlib import Path

import pytest

from tests.docs.sandbox import Built, Sandbox, build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """What `make dist` builds."""
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def sandbox(tmp_path: Path, built: Built) -> Sandbox:
    """A fresh folder with the example root."""
    return Sandbox(tmp_path / "sandbox", built)
