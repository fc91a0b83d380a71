"""No space, no inodes, no quota: nothing half-written, everything there still readable."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.mounts import Mounts, command
from tests.cli.program import Program
from tests.cli.roots import Root

pytestmark = [pytest.mark.real, pytest.mark.root]


def use_up_inodes(folder: Path) -> list[Path]:
    """Make empty files until there can't be another."""
    made: list[Path] = []
    while True:
        file = folder / f"filler-{len(made)}"
        try:
            file.touch()
        except OSError:
            return made
        made.append(file)


def use_up_space(folder: Path) -> list[Path]:
    """Write until nothing fits."""
    file = folder / "filler"
    with file.open("wb", buffering=0) as stream:
        for size in (1 << 20, 1 << 12, 1):
            while True:
                try:
                    stream.write(b"x" * size)
                except OSError:
                    break
    return [file]


def tmpfs_without_inodes(mounts: Mounts) -> Path:
    """Few inodes, in memory."""
    return mounts.tmpfs("size=4m,nr_inodes=40")


def ext4_without_inodes(mounts: Mounts) -> Path:
    """Few inodes, in a file."""
    return mounts.ext4("4m", "-N", "64")


@pytest.mark.parametrize("make", [tmpfs_without_inodes, ext4_without_inodes])
def test_without_inodes_publishing_fails_until_there_are_some(
    mounts: Mounts, publish: Program, make: Callable[[Mounts], Path]
) -> None:
    """By hand and by watch; what was published stays so, and reading works."""
    folder = make(mounts)
    root = Root(folder / "ck", publish)
    old, new = root.hf(1), root.hf(2)
    root.publish(old, 1)
    fillers = use_up_inodes(folder)
    for arguments in (("publish", new, "2"), ("watch", "-framework", "hf", "-once")):
        ended = publish.run(*arguments, "-checkpoint", root.path)
        ended.ended_with(1).answers("").says("ENOSPC", root.pub, "Free space, inodes or quota")
        assert root.published_steps() == [1]
        root.assert_resolves_to(old)
        publish.run("log", "-checkpoint", root.path).well()
    fillers[0].unlink()
    root.publish(new, 2)
    root.assert_resolves_to(new)


def test_without_inodes_for_pub_itself_publishing_fails(mounts: Mounts, publish: Program) -> None:
    """That nothing is published stays the answer."""
    folder = tmpfs_without_inodes(mounts)
    root = Root(folder / "ck", publish)
    save = root.hf(1)
    use_up_inodes(folder)
    ended = publish.run("publish", "-checkpoint", root.path, save, "1")
    ended.ended_with(1).says("creating", root.pub, "ENOSPC")
    assert root.resolve() == b""


@pytest.mark.parametrize("is_claimed", [False, True])
@pytest.mark.parametrize("use_up", [use_up_inodes, use_up_space])
def test_a_full_disk_can_be_pruned(
    mounts: Mounts, publish: Program, use_up: Callable[[Path], list[Path]], *, is_claimed: bool
) -> None:
    """That is when it is needed most."""
    folder = mounts.ext4("8m", "-N", "128")
    root = Root(folder / "ck", publish)
    if is_claimed:
        publish.run("claim", "-checkpoint", root.path).well()
    saves = [root.hf(step) for step in (1, 2, 3)]
    for step, save in enumerate(saves, start=1):
        (save / "model.safetensors").write_bytes(os.urandom(100_000))
        root.publish(save, step)
    use_up(folder)
    root.assert_resolves_to(saves[2])
    root.prune(1).well()
    assert list(root.own().iterdir()) == [saves[2]]
    newest = root.hf(4)
    root.publish(newest, 4)


def test_a_full_disk_takes_no_space_to_publish(mounts: Mounts, publish: Program) -> None:
    """An entry is empty, so the save that filled the disk can still be published."""
    folder = mounts.ext4("4m")
    root = Root(folder / "ck", publish)
    root.publish(root.hf(1), 1)
    last = root.hf(2)
    use_up_space(folder)
    root.publish(last, 2)
    root.assert_resolves_to(last)


def test_over_quota_publishing_fails_until_there_is_room(mounts: Mounts, publish: Program) -> None:
    """By hand and by watch."""
    folder = mounts.btrfs_with_quotas()
    command("btrfs", "subvolume", "create", folder / "ck")
    root = Root(folder / "ck", publish)
    old, new = root.hf(1), root.hf(2)
    root.publish(old, 1)
    command("btrfs", "qgroup", "limit", "16k", root.path)
    for arguments in (("publish", new, "2"), ("watch", "-framework", "hf", "-once")):
        ended = publish.run(*arguments, "-checkpoint", root.path)
        ended.ended_with(1).answers("").says("EDQUOT", root.pub, "Free space, inodes or quota")
    root.assert_resolves_to(old)
    command("btrfs", "quota", "disable", folder)
    root.publish(new, 2)
    root.assert_resolves_to(new)
