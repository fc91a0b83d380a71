"""Taking saves away: never through a link, never into another mount, never half in sight.

A save goes in two renames, both made durable before anything is deleted. The first, to
``.pruned-<random>.<its name>``, takes it out of sight; from there it can be put back. The second,
to ``.pruned-<random>``, is the point of no return: only one process can make it, so nothing that
was put back is ever being deleted, and nothing half-deleted is ever put back. A removal that is
interrupted leaves one of the two names, from which the next prune goes on.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING

from dispatch.adapters.posix.root import ABSENT
from dispatch.adapters.posix.translation import describe, translate, unsynced
from dispatch.model.removal import Aside, Gone, Left

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.ports.filesystem import Filesystem

_PREFIX = b".pruned-"
_ASIDE = re.compile(rb"\.pruned-[0-9a-f]{16}\.(.+)", re.DOTALL)
_OTHER_MOUNT = "another file system is mounted in it"
_MOUNTS_UNKNOWN = "whether something is mounted in it can't be told without /proc"
_DEPTH_MAX = 200  # folders in folders: one descriptor each, of the usual 1024


class PosixRemoval:
    """`dispatch.ports.store.RemovalStore` below the folder that ``root`` is open on."""

    def __init__(self, filesystem: Filesystem, root: int, token: Callable[[], bytes]) -> None:
        self._filesystem = filesystem
        self._root = root
        self._token = token

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        parent = self._open_parent(save)
        if not isinstance(parent, int):
            return parent
        try:
            return self._obstacle(save, parent)
        finally:
            self._filesystem.close(parent)

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        parent = self._open_parent(save)
        if not isinstance(parent, int):
            return parent
        folder, _, name = save.rpartition(b"/")
        hidden = self._fresh_name() + b"." + name
        try:
            obstacle = self._obstacle(save, parent)
            if obstacle is not None:
                return obstacle
            self._filesystem.rename(name, hidden, parent)
        except FileNotFoundError:
            return Gone()
        except OSError as error:
            return _failed(error, "renaming it")
        finally:
            self._filesystem.close(parent)
        return Aside(save, folder + b"/" + hidden if folder else hidden)

    def put_back(self, aside: Aside) -> bool:
        name, hidden = _name(aside.save), _name(aside.place)
        fs = self._filesystem
        what = f"putting {os.fsdecode(aside.place)} back"
        try:
            parent = self._reach_parent(aside.save)
        except OSError as error:
            raise translate(error, what) from error
        if not isinstance(parent, int):
            return False
        try:
            if _exists(fs, name, parent):
                return False  # it was written anew, and that is what the entry names now
            fs.rename(hidden, name, parent)
            self._sync(parent, aside.save)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise translate(error, what) from error
        finally:
            fs.close(parent)
        return True

    def delete(self, aside: Aside) -> Left | Gone | None:
        parent = self._open_parent(aside.place)
        if not isinstance(parent, int):
            return parent
        name = _name(aside.place)
        fs = self._filesystem
        try:
            if aside.save:
                doomed = self._fresh_name()
                fs.rename(name, doomed, parent)
                name = doomed
            elif not _exists(fs, name, parent):
                return Gone()
            # Also when it had that name: whoever renamed it may have died before the sync. Else
            # a power loss could leave it half deleted in sight, or where it may be put back.
            fs.fsync(parent)
            return _Deletion(fs).remove(name, parent)
        except FileNotFoundError:
            return Gone()
        except OSError as error:
            return _failed(error, "deleting it")
        finally:
            fs.close(parent)

    def leftovers(self, folder: bytes) -> list[Aside]:
        what = f"looking for leftovers in {os.fsdecode(folder)!r}"
        try:
            handle = self._reach_parent(folder + b"/" if folder else b"")
        except OSError as error:
            raise translate(error, what) from error
        if not isinstance(handle, int):
            return []
        try:
            names = [os.fsencode(name) for name in self._filesystem.listdir(handle)]
            found = sorted(name for name in names if name.startswith(_PREFIX))
        except OSError as error:
            raise translate(error, what) from error
        finally:
            self._filesystem.close(handle)
        start = folder + b"/" if folder else b""
        return [_leftover(start, name) for name in found]

    def _sync(self, parent: int, save: bytes) -> None:
        try:
            self._filesystem.fsync(parent)
        except OSError as error:
            raise unsynced(error, f"the folder of {os.fsdecode(save)}") from error

    def _fresh_name(self) -> bytes:
        return _PREFIX + self._token().hex().encode()

    def _open_parent(self, path: bytes) -> int | Left | Gone:
        """The folder that holds ``path``; `Left` also when it can't be opened."""
        try:
            return self._reach_parent(path)
        except OSError as error:
            return _failed(error, "opening its folder")

    def _reach_parent(self, path: bytes) -> int | Left | Gone:
        """The folder that holds ``path``, reached without following any link."""
        fs = self._filesystem
        elements = path.split(b"/")[:-1]
        handle = fs.open_dir(b".", self._root)
        for depth, element in enumerate(elements):
            try:
                inner = fs.open_dir(element, handle, follow=False)
            except OSError as error:
                if _is_link(fs, element, handle):
                    return _through_link(b"/".join(elements[: depth + 1]))
                if error.errno in ABSENT:
                    return Gone()
                raise
            finally:
                fs.close(handle)
            handle = inner
        return handle

    def _obstacle(self, save: bytes, parent: int) -> Left | Gone | None:
        name = _name(save)
        fs = self._filesystem
        try:
            if fs.mount(parent) is None:
                return Left(_MOUNTS_UNKNOWN, failed=True)
            if _is_link(fs, name, parent):
                return _through_link(save)
            if not _exists(fs, name, parent):
                return Gone()
            if _Deletion(fs).holds_mount(name, parent):
                return Left(_OTHER_MOUNT, failed=False)
        except OSError as error:
            return _failed(error, "looking into it")
        return None


