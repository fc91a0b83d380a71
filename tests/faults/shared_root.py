"""One root in memory for several processes, each with a store of its own that can be stopped."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dispatch.checkpoint.completion import FRAMEWORKS
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import PUB, parse_all, read_names
from dispatch.errors import UnavailableError
from dispatch.model.removal import Aside, Gone, Left
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Folder, look, parent_of

CALLS = (
    "names", "create", "remove", "written", "claim", "claimed", "has_save", "has_file",
    "set_aside", "put_back", "delete",
)  # fmt: skip
"""The calls that a process can stop before: all but looks that decide nothing here.

Of several claims at once it can stop before each.
"""
FILES = (b"__0_0.distcp", b".metadata")


class ProcessStore(MemoryStore):
    """A process's view of a shared root, where saves can be renamed, as on POSIX.

    Args:
        shared: Whose content it is.
        before_call: Called before each call from outside.
    """

    def __init__(self, shared: MemoryStore, before_call: Callable[[], None]) -> None:
        super().__init__(shared.root)
        self.folder = shared.folder
        self._tokens = shared._tokens  # no two of a root's tokens are the same
        self.before_call = before_call
        self._is_inside = False

    @contextmanager
    def entered(self) -> Iterator[None]:
        """One call from outside; what it calls in turn is part of it."""
        if self._is_inside:
            yield
            return
        self.before_call()
        self._is_inside = True
        try:
            yield
        finally:
            self._is_inside = False


def _stopped(name: str) -> Callable[..., Any]:
    method = getattr(MemoryStore, name)

    @functools.wraps(method)
    def call(self: ProcessStore, *arguments: object) -> object:
        if self._is_inside:  # as `entered`, which costs more: this is called a million times
            return method(self, *arguments)
        self.before_call()
        self._is_inside = True
        try:
            return method(self, *arguments)
        finally:
            self._is_inside = False

    return call


for _name in CALLS:
    setattr(ProcessStore, _name, _stopped(_name))


class InSightStore(ProcessStore):
    """The same where nothing can be renamed, as on S3: a save goes file by file, in sight."""

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        with self.entered():
            return Aside(save, save) if self.has_save(save) else Gone()

    def put_back(self, aside: Aside) -> bool:
        return self.has_save(aside.place)

    def delete(self, aside: Aside) -> Left | Gone | None:
        with self.entered():
            node = look(self.folder, aside.place)
        if not isinstance(node, Folder):
            return Gone()
        markers = {marker for framework in FRAMEWORKS for marker in framework.markers}
        for name in sorted(node.inner, key=lambda name: name not in markers):
            with self.entered():
                node.inner.pop(name, None)
                if not node.inner:
                    above, last = parent_of(self.folder, aside.place)
                    above.inner.pop(last, None)
        return None

    def leftovers(self, folder: bytes) -> list[Aside]:
        del folder
        return []


class FullStore(ProcessStore):
    """The same as on POSIX where a prune finds no space for fates; an execution does later."""

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        with self.entered():
            raise UnavailableError("creating it: ENOSPC", kind="no-space")


STORES = {"posix": ProcessStore, "s3": InSightStore, "full": FullStore}


def save(root: MemoryStore, path: str) -> None:
    """Write a save as PyTorch DCP does."""
    for file in FILES:
        folder, name = parent_of(root.folder, path.encode() + b"/" + file)
        folder.inner[name] = b"x"


def publish(root: MemoryStore, entry: Entry) -> Entry:
    """Write a save and publish it."""
    save(root, entry.save)
    root.create(PUB, entry.name())
    return entry


def entries(root: MemoryStore) -> list[Entry]:
    """All publications, ascending."""
    return parse_all(read_names(root))


def is_whole(root: MemoryStore, entry: Entry) -> bool:
    """Whether its save has all its files; aside counts, since a prune puts it back."""
    above, _, name = entry.path.rpartition(b"/")
    folder = look(root.folder, above)
    if not isinstance(folder, Folder):
        return False
    saves = [n for k, n in folder.inner.items() if k == name or k.endswith(b"." + name)]
    return any(isinstance(node, Folder) and set(node.inner) == set(FILES) for node in saves)
