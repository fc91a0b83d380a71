"""A store in memory, stricter than any real one.

What a real store would let pass, by luck or by the file system it is on, raises
`dispatch.testing.misuse.MisuseError`: a path that is not clean, a folder of names that is none, a
name that is too long.

Reading names can be torn on purpose, as a large folder of a real file system is: names are found
one by one in an order of the store's own, and `MemoryStore.between` is called before each, so
that it can add and remove names behind and ahead of the reader.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from dispatch.errors import InvalidInputError, NotFoundError, UnavailableError
from dispatch.model.access import Access
from dispatch.model.claimed import no_claim, parse_claimed
from dispatch.model.contents import Contents
from dispatch.model.removal import Aside, Gone, Left
from dispatch.testing import misuse
from dispatch.testing.nodes import (
    PREFIX,
    Folder,
    Link,
    Node,
    Pipe,
    durable_in,
    former,
    holds_mount,
    look,
    parent_of,
    resolve,
    split,
    states_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dispatch.errors import DispatchError


class MemoryStore:
    """`dispatch.ports.store.Store` in memory.

    Several processes are several users of one object; nothing here is safe between threads.

    Attributes:
        root: The location of the root.
        folder: The root's content; whoever writes saves does it here, see
            `dispatch.testing.nodes`.
        vouches: Whether the store can tell if a listing was whole or overtaken by a change. If
            not, it says so of every folder that is there.
        newest_first: Whether a listing finds the greatest name first, the order in which one
            pass can miss both a new latest and the old one; else the least is first.
        unchanged_s: What it says of every save: see `dispatch.model.contents`.
        between: Called before each name that a listing finds, with that name.
    """

    def __init__(self, root: bytes = b"/memory/root") -> None:
        self.root = root
        self.folder = Folder()
        self.vouches = True
        self.newest_first = True
        self.unchanged_s: float | None = None
        self.between: Callable[[str], object] = _nothing
        self._is_there = True
        self._is_replaced = False
        self._written: dict[tuple[str, str], float] = {}
        self._clock = count(1)
        self._tokens = count(1)

    def destroy(self, *, replaced: bool = False) -> None:
        """Let the root be gone, or be another one (as after a mount over it) when ``replaced``."""
        self._is_there = replaced
        self._is_replaced = replaced
        self.folder = Folder()

    # -- names

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        del in_vain  # nothing changes here while one waits
        self._require_root()
        misuse.require_folder(folder)
        content = self.folder.inner.get(folder.encode())
        if not isinstance(content, Folder):
            return [], True
        before = list(content.inner)
        found = list(self._pass(content))
        if not self.vouches:
            return found, False
        return found, True if before == list(content.inner) else None

    def _pass(self, content: Folder) -> Iterator[str]:
        """The names in the store's order, each as it is when the reader gets there."""
        choose = max if self.newest_first else min
        ahead = {os.fsdecode(name) for name in content.inner}
        while ahead:
            name = choose(ahead)
            self.between(name)
            now = {os.fsdecode(inner) for inner in content.inner}
            if name in now:
                yield name
            ahead = {other for other in now if (other < name) == self.newest_first} - {name}

    def create(self, folder: str, name: str) -> bool:
        return self._add(folder, name, b"")

    def _add(self, folder: str, name: str, node: Node) -> bool:
        self._require_root()
        misuse.require_name(folder, name)
        content = self.folder.inner.setdefault(folder.encode(), Folder())
        assert isinstance(content, Folder)
        key = os.fsencode(name)
        if key in content.inner:
            return False
        content.inner[key] = node
        self._written[folder, name] = float(next(self._clock))
        return True

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        self._require_root()
        for name in names:
            misuse.require_name(folder, name)
        content = self.folder.inner.get(folder.encode(), Folder())
        assert isinstance(content, Folder)
        return [n for n in names if content.inner.pop(os.fsencode(n), None) is not None], {}

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        self._require_root()
        for name in names:
            misuse.require_name(folder, name)
        return {
            name: self._written.setdefault((folder, name), float(next(self._clock)))
            for name in names
            if look(self.folder, os.fsencode(f"{folder}/{name}")) is not None
        }

    def claim(self, folder: str, name: str, value: str) -> str:
        misuse.require_value(value)
        self._add(folder, name, Link(os.fsencode(value)))
        return self.claimed(folder, name) or ""

    def claim_all(self, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        misuse.require_some(values)
        return {name: self.claim(folder, name, value) for name, value in values.items()}

    def claimed(self, folder: str, name: str) -> str | None:
        self._require_root()
        misuse.require_name(folder, name)
        node = look(self.folder, os.fsencode(f"{folder}/{name}"))
        if node is not None and not isinstance(node, Link):
            raise no_claim(f"{folder}/{name}", "no symbolic link")
        return None if node is None else parse_claimed(node.target, f"{folder}/{name}")

    def drop(self, folder: str) -> bool:
        if self.names(folder)[0]:
            return False
        self.folder.inner.pop(folder.encode(), None)
        return True

    # -- saves

    def children(self, folder: bytes, prefix: bytes) -> list[bytes]:
        node = self._resolve(folder) if folder else self.folder
        if not isinstance(node, Folder):
            return []
        return [name for name in node.inner if name.startswith(prefix)]

    def has_save(self, save: bytes) -> bool:
        return isinstance(self._resolve(save), (Folder, bytes))

    def read(self, save: bytes, file: bytes, size_max: int) -> bytes | None:
        node = self._resolve(save, file)
        return node if isinstance(node, bytes) and len(node) <= size_max else None

    def has_file(self, save: bytes, file: bytes) -> bool:
        return isinstance(self._resolve(save, file), bytes)

    def has_name(self, save: bytes, file: bytes) -> bool:
        above = self._resolve(save)
        misuse.require_clean(file)
        return isinstance(above, Folder) and look(above, file) is not None

    def contents(self, save: bytes) -> Contents:
        self._resolve(save)
        return Contents(states_in(self.folder, save), self.unchanged_s)

    def sync_save(self, save: bytes) -> Iterator[bytes]:
        node = self._resolve(save)
        yield from durable_in(node, save)

    # -- the root

    def check(self) -> None:
        self._require_root()
        if self._is_replaced:
            message = f"checkpoint root {os.fsdecode(self.root)!r} is no longer the folder it was"
            raise UnavailableError(message, kind="root-replaced")

    def access(self) -> Access:
        return Access("memory")

    def location(self, path: bytes) -> bytes:
        if not path:
            return self.root
        misuse.require_clean(path)
        return self.root + b"/" + path

    def close(self) -> None:
        """See `dispatch.ports.store.Store`: nothing is held open."""

    def relative(self, location: bytes) -> bytes:
        clean = b"/" + b"/".join(filter(None, location.split(b"/")))
        if clean == self.root:
            return b""
        if not clean.startswith(self.root + b"/"):
            message = f"{os.fsdecode(location)!r} is not below {os.fsdecode(self.root)!r}"
            raise InvalidInputError(message)
        return clean[len(self.root) + 1 :]

    # -- removal

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        obstacle = self.may_set_aside(save)
        if obstacle is not None:
            return obstacle
        folder, name = parent_of(self.folder, save)
        hidden = b"%s%016x.%s" % (PREFIX, next(self._tokens), name)
        folder.inner[hidden] = folder.inner.pop(name)
        return Aside(save, save[: len(save) - len(name)] + hidden)

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        self._require_root()
        misuse.require_clean(save)
        elements = save.split(b"/")
        node: Node | None = None
        for end in range(1, len(elements) + 1):
            node = look(self.folder, b"/".join(elements[:end]))
            if node is None:
                return Gone()
            if not isinstance(node, (Folder, bytes, Pipe)):
                return Left(f"{elements[end - 1]!r} is a symbolic link", failed=False)
        assert node is not None
        return Left("another store is in it", failed=False) if holds_mount(node) else None

    def put_back(self, aside: Aside) -> bool:
        self._require_root()
        misuse.require_clean(aside.save)
        misuse.require_clean(aside.place)
        if split(aside.save)[0] != split(aside.place)[0]:
            message = f"{aside} was not made by this store"
            raise misuse.MisuseError(message)
        node = look(self.folder, aside.place)
        if node is None or look(self.folder, aside.save) is not None:
            return False
        folder, hidden = parent_of(self.folder, aside.place)
        folder.inner[split(aside.save)[1]] = folder.inner.pop(hidden)
        return True

    def delete(self, aside: Aside) -> Left | Gone | None:
        self._require_root()
        misuse.require_clean(aside.place)
        if not split(aside.place)[1].startswith(PREFIX):
            message = f"{aside.place!r} is in sight"
            raise misuse.MisuseError(message)
        node = look(self.folder, aside.place)
        if node is None:
            return Gone()
        if holds_mount(node):
            return Left("another store is in it", failed=True)
        folder, hidden = parent_of(self.folder, aside.place)
        del folder.inner[hidden]
        return None

    def leftovers(self, folder: bytes) -> list[Aside]:
        start = folder + b"/" if folder else b""
        found = sorted(self.children(folder, PREFIX))
        return [Aside(former(start, name), start + name) for name in found]

    # -- strictness

    def _require_root(self) -> None:
        if not self._is_there:
            message = f"checkpoint root {os.fsdecode(self.root)!r} does not exist"
            raise NotFoundError(message, kind="root-missing")

    def _resolve(self, *path: bytes) -> Node | None:
        self._require_root()
        for part in path:
            misuse.require_clean(part)
        return resolve(self.folder, b"/".join(path))


def _nothing(_: str) -> None:
    """Nobody meddles."""
