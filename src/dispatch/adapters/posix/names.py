"""Flat folders of names: listing them whole, and creating one exclusively and durably."""

from __future__ import annotations

import os
import stat

from dispatch.adapters.posix.root import PosixRoot
from dispatch.adapters.posix.translation import translate
from dispatch.errors import UnavailableError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.errors import DispatchError
    from dispatch.ports.filesystem import Status

# A change is stamped with a clock that ticks every 10 ms at worst (CONFIG_HZ=100), or every
# second on ext4 with 128-byte inodes: stamps older than this can't hide a later change.
_STAMP_AGE_NS_MIN = 2_000_000_000
_PASSES_AT_ONCE = 2  # enough for any folder that rests


class PosixNames(PosixRoot):
    """`dispatch.ports.store.NamesStore`."""

    __slots__ = ()

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        """See `dispatch.ports.store.NamesStore`."""
        if in_vain >= _PASSES_AT_ONCE:
            self._pause()
        fs = self._filesystem
        try:
            handle = fs.open_dir(folder, self._handle)
        except FileNotFoundError:
            self._require_absent(folder)
            return [], True
        except OSError as error:
            raise translate(error, f"opening {self._show(folder)}") from error
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
        fs = self._filesystem
        handle = self._open_or_make(folder)
        try:
            try:
                fs.create(name, handle)
                is_new = True
            except FileExistsError:
                is_new = False
            except OSError as error:
                raise translate(error, f"creating {self._show(folder)}/{name}") from error
            # Also when it was there: whoever created it may have died before its syncs, and
            # "already published" must mean durable.
            self._sync(handle, folder)
            self._sync(self._handle, "")
        finally:
            fs.close(handle)
        return is_new

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        """See `dispatch.ports.store.NamesStore`."""
        fs = self._filesystem
        try:
            handle = fs.open_dir(folder, self._handle)
        except FileNotFoundError:
            return [], {}
        except OSError as error:
            raise translate(error, f"opening {self._show(folder)}") from error
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

    def written(self, folder: str, name: str) -> float | None:
        """See `dispatch.ports.store.NamesStore`."""
        status = self._status(os.fsencode(f"{folder}/{name}"))
        return None if status is None else status.st_mtime_ns / 1e9

    def _open_or_make(self, folder: str) -> int:
        fs = self._filesystem
        what = f"opening {self._show(folder)}"
        try:
            return fs.open_dir(folder, self._handle)
        except FileNotFoundError:
            what = f"creating {self._show(folder)}"
        except OSError as error:
            raise translate(error, what) from error
        try:
            try:
                fs.mkdir(folder, self._handle)
            except FileExistsError:
                pass  # another process made it meanwhile; a link to nowhere fails below
            return fs.open_dir(folder, self._handle)
        except OSError as error:
            raise translate(error, what) from error

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
