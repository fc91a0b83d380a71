"""Executions of a job script whose root is in a bucket of a real server."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatch.checkpoint import Log, open_store
from tests.real.programs.executions import INTERVAL_S, PROGRAMS, Site
from tests.servers.programs import RCLONE, need
from tests.servers.s3 import REGION, S3Server

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

PUBLISH_S3 = os.environ.get("DISPATCH_TEST_PUBLISH_S3", "")
"""`publish` of an installed wheel with its extra ``s3``."""

BUCKET, PREFIX = "team", "finetune"

WRITE = re.compile(rf'"PUT /{BUCKET}/(\S+?)(?:\?\S*)? HTTP/1\.1" 200 ')
"""A finished write in radosgw's own log, and its key."""

HOLD = """\
if [ "$1" = copyto ] && [ -e "$DISPATCH_TEST_CONTROL/hold-upload" ]; then
    echo "$3" >"$DISPATCH_TEST_CONTROL/held-upload"
    exec /bin/sleep 1000
fi"""


class BucketSite(Site):
    """A root in a bucket: ``s3://team/finetune``, as the scripts name it, which run unchanged.

    The ``sleep`` that they find waits for less. ``rclone`` is the real one, but a test can hold
    it before it copies a marker.

    Attributes:
        server: Where the bucket is.
    """

    def __init__(self, folder: Path, server: S3Server) -> None:
        if not PUBLISH_S3 and os.environ.get("CI") == "true":
            pytest.fail("CI=true, and DISPATCH_TEST_PUBLISH_S3 names no program")
        self.server = server
        self._client: S3Client = server.client()
        self.publish_command = (
            [PUBLISH_S3] if PUBLISH_S3 else [sys.executable, "-m", "dispatch.cli.publish"]
        )
        self._earlier = len(self._log_of_radosgw())
        super().__init__(folder)
        [rclone] = need(RCLONE)
        self._program("rclone", HOLD, [str(rclone)])
        self._program("sleep", f"set -- {INTERVAL_S}", ["/bin/sleep"])

    def keys(self, location: str) -> list[str]:
        """What lies below a location, relative to it, in order."""
        prefix = location.removeprefix(f"s3://{BUCKET}/") + "/"
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        found = (item["Key"] for page in pages for item in page.get("Contents", ()))
        return sorted(key.removeprefix(prefix) for key in found)

    def writes(self, save: str) -> list[str]:
        """The files of a save in the order in which radosgw had them whole, by its own log."""
        prefix = save.removeprefix(f"s3://{BUCKET}/") + "/"
        keys = WRITE.findall(self._log_of_radosgw()[self._earlier :])
        return [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]

    def _log_of_radosgw(self) -> str:
        if "rgw" not in self.server.daemons:
            return ""
        log = self.server.daemons["rgw"].log.with_name("client.rgw.ceph.log")
        return log.read_text("utf-8", "replace")

    def files(self, save: str) -> list[str]:
        return self.keys(save)

    def _make_root(self) -> tuple[str, Log]:
        self.variables |= {
            "AWS_ACCESS_KEY_ID": self.server.keys.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.server.keys.secret_access_key,
            "AWS_ENDPOINT_URL_S3": self.server.url,
            "AWS_REGION": REGION,
        }
        if BUCKET not in (bucket["Name"] for bucket in self._client.list_buckets()["Buckets"]):
            self._client.create_bucket(Bucket=BUCKET)
        location = f"s3://{BUCKET}/{PREFIX}"
        for key in self.keys(location):  # of an earlier site
            self._client.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/{key}")
        return location, open_store(
            location, endpoint=self.server.url, creds=["env"], environment=self.variables
        )

    def _private_path(self) -> list[str]:
        return []  # no path has to be made private

    def _script(self, name: str) -> Path:
        return PROGRAMS / name
