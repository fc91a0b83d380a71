"""`Log.publish` against the system calls that a durable publication is made of."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.machine import file_system
from benchmarks.measuring import Comparison
from dispatch.checkpoint import open_store
from dispatch.errors import AlreadyPublishedError

CALLS = 20
"""Publications in one run: on a tmpfs one alone would be too short to be timed."""

SAVE = "exec/1.4101.0/checkpoint-500"
CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC


class Bare:
    """The system calls alone, in a folder of their own, with both folders open already."""

    def __init__(self, root: Path) -> None:
        pub = root / "bare"
        pub.mkdir()
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self._pub = os.open(pub, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Close the folders."""
        os.close(self._root)
        os.close(self._pub)

    def create(self, name: str) -> None:
        """Create a name unless it is there, and make it durable."""
        try:
            os.close(os.open(name, CREATE, 0o666, dir_fd=self._pub))
        except FileExistsError:
            pass
        os.fsync(self._pub)
        os.fsync(self._root)


class Publisher:
    """Publishes one save, under new steps or under the same ones again."""

    def __init__(self, root: Path) -> None:
        (root / SAVE).mkdir(parents=True)
        self._log, self._bare = open_store(root), Bare(root)
        self._steps, self._names = count(CALLS), count(CALLS)

    def close(self) -> None:
        """Close what is open."""
        self._log.close()
        self._bare.close()

    def create(self) -> None:
        """Publish new steps."""
        for _ in range(CALLS):
            self._log.publish(1, next(self._steps), SAVE)

    def create_bare(self) -> None:
        """Create new names."""
        for _ in range(CALLS):
            self._bare.create(f"{next(self._names):0100d}")

    def repeat(self) -> None:
        """Publish the same steps as ever."""
        for step in range(CALLS):
            try:
                self._log.publish(1, step, SAVE)
            except AlreadyPublishedError:
                continue

    def repeat_bare(self) -> None:
        """Create the same names as ever."""
        for number in range(CALLS):
            self._bare.create(f"{number:0100d}")


def comparisons(root: Path) -> Iterator[Comparison]:
    """Yield publications that are created, and publications that were there already."""
    publisher, on = Publisher(root), file_system(root)
    yield Comparison(
        what="publish, created",
        against="open (O_CREAT, O_EXCL), close, fsync of both folders",
        measured=publisher.create,
        bare=publisher.create_bare,
        calls=CALLS,
        file_system=on,
    )
    yield Comparison(
        what="publish, already there",
        against="open (O_CREAT, O_EXCL) fails, fsync of both folders",
        measured=publisher.repeat,
        bare=publisher.repeat_bare,
        calls=CALLS,
        file_system=on,
    )
    publisher.close()
