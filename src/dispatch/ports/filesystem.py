"""One method for each system call of the POSIX store, so that a test can lose power at any.

Handles are small integers, as file descriptors are. ``at`` is the handle of the
folder that a path is relative to. Every method raises `OSError` with the kernel's errno, which
the store translates; nothing is retried here (the interpreter repeats EINTR).
"""

from __future__ import annotations

from typing import Protocol


class Status(Protocol):
    """What `stat` says of a file, as `os.stat_result` does.

    These: st_mode, st_dev, st_ino, st_size, and the stamps st_mtime_ns and st_ctime_ns.
    """

    @property
    def st_mode(self) -> int: ...
    @property
    def st_dev(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ctime_ns(self) -> int: ...


class Filesystem(Protocol):
    """The system calls."""

    def open_dir(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> int:
        """Open a folder for listing and as ``at``.

        ENOTDIR when it is none; ENOTDIR or ELOOP when it is a link and ``follow`` is off.
        """
        ...

    def open_file(self, path: bytes | str, at: int) -> int:
        """Open for reading without ever blocking (O_NONBLOCK), following links."""
        ...

    def close(self, handle: int) -> None:
        """Give the handle back."""
        ...

    def create(self, path: bytes | str, at: int) -> None:
        """Make an empty file exclusively; EEXIST when anything has the name."""
        ...

    def symlink(self, target: bytes, path: bytes | str, at: int) -> None:
        """Make a symbolic link exclusively, whole at once; EEXIST when anything has the name."""
        ...

    def readlink(self, path: bytes | str, at: int) -> bytes:
        """The target of a symbolic link, as it was written; EINVAL when it is something else."""
        ...

    def read(self, handle: int, size_max: int) -> bytes:
        """Read from where the last read ended; empty at the end."""
        ...

    def mkdir(self, path: bytes | str, at: int) -> None:
        """Make a folder with the umask's mode."""
        ...

    def stat(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> Status:
        """Look at a name."""
        ...

    def fstat(self, handle: int) -> Status:
        """Look at an open file."""
        ...

    def mount(self, handle: int) -> int | None:
        """An identifier of the mount that the handle is on; None where that can't be known."""
        ...

    def type_name(self, handle: int) -> str | None:
        """The file system's type as `mount` shows it (``ext4``); None where it can't be known."""
        ...

    def is_local(self, handle: int) -> bool:
        """Whether it is a file system whose times this kernel alone keeps (ext4, XFS, …)."""
        ...

    def listdir(self, handle: int) -> list[str]:
        """All names of an open folder, from its beginning; undecodable bytes as PEP 383 says."""
        ...

    def rename(self, old: bytes | str, new: bytes | str, at: int) -> None:
        """Rename within one folder; replaces nothing that is not an empty folder."""
        ...

    def unlink(self, path: bytes | str, at: int) -> None:
        """Remove a file's or link's name."""
        ...

    def rmdir(self, path: bytes | str, at: int) -> None:
        """Remove an empty folder."""
        ...

    def fsync(self, handle: int) -> None:
        """Make a file's content, or a folder's names, durable."""
        ...
