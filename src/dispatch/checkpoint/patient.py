"""A store that is not waited for for ever: what a watcher uses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dispatch.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dispatch.errors import DispatchError
    from dispatch.model.access import Access
    from dispatch.model.contents import Contents
    from dispatch.ports.store import PublishingStore
    from dispatch.ports.waiting import Patience

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PatientStore:
    """The names and saves of a store; each answer is waited for ``time_out`` seconds at most.

    A method raises `UnavailableError` (kind ``store-silent``, naming what was waited for) when
    the time is over; whether it will still happen is then unknown. See
    `dispatch.ports.store.Store` for all else.
    """

    store: PublishingStore
    patience: Patience
    time_out: float

    def _ask(self, what: str, work: Callable[[], T]) -> T:
        try:
            return self.patience.call(work, self.time_out)
        except TimeoutError as error:
            root = os.fsdecode(self.store.location(b""))
            message = f"no answer from {root!r} for {self.time_out:g} s while {what}"
            hint = "The file system hangs, or is slower than -timeout allows."
            raise UnavailableError(message, kind="store-silent", hint=hint) from error

    def check(self) -> None:
        self._ask("looking at the root", self.store.check)

    def access(self) -> Access:
        return self._ask("looking how the root is reached", self.store.access)

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        return self._ask(f"listing {folder}/", lambda: self.store.names(folder, in_vain))

    def create(self, folder: str, name: str) -> bool:
        return self._ask(f"creating {folder}/{name}", lambda: self.store.create(folder, name))

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        return self._ask(f"removing from {folder}/", lambda: self.store.remove(folder, names))

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        return self._ask(f"looking at {folder}/", lambda: self.store.written(folder, names))

    def claim(self, folder: str, name: str, value: str) -> str:
        what = f"claiming {folder}/{name}"
        return self._ask(what, lambda: self.store.claim(folder, name, value))

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        return self._ask(f"claiming in {folder}/", lambda: self.store.claim_all(folder, values))

    def claimed(self, folder: str, name: str) -> str | None:
        return self._ask(f"reading {folder}/{name}", lambda: self.store.claimed(folder, name))

    def drop(self, folder: str) -> bool:
        return self._ask(f"removing {folder}/", lambda: self.store.drop(folder))

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        what = f"listing {os.fsdecode(folder)}"
        return self._ask(what, lambda: self.store.children(folder, prefix))

    def has_save(self, save: bytes) -> bool:
        what = f"looking at {os.fsdecode(save)}"
        return self._ask(what, lambda: self.store.has_save(save))

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        what = f"reading {os.fsdecode(save + b'/' + file)}"
        return self._ask(what, lambda: self.store.read(save, file, size_max))

    def has_file(self, save: bytes, file: bytes) -> bool:
        what = f"looking at {os.fsdecode(save + b'/' + file)}"
        return self._ask(what, lambda: self.store.has_file(save, file))

    def has_name(self, save: bytes, file: bytes) -> bool:
        what = f"looking at {os.fsdecode(save + b'/' + file)}"
        return self._ask(what, lambda: self.store.has_name(save, file))

    def contents(self, save: bytes) -> Contents:
        what = f"listing all of {os.fsdecode(save)}"
        return self._ask(what, lambda: self.store.contents(save))

    def sync_save(self, save: bytes) -> Iterator[bytes]:
        what = f"syncing {os.fsdecode(save)}"
        durable = self.store.sync_save(save)
        while (path := self._ask(what, lambda: next(durable, None))) is not None:
            yield path

    def location(self, path: bytes) -> bytes:
        return self.store.location(path)

    def relative(self, location: bytes) -> bytes:
        return self._ask("looking for the root", lambda: self.store.relative(location))
