"""`publish run` with real `torch.distributed.checkpoint` saves in a folder: see `dcp_story`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.dcp_story import DcpStory, Story, tell
from tests.real.programs.executions import Site

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=["sync", "async"])
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """The story, told once for each form of saving."""
    site = Site(tmp_path_factory.mktemp(f"dcp-{request.param}"))
    try:
        yield tell(site, "job_dcp.sh", request.param)
    finally:
        site.end()


class TestInAFolder(DcpStory):
    """What must have come of it."""
