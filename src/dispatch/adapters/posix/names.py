"""Flat folders of names: listing them whole, and creating one exclusively and durably."""

from __future__ import annotations

import errno
import os
import stat

from dispatch.adapters.posix.root import PosixRoot
from dispatch.adapters.posix.translation import translate, unlinked
from dispatch.errors import UnavailableError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from dispatch.errors import DispatchError
    from dispatch.ports.filesystem import Status

    T = TypeVar("T")

# A change is stamped with a clock that ticks every 10 ms at worst (CONFIG_HZ=100), or every
# second on ext4 with 128-byte inodes: stamps older than this can't hide a later change.
_STAMP_AGE_NS_MIN = 2_000_000_000
_PASSES_AT_ONCE = 2  # enough for any folder that rests
_CLAIMS_MAX = 8  # tries; another is made only when a claim was removed between two calls


class PosixNames(PosixRoot):
    """`dispatch.ports.store.NamesStore` and `dispatch.ports.store.ClaimsStore`."""

    __slots__ = ()

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        """See `dispatch.ports.store.NamesStore`."""
        if in_vain >= _PASSES_AT_ONCE:
            self._pause()
        fs = self._filesystem
        handle = self._open(folder)
        if handle is None:
            self._require_absent(folder)
            return [], True
        try:
            before, now = fs.fstat(handle), self._now_ns()
            names = fs.listdir(handle)
            if _stamps(before) != _stamps(fs.fstat(handle)):
                return names, None
            newest = max(before.st_mtime_ns, before.st_ctime_ns)
            is_whole = newest < now - _STAMP_AGE_NS_MIN and fs.is_local(handle)
        except OSError as error:
            raise translate(error, f"listing {self._show(folder)}") from error
        finally:
            fs.close(handle)
        return names, is_whole

    def create(self, folder: str, name: str) -> bool:
        """See `dispatch.ports.store.NamesStore`."""

        def add(handle: int) -> bool:
            try:
                self._filesystem.create(name, handle)
            except FileExistsError:
                return False
            except OSError as error:
                raise translate(error, f"creating {self._show(folder)}/{name}") from error
            return True

        return self._durably(folder, add)

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        """See `dispatch.ports.store.NamesStore`."""
        fs = self._filesystem
        handle = self._open(folder)
        if handle is None:
            return [], {}
        removed: list[str] = []
        failures: dict[str, DispatchError] = {}
        try:
            for name in names:
                try:
                    fs.unlink(name, handle)
                    removed.append(name)
                except FileNotFoundError:
                    pass
                except OSError as error:
                    failure = translate(error, f"removing {self._show(folder)}/{name}")
                    failure.__cause__ = error
                    failures[name] = failure
            self._sync(handle, folder)
        finally:
            fs.close(handle)
        return removed, failures

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        """See `dispatch.ports.store.NamesStore`."""
        found = {}
        for name in names:
            status = self._status(os.fsencode(f"{folder}/{name}"), follow=False)
            if status is not None:
                found[name] = status.st_mtime_ns / 1e9
        return found

    def claim(self, folder: str, name: str, value: str) -> str:
        """See `dispatch.ports.store.ClaimsStore`: a symbolic link, whose target is the value."""
        return self.claim_all(folder, {name: value})[name]

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        """See `dispatch.ports.store.ClaimsStore`: synced once for all."""

        def add(handle: int) -> dict[str, str]:
            return {name: self._link(handle, folder, name, values[name]) for name in values}

        return self._durably(folder, add)

    def claimed(self, folder: str, name: str) -> str | None:
        """See `dispatch.ports.store.ClaimsStore`."""
        handle = self._open(folder)
        if handle is None:
            self._require_absent(folder)
            return None
        try:
            return self._held(handle, folder, name)
        finally:
            self._filesystem.close(handle)

    def drop(self, folder: str) -> bool:
        """See `dispatch.ports.store.ScratchStore`."""
        try:
            self._filesystem.rmdir(folder, self._handle)
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:  # POSIX allows either
                return False
            # Of what isn't there a file system that is mounted read-only says EROFS.
            if self._status(os.fsencode(folder), follow=False) is None:
                return True
            raise translate(error, f"removing {self._show(folder)}") from error
        return True

    def _link(self, handle: int, folder: str, name: str, value: str) -> str:
        """Make one claim, if it isn't made; what it holds."""
        what = f"creating {self._show(folder)}/{name}"
        for _ in range(_CLAIMS_MAX):
            try:
                self._filesystem.symlink(os.fsencode(value), name, handle)
            except FileExistsError:
                held = self._held(handle, folder, name)
                if held is not None:
                    return held
            except OSError as error:
                raise unlinked(error, what) from error
            else:
                return value
        raise UnavailableError(f"{what}: it was there, and gone, again and again")

    def _held(self, handle: int, folder: str, name: str) -> str | None:
        from dispatch.model.claimed import no_claim, parse_claimed

        shown = f"{self._show(folder)}/{name}"
        try:
            target = self._filesystem.readlink(name, handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise no_claim(shown, "no symbolic link, EINVAL") from error
            raise translate(error, f"reading {shown}") from error
        return parse_claimed(target, shown)

    def _durably(self, folder: str, add: Callable[[int], T]) -> T:
        """What ``add`` answers, given the folder, which is made where it is missing."""
        handle = self._open_or_make(folder)
        try:
            outcome = add(handle)
            # Also when it was there: whoever created it may have died before its syncs, and
            # "already published" must mean durable.
            self._sync(handle, folder)
            self._sync(self._handle, "")
        finally:
            self._filesystem.close(handle)
        return outcome

    def _open(self, folder: str) -> int | None:
        """The folder's handle; None when it is not there."""
        try:
            return self._filesystem.open_dir(folder, self._handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translate(error, f"opening {self._show(folder)}") from error

    def _open_or_make(self, folder: str) -> int:
        handle = self._open(folder)
        if handle is not None:
            return handle
        fs = self._filesystem
        try:
            try:
                fs.mkdir(folder, self._handle)
            except FileExistsError:
                pass  # another process made it meanwhile; a link to nowhere fails below
            return fs.open_dir(folder, self._handle)
        except OSError as error:
            raise translate(error, f"creating {self._show(folder)}") from error

    def _require_absent(self, folder: str) -> None:
        """Tell "nothing there" from a root that is gone, and from a link to something gone."""
        self.check()
        try:
            status = self._filesystem.stat(folder, self._handle, follow=False)
        except FileNotFoundError:
            return
        except OSError as error:
            raise translate(error, f"looking at {self._show(folder)}") from error
        if not stat.S_ISLNK(status.st_mode):
            return  # somebody made it since: there was nothing a moment ago
        raise UnavailableError(
            f"{self._show(folder)} is a link to something that is not there",
            hint="What it leads to may not be mounted here.",
        )


def _stamps(status: Status) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
