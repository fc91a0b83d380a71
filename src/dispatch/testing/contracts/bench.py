"""What a contract suite needs beside the store that it tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.ports.store import PublishingStore, Store

T_co = TypeVar("T_co", covariant=True)


class Bench(Protocol[T_co]):
    """One root, fresh and empty, and the hands of the programs that write there by themselves.

    Paths are bytes relative to the root.
    """

    def open(self) -> T_co:
        """The store on this root, opened anew, as another process would."""
        ...

    def write(self, path: bytes, content: bytes) -> None:
        """Make a file, with the folders that lead to it."""
        ...

    def make_folder(self, path: bytes) -> bool:
        """Make an empty folder; False where there is no such thing."""
        ...

    def link(self, path: bytes, target: bytes) -> bool:
        """Make a symbolic link, with the folders that lead to it; False where there are none."""
        ...

    def pipe(self, path: bytes) -> bool:
        """Make a named pipe or the like, which blocks a careless reader; False without any."""
        ...

    def mount(self, path: bytes) -> bool:
        """Make a folder and mount another file system on it; False where that can't be done."""
        ...

    def content(self, path: bytes) -> bytes | None:
        """What the file at ``path`` holds; None when there is no file."""
        ...

    def destroy(self) -> None:
        """Remove the root itself."""
        ...


StoreBench: TypeAlias = "Bench[Store]"
"""A bench for the whole port."""

PublishingBench: TypeAlias = "Bench[PublishingStore]"
"""A bench for a store that removes no saves."""

MakePublishingStore: TypeAlias = "Callable[[], PublishingBench]"
MakeStore: TypeAlias = "Callable[[], StoreBench]"
"""What the fixture ``make_store`` gives: each call makes another root."""
