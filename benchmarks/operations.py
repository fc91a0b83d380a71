"""What is measured more than once: in time, in this process, and in memory, in one of its own.

``python -m benchmarks.operations OPERATION ARGUMENT...`` does one and prints the peak memory of
its process in bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

    from dispatch.checkpoint import Log

PUB = "pub"


def resolve(root: str) -> object:
    """Find the latest publication."""
    from dispatch.checkpoint import open_store

    with open_store(root) as log:
        return log.resolve()


def greatest_name(root: str) -> object:
    """List the folder and take the greatest name: what `resolve` can't be faster than."""
    return max(os.listdir(f"{root}/{PUB}"))  # noqa: PTH208 - it is what is measured


def entries(root: str) -> object:
    """List all publications, ascending."""
    from dispatch.checkpoint import open_store

    with open_store(root) as log:
        return log.entries()


def sorted_names(root: str) -> object:
    """List the folder and sort the names: what `entries` can't be faster than."""
    return sorted(os.listdir(f"{root}/{PUB}"))  # noqa: PTH208 - it is what is measured


def plan(root: str) -> object:
    """Say what a prune that keeps three would remove."""
    from dispatch.checkpoint import open_store

    with open_store(root) as log:
        return log.prune(3, dry_run=True)


def scan_twice(root: str, saves: str, epoch: str) -> object:
    """Publish all that is there, and look again."""
    from dispatch.checkpoint import Framework, Watcher, open_store

    with open_store(root) as log:
        watcher = Watcher(log, Framework.hf, saves, int(epoch))
        return watcher.scan(), watcher.scan()


def names_of(folder: str) -> object:
    """List a folder."""
    return os.listdir(folder)  # noqa: PTH208 - it is what is measured


def variables_of_owner() -> dict[str, str]:
    """Return the environment that has the keys of the tests' own servers."""
    from tests.servers.s3 import OWNER

    return {
        "AWS_ACCESS_KEY_ID": OWNER.access_key_id,
        "AWS_SECRET_ACCESS_KEY": OWNER.secret_access_key,
    }


def open_on_s3(root: str, url: str) -> Log:
    """Open a root on such a server."""
    from dispatch.checkpoint import open_store

    variables = variables_of_owner()
    return open_store(root, endpoint=url, creds=["env"], environment=variables)


def resolve_on_s3(root: str, url: str) -> object:
    """Find the latest publication in a bucket."""
    with open_on_s3(root, url) as log:
        return log.resolve()


def keys(client: S3Client, bucket: str, prefix: str) -> Iterator[str]:
    """Yield the keys that begin with a prefix, as botocore lists them, page by page."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return (item["Key"] for page in pages for item in page.get("Contents", ()))


def greatest_key(url: str, bucket: str, prefix: str) -> object:
    """List a bucket and take the greatest key: what `resolve_on_s3` can't be faster than."""
    from tests.servers.s3 import S3Server

    return max(keys(S3Server("", "", url).client(), bucket, prefix))


OPERATIONS: dict[str, Callable[..., object]] = {
    work.__name__: work
    for work in (
        resolve,
        greatest_name,
        entries,
        sorted_names,
        plan,
        scan_twice,
        names_of,
        resolve_on_s3,
        greatest_key,
    )
}


def peak() -> int:
    """Return the peak memory of this process in bytes.

    (What the kernel tells of an ended child would not do: it counts the parent's memory too,
    from before the child's program was loaded.)
    """
    with Path("/proc/self/status").open(encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) * 1024


def main() -> None:
    """Do what the command line says."""
    operation, *arguments = sys.argv[1:]
    outcome = OPERATIONS[operation](*arguments)
    print(peak())
    del outcome


if __name__ == "__main__":
    main()
