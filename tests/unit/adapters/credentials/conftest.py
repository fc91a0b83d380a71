"""What the tests of sources are given."""

from collections.abc import Iterator

import pytest

from tests.unit.adapters.credentials.scripted_http import ScriptedServer, scripted_server


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that answers as the test says."""
    with scripted_server() as server:
        yield server
