"""Real file systems, mounted in a namespace of our own: it takes them along when it ends."""

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

_CLONE_NEWNS = 0x00020000  # linux/sched.h


def enter_private_namespace() -> None:
    """Give this process, and what it starts from now on, mounts that nobody else sees."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount file systems")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        pytest.skip(f"no mount namespace is to be had: {os.strerror(ctypes.get_errno())}")
    command("mount", "--make-rprivate", "/")


def command(*words: str | Path) -> bytes:
    """Run a command that must succeed; return what it printed."""
    ended = subprocess.run(words, capture_output=True, check=False)
    assert ended.returncode == 0, f"{words}: {ended.stderr!r}"
    return ended.stdout


class Mounts:
    """What one test mounts, below a folder of its own that everybody may enter."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder = folder
        self._mounted: list[Path] = []

    def _mount(self, where: Path, *words: str | Path) -> Path:
        where.mkdir(exist_ok=True)
        command("mount", *words, where)
        self._mounted.append(where)
        return where

    def tmpfs(self, options: str, where: Path | None = None) -> Path:
        """Mount a small file system in memory: ``size=1m,nr_inodes=20``."""
        where = where or self.folder / "tmpfs"
        return self._mount(where, "-t", "tmpfs", "-o", options, "tmpfs")

    def ext4(self, size: str, *make: str, where: Path | None = None) -> Path:
        """Make and mount an ext4 in a file."""
        image = self.folder / f"{len(self._mounted)}.image"
        command("truncate", "-s", size, image)
        command("mkfs.ext4", "-q", "-F", "-m", "0", *make, image)
        where = where or self.folder / "ext4"
        return self._mount(where, "-t", "ext4", "-o", "loop,noatime", image)

    def btrfs_with_quotas(self) -> Path:
        """Make and mount a btrfs that counts what each of its subvolumes has."""
        image = self.folder / f"{len(self._mounted)}.image"
        command("truncate", "-s", "128m", image)
        command("mkfs.btrfs", "-q", image)
        where = self._mount(self.folder / "btrfs", "-t", "btrfs", "-o", "loop,noatime", image)
        command("btrfs", "quota", "enable", where)
        return where

    def read_only(self, folder: Path) -> Path:
        """Mount a folder once more, so that nothing can be written there."""
        where = self.folder / "read-only"
        self._mount(where, "--bind", folder)
        command("mount", "-o", "remount,bind,ro", where)
        return where

    def bind(self, folder: Path, where: Path) -> Path:
        """Mount a folder at another place."""
        return self._mount(where, "--bind", folder)

    def unmount_last(self) -> None:
        """Take the last one away, whatever is still in use."""
        command("umount", "--lazy", self._mounted.pop())

    def unmount(self) -> None:
        """Take everything away."""
        while self._mounted:
            self.unmount_last()


class Freezer:
    """A file system that can be made to hang, and always thaws: also when we are killed."""

    def __init__(self, where: Path) -> None:
        self._where = where
        # It reads until our end of the pipe closes, by us or with us.
        script = 'read -r _; fsfreeze --unfreeze "$0"'
        self._guard = subprocess.Popen(
            ["sh", "-c", script, where], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        command("fsfreeze", "--freeze", where)

    def thaw(self) -> None:
        """Let it go on, if it does not."""
        if self._guard.poll() is None:
            self._guard.communicate(timeout=60)
