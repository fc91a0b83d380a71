"""Watching every call of a file system, and meddling with it, from one place.

A *rule* is asked before each call, in the order in which the rules were given. It may do
something (another process's whole step, say), raise the `OSError` that the call shall fail with,
or raise `SkipCall` so that an fsync does nothing and says that it did.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dispatch.ports.filesystem import Filesystem, Status


@dataclass(frozen=True, slots=True)
class Call:
    """One call that is about to be made.

    Attributes:
        number: Its place among all calls of one `WatchedFilesystem`, from 1.
        method: The method of `dispatch.ports.filesystem.Filesystem`.
        path: What it is about: the path as it was given, after that of the folder it is relative
            to; for a handle the path that it was opened with.
    """

    number: int
    method: str
    path: bytes


class SkipCall(Exception):  # noqa: N818 - not an error: a rule's answer
    """The call shall do nothing and return; only fsync can."""


Rule: TypeAlias = Callable[[Call], None]


class WatchedFilesystem:
    """Another file system, each call of which is logged and put to rules first.

    Attributes:
        calls: Every call so far, also those that a rule or the file system let fail.
    """

    def __init__(self, inner: Filesystem, *rules: Rule) -> None:
        self.calls: list[Call] = []
        self._inner = inner
        self._rules = rules
        self._paths: dict[int, bytes] = {}

    def open_dir(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> int:
        where = self._before("open_dir", path, at)
        return self._opened(self._inner.open_dir(path, at, follow=follow), where)

    def open_file(self, path: bytes | str, at: int) -> int:
        where = self._before("open_file", path, at)
        return self._opened(self._inner.open_file(path, at), where)

    def close(self, handle: int) -> None:
        self._before("close", b"", handle)
        self._inner.close(handle)
        self._paths.pop(handle, None)

    def create(self, path: bytes | str, at: int) -> None:
        self._before("create", path, at)
        self._inner.create(path, at)

    def symlink(self, target: bytes, path: bytes | str, at: int) -> None:
        self._before("symlink", path, at)
        self._inner.symlink(target, path, at)

    def readlink(self, path: bytes | str, at: int) -> bytes:
        self._before("readlink", path, at)
        return self._inner.readlink(path, at)

    def read(self, handle: int, size_max: int) -> bytes:
        self._before("read", b"", handle)
        return self._inner.read(handle, size_max)

    def mkdir(self, path: bytes | str, at: int) -> None:
        self._before("mkdir", path, at)
        self._inner.mkdir(path, at)

    def stat(self, path: bytes | str, at: int | None = None, *, follow: bool = True) -> Status:
        self._before("stat", path, at)
        return self._inner.stat(path, at, follow=follow)

    def fstat(self, handle: int) -> Status:
        self._before("fstat", b"", handle)
        return self._inner.fstat(handle)

    def mount(self, handle: int) -> int | None:
        self._before("mount", b"", handle)
        return self._inner.mount(handle)

    def type_name(self, handle: int) -> str | None:
        self._before("type_name", b"", handle)
        return self._inner.type_name(handle)

    def is_local(self, handle: int) -> bool:
        self._before("is_local", b"", handle)
        return self._inner.is_local(handle)

    def listdir(self, handle: int) -> list[str]:
        self._before("listdir", b"", handle)
        return self._inner.listdir(handle)

    def rename(self, old: bytes | str, new: bytes | str, at: int) -> None:
        self._before("rename", old, at)
        self._inner.rename(old, new, at)

    def unlink(self, path: bytes | str, at: int) -> None:
        self._before("unlink", path, at)
        self._inner.unlink(path, at)

    def rmdir(self, path: bytes | str, at: int) -> None:
        self._before("rmdir", path, at)
        self._inner.rmdir(path, at)

    def fsync(self, handle: int) -> None:
        try:
            self._before("fsync", b"", handle)
        except SkipCall:
            return
        self._inner.fsync(handle)

    def _before(self, method: str, path: bytes | str, at: int | None) -> bytes:
        above = self._paths.get(at, b"?") if at is not None else b""
        where = os.fsencode(path)
        if above and not where.startswith(b"/"):
            where = above.rstrip(b"/") + b"/" + where if where not in {b"", b"."} else above
        call = Call(len(self.calls) + 1, method, where)
        self.calls.append(call)
        for rule in self._rules:
            rule(call)
        return where

    def _opened(self, handle: int, where: bytes) -> int:
        self._paths[handle] = where
        return handle
