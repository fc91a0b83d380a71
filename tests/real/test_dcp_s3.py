"""`publish run` with real `torch.distributed.checkpoint` saves on S3: see `dcp_story`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.dcp_story import DcpStory, Story, tell
from tests.real.programs.buckets import BucketSite

pytestmark = [pytest.mark.real, pytest.mark.frameworks, pytest.mark.timeout(900)]

ON_RADOSGW = "radosgw-sync"


@pytest.fixture(scope="module", params=[ON_RADOSGW, "seaweedfs-async"])
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """The story, told once for each store, in the one form of saving and in the other."""
    server, form = request.param.split("-")
    site = BucketSite(
        tmp_path_factory.mktemp(f"dcp-{request.param}"), request.getfixturevalue(server)
    )
    try:
        yield tell(site, "job_dcp_s3.sh", form)
    finally:
        site.end()


class TestInABucket(DcpStory):
    """What must have come of it."""


@pytest.mark.parametrize("story", [ON_RADOSGW], indirect=True, scope="module")
def test_the_marker_is_the_last_file_that_the_store_has(story: Story) -> None:
    """By radosgw's own log: a save that has its marker has both shards."""
    site = story.site
    assert isinstance(site, BucketSite)
    saves = [f"{story.a.location}/step-{step}" for step in story.published_by_a]
    for save in [*saves, *map(site.log.location, story.late)]:
        names = site.writes(save)
        assert sorted(names[:2]) == ["__0_0.distcp", "__1_0.distcp"]
        assert names[2:] == [".metadata.tmp", ".metadata"]
    assert ".metadata" not in site.writes(story.half_written)
