"""File systems made for one test run, mounted below its temporary folder and gone after it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.program import wait_for

BOUND_S = 60.0  # for one of the programs below; they take milliseconds


@dataclass(frozen=True, slots=True)
class Kind:
    """A file system that can be made.

    Attributes:
        name: As a test's identifier shows it.
        mkfs: The program that makes it, and its options; empty where mounting makes it.
        image_bytes: The size of its image, a sparse file: the least that the program takes.
        options: For `mount`.
    """

    name: str
    mkfs: tuple[str, ...]
    image_bytes: int
    options: tuple[str, ...] = ("-o", "loop")

    def __str__(self) -> str:
        return self.name


MIB = 1 << 20
EXT4 = Kind("ext4", ("mkfs.ext4", "-q", "-b", "4096", "-I", "256"), 64 * MIB)
EXT4_OLD = Kind("ext4-128-byte-inodes", ("mkfs.ext4", "-q", "-b", "4096", "-I", "128"), 64 * MIB)
XFS = Kind("xfs", ("mkfs.xfs", "-q"), 320 * MIB)
BTRFS = Kind("btrfs", ("mkfs.btrfs", "-q"), 128 * MIB)
TMPFS = Kind("tmpfs", (), 0, ("-t", "tmpfs", "-o", "size=64m"))
KINDS = (EXT4, EXT4_OLD, XFS, BTRFS, TMPFS)


def require(kind: Kind) -> None:
    """Skip the test unless ``kind`` can be made and mounted here."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    missing = [program for program in (*kind.mkfs[:1], "mount") if not shutil.which(program)]
    if missing:
        pytest.skip(f"missing programs: {' '.join(missing)} (tools/debian_packages.sh)")


def run(*command: str | Path) -> str:
    """Run a program, which must succeed; what it printed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BOUND_S, check=False
    )
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {said}"
    return said


@contextmanager
def mounted(kind: Kind, scratch: Path) -> Iterator[Path]:
    """Make a file system and mount it; unmounted at the end, its loop device freed."""
    require(kind)
    folder = scratch / "mounted"
    folder.mkdir()
    image = scratch / "image"
    if kind.mkfs:
        with image.open("wb") as file:
            file.truncate(kind.image_bytes)
        run(*kind.mkfs, image)
    run("mount", *kind.options, image if kind.mkfs else "none", folder)
    try:
        yield folder
    finally:
        unmount(folder)
        if kind.mkfs:
            # A process with mounts of its own that was started meanwhile may still hold it.
            wait_for(lambda: run("losetup", "-j", image) == "", "the loop device to be free")
            image.unlink()


@contextmanager
def scratch_at(place: Path, *, options: str = "size=1m") -> Iterator[None]:
    """Mount an empty tmpfs on the folder ``place``."""
    run("mount", "-t", "tmpfs", "-o", options, "none", place)
    try:
        yield
    finally:
        unmount(place)


@contextmanager
def bound(folder: Path, place: Path) -> Iterator[None]:
    """Show ``folder`` at ``place``, too: another mount of the same file system."""
    run("mount", "--bind", folder, place)
    try:
        yield
    finally:
        unmount(place)


def unmount(folder: Path) -> None:
    """Unmount, after closing what stores of this process still have open in it."""
    for handle in Path("/proc/self/fd").iterdir():
        try:
            is_inside = handle.readlink().is_relative_to(folder)
        except FileNotFoundError:  # the handle that listed these
            continue
        if is_inside:
            os.close(int(handle.name))
    run("umount", folder)
