"""The benches that the contract suites run on: in memory, on a crashing disk, in a real folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from dispatch.adapters.posix import PosixStore, open_root
from dispatch.adapters.system.clock import pause, wall_ns
from dispatch.adapters.system.entropy import token
from dispatch.adapters.system.patience import ThreadPatience
from dispatch.checkpoint.patient import PatientStore
from dispatch.testing.calls import WatchedFilesystem
from dispatch.testing.contracts.bench import PublishingBench, StoreBench
from dispatch.testing.crashfs import CrashFilesystem
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Folder, Link, Pipe, look, parent_of
from dispatch.testing.tree import File

ROOT = b"/disk/root"


class MemoryBench:
    """A root in memory."""

    def __init__(self) -> None:
        self._store = MemoryStore()

    def open(self) -> MemoryStore:
        self._store.check()
        return self._store

    def write(self, path: bytes, content: bytes) -> None:
        folder, name = parent_of(self._store.folder, path)
        folder.inner[name] = content

    def make_folder(self, path: bytes) -> bool:
        parent_of(self._store.folder, path + b"/inside")
        return True

    def link(self, path: bytes, target: bytes) -> bool:
        folder, name = parent_of(self._store.folder, path)
        folder.inner[name] = Link(target)
        return True

    def pipe(self, path: bytes) -> bool:
        folder, name = parent_of(self._store.folder, path)
        folder.inner[name] = Pipe()
        return True

    def mount(self, path: bytes) -> bool:
        folder, name = parent_of(self._store.folder, path)
        folder.inner[name] = Folder(is_mount=True)
        return True

    def content(self, path: bytes) -> bytes | None:
        node = look(self._store.folder, path)
        return node if isinstance(node, bytes) else None

    def destroy(self) -> None:
        self._store.destroy()


class CrashBench:
    """A root on a disk that could lose power, and here does not."""

    def __init__(self) -> None:
        self.disk = CrashFilesystem()
        self.disk.make_folder(ROOT)

    def open(self) -> PosixStore:
        return PosixStore(ROOT, self.disk, now_ns=self.disk.now_ns, token=token)

    def write(self, path: bytes, content: bytes) -> None:
        self.disk.write(ROOT + b"/" + path, content)

    def make_folder(self, path: bytes) -> bool:
        self.disk.make_folder(ROOT + b"/" + path)
        return True

    def link(self, path: bytes, target: bytes) -> bool:
        self.disk.link(ROOT + b"/" + path, target)
        return True

    def pipe(self, path: bytes) -> bool:
        self.disk.pipe(ROOT + b"/" + path)
        return True

    def mount(self, path: bytes) -> bool:
        self.disk.mount_on(ROOT + b"/" + path)
        return True

    def content(self, path: bytes) -> bytes | None:
        node = self.disk.tree().at(ROOT + b"/" + path)
        return node.content if isinstance(node, File) else None

    def destroy(self) -> None:
        self.disk.remove(ROOT)


class WatchedBench(CrashBench):
    """The same through the fault-injecting layer, with no fault."""

    def open(self) -> PosixStore:
        watched = WatchedFilesystem(self.disk)
        return PosixStore(ROOT, watched, now_ns=self.disk.now_ns, token=token)


class FolderBench:
    """A root in a folder of the real file system.

    Args:
        root: The folder to make.
        mount: How to mount something on a folder; None where that can't be done.
    """

    def __init__(self, root: Path, mount: Callable[[Path], None] | None = None) -> None:
        self._root = root
        self._mount = mount
        root.mkdir()

    def _path(self, path: bytes) -> Path:
        inside = self._root / os.fsdecode(path)
        inside.parent.mkdir(parents=True, exist_ok=True)
        return inside

    def open(self) -> PosixStore:
        return open_root(os.fsencode(self._root), now_ns=wall_ns, token=token, pause=pause)

    def write(self, path: bytes, content: bytes) -> None:
        self._path(path).write_bytes(content)

    def make_folder(self, path: bytes) -> bool:
        self._path(path).mkdir()
        return True

    def link(self, path: bytes, target: bytes) -> bool:
        self._path(path).symlink_to(os.fsdecode(target))
        return True

    def pipe(self, path: bytes) -> bool:
        os.mkfifo(self._path(path))
        return True

    def mount(self, path: bytes) -> bool:
        if self._mount is None:
            return False
        folder = self._path(path)
        folder.mkdir()
        self._mount(folder)
        return True

    def content(self, path: bytes) -> bytes | None:
        file = self._root / os.fsdecode(path)
        return file.read_bytes() if file.is_file() else None

    def destroy(self) -> None:
        shutil.rmtree(self._root)


class PatientBench:
    """The store of another bench, waited for."""

    def __init__(self, bench: StoreBench) -> None:
        self._bench = bench
        self.write = bench.write
        self.make_folder = bench.make_folder
        self.link = bench.link
        self.pipe = bench.pipe
        self.mount = bench.mount
        self.content = bench.content
        self.destroy = bench.destroy

    def open(self) -> PatientStore:
        return PatientStore(self._bench.open(), ThreadPatience(), time_out=60.0)


def benches(folder: FolderBench) -> tuple[StoreBench, StoreBench, StoreBench, PublishingBench]:
    """Let the type checker prove that each is a bench."""
    crash = CrashBench()
    return MemoryBench(), crash, folder, PatientBench(crash)
