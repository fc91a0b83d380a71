"""`publish run` with the real torchtitan `CheckpointManager`: see `dcp_story`.

torchtitan takes the save to resume from as its ``initial_load_path``, and saves one folder deeper
than `publish` looks by itself: to ``checkpoint/step-<n>`` in the execution's own folder.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.dcp_story import RESUMING, DcpStory, Story, tell
from tests.real.programs.executions import Site

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The story, told once, with torchtitan's asynchronous saves."""
    site = Site(tmp_path_factory.mktemp("torchtitan"), inside="/checkpoint")
    try:
        yield tell(site, "job_titan.sh", "async")
    finally:
        site.end()


class TestTorchtitan(DcpStory):
    """What must have come of it."""

    program = "train_titan.py"

    def test_torchtitan_itself_loads_the_save_that_was_resolved(self, story: Story) -> None:
        for execution in (story.b, story.c, story.d):
            [save] = RESUMING.findall(execution.printed())
            assert f"Loading the checkpoint from {save}." in execution.printed()
