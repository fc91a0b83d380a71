"""The system calls, and the two things that Linux tells only through /proc."""

from __future__ import annotations

import os

_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
_ENTRY_MODE = 0o666  # less the umask, as the shell's own redirections
# Only this kernel changes their folders, and stamps each change: measured on each (tests/real).
_LOCAL_TYPES = frozenset({"ext4", "xfs", "btrfs", "tmpfs"})


class OsFilesystem:
    """`dispatch.ports.filesystem.Filesystem` on the running system."""

    __slots__ = ()

    def open_dir(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> int:
        flags = _DIR_FLAGS if follow else _DIR_FLAGS | os.O_NOFOLLOW
        return os.open(path, flags, dir_fd=at)

    def open_file(self, path: bytes | str, at: int) -> int:
        return os.open(path, _READ_FLAGS, dir_fd=at)

    def close(self, handle: int) -> None:
        os.close(handle)

    def create(self, path: bytes | str, at: int) -> None:
        os.close(os.open(path, _CREATE_FLAGS, _ENTRY_MODE, dir_fd=at))

    def symlink(self, target: bytes, path: bytes | str, at: int) -> None:
        os.symlink(target, path, dir_fd=at)

    def readlink(self, path: bytes | str, at: int) -> bytes:
        return os.readlink(os.fsencode(path), dir_fd=at)

    def read(self, handle: int, size_max: int) -> bytes:
        return os.read(handle, size_max)

    def mkdir(self, path: bytes | str, at: int) -> None:
        os.mkdir(path, dir_fd=at)

    def stat(
        self, path: bytes | str, at: int | None = None, *, follow: bool = True
    ) -> os.stat_result:
        return os.stat(path, dir_fd=at, follow_symlinks=follow)

    def fstat(self, handle: int) -> os.stat_result:
        return os.fstat(handle)

    def mount(self, handle: int) -> int | None:
        try:
            with open(f"/proc/self/fdinfo/{handle}", "rb") as file:
                fields = dict(line.split(b":", 1) for line in file if b":" in line)
            return int(fields[b"mnt_id"])
        except (OSError, KeyError, ValueError):
            return None

    def type_name(self, handle: int) -> str | None:
        mount = self.mount(handle)
        if mount is None:
            return None
        try:
            with open("/proc/self/mountinfo", "rb") as file:
                for line in file:
                    if line.startswith(b"%d " % mount):
                        return line.rpartition(b" - ")[2].split()[0].decode()
        except (OSError, IndexError, ValueError):
            pass
        return None

    def is_local(self, handle: int) -> bool:
        return self.type_name(handle) in _LOCAL_TYPES

    def listdir(self, handle: int) -> list[str]:
        # btrfs shows a handle only the names that were there when it was opened or rewound.
        os.lseek(handle, 0, os.SEEK_SET)
        return os.listdir(handle)

    def rename(self, old: bytes | str, new: bytes | str, at: int) -> None:
        os.rename(old, new, src_dir_fd=at, dst_dir_fd=at)

    def unlink(self, path: bytes | str, at: int) -> None:
        os.unlink(path, dir_fd=at)

    def rmdir(self, path: bytes | str, at: int) -> None:
        os.rmdir(path, dir_fd=at)

    def fsync(self, handle: int) -> None:
        os.fsync(handle)