class _Deletion:
    """Walking one tree by descriptors, so that a link that appears half-way leads nowhere."""

    def __init__(self, filesystem: Filesystem) -> None:
        self._filesystem = filesystem
        self._failure: Left | None = None

    def holds_mount(self, name: bytes, parent: int, depth: int = 0) -> bool:
        """Whether anything is mounted on the folder ``name`` or inside it.

        Raises:
            OSError: It can't be looked into, or is nested too deep (ENAMETOOLONG).
        """
        if not self._is_folder(name, parent):
            return False
        try:
            handle = self._enter(name, parent, depth)
        except OSError as error:
            if error.errno in ABSENT:
                return False
            raise
        try:
            return self._differs(handle, parent) or any(
                self.holds_mount(os.fsencode(inner), handle, depth + 1)
                for inner in self._filesystem.listdir(handle)
            )
        finally:
            self._filesystem.close(handle)

    def remove(self, name: bytes, parent: int) -> Left | None:
        """Delete ``name`` and what is in it, as far as that goes; the first failure if any."""
        self._remove(name, parent, 0)
        return self._failure

    def _remove(self, name: bytes, parent: int, depth: int) -> None:
        fs = self._filesystem
        try:
            if not self._is_folder(name, parent):
                fs.unlink(name, parent)
                return
            handle = self._enter(name, parent, depth)
            try:
                if self._differs(handle, parent):
                    self._failure = self._failure or Left(_OTHER_MOUNT, failed=True)
                    return
                for inner in fs.listdir(handle):
                    self._remove(os.fsencode(inner), handle, depth + 1)
            finally:
                fs.close(handle)
            if self._failure is None:
                fs.rmdir(name, parent)
        except FileNotFoundError:
            pass  # another prune was here first
        except OSError as error:
            self._failure = self._failure or _failed(error, f"deleting {os.fsdecode(name)!r}")

    def _enter(self, name: bytes, parent: int, depth: int) -> int:
        if depth > _DEPTH_MAX:
            raise OSError(errno.ENAMETOOLONG, f"more than {_DEPTH_MAX} folders deep")
        return self._filesystem.open_dir(name, parent, follow=False)

    def _is_folder(self, name: bytes, parent: int) -> bool:
        try:
            return stat.S_ISDIR(self._filesystem.stat(name, parent, follow=False).st_mode)
        except FileNotFoundError:
            return False

    def _differs(self, handle: int, parent: int) -> bool:
        fs = self._filesystem
        return fs.fstat(handle).st_dev != fs.fstat(parent).st_dev or fs.mount(handle) != fs.mount(
            parent
        )


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _leftover(start: bytes, name: bytes) -> Aside:
    match = _ASIDE.fullmatch(name)
    return Aside(start + match[1] if match else b"", start + name)


def _exists(fs: Filesystem, name: bytes, parent: int) -> bool:
    try:
        fs.stat(name, parent, follow=False)
    except FileNotFoundError:
        return False
    return True


def _is_link(fs: Filesystem, name: bytes, parent: int) -> bool:
    try:
        return stat.S_ISLNK(fs.stat(name, parent, follow=False).st_mode)
    except FileNotFoundError:
        return False


def _through_link(path: bytes) -> Left:
    return Left(f"{os.fsdecode(path)!r} is a symbolic link", failed=False)


def _failed(error: OSError, what: str) -> Left:
    return Left(f"{what}: {describe(error.errno or 0)}", failed=True)
