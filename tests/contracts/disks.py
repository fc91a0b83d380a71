"""The disks that the file system contract runs on: in memory and real."""

from __future__ import annotations

import os
from pathlib import Path

from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.ports.filesystem import Filesystem
from dispatch.testing.calls import WatchedFilesystem
from dispatch.testing.crashfs import CrashFilesystem


class CrashDisk:
    """A folder of the file system that can lose power."""

    folder = b"/scratch/d"

    def __init__(self) -> None:
        self._disk = CrashFilesystem()
        self._disk.make_folder(self.folder)

    @property
    def filesystem(self) -> Filesystem:
        return self._disk

    def write(self, path: bytes, content: bytes) -> None:
        self._disk.write(self.folder + b"/" + path, content)

    def link(self, path: bytes, target: bytes) -> None:
        self._disk.link(self.folder + b"/" + path, target)

    def pipe(self, path: bytes) -> None:
        self._disk.pipe(self.folder + b"/" + path)


class Recorder(OsFilesystem):
    """The system's file system, which knows the handles that a test left open."""

    __slots__ = ("left_open",)

    def __init__(self) -> None:
        self.left_open: set[int] = set()

    def open_dir(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> int:
        handle = super().open_dir(path, at, follow=follow)
        self.left_open.add(handle)
        return handle

    def open_file(self, path: bytes | str, at: int) -> int:
        handle = super().open_file(path, at)
        self.left_open.add(handle)
        return handle

    def close(self, handle: int) -> None:
        super().close(handle)
        self.left_open.discard(handle)

    def close_all(self) -> None:
        """Close what is open."""
        for handle in list(self.left_open):
            self.close(handle)


class OsDisk:
    """A folder of the system's own."""

    def __init__(self, folder: Path, *, is_watched: bool = False) -> None:
        folder.mkdir()
        self._folder = folder
        self.folder = os.fsencode(folder)
        self.system = Recorder()
        self.filesystem: Filesystem = WatchedFilesystem(self.system) if is_watched else self.system

    def write(self, path: bytes, content: bytes) -> None:
        file = self._folder / os.fsdecode(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def link(self, path: bytes, target: bytes) -> None:
        (self._folder / os.fsdecode(path)).symlink_to(os.fsdecode(target))

    def pipe(self, path: bytes) -> None:
        os.mkfifo(self._folder / os.fsdecode(path))
