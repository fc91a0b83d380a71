"""Publishing each save of one execution as soon as it is complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import PUB
from dispatch.checkpoint.patient import PatientStore
from dispatch.checkpoint.publishing import publish_entry
from dispatch.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.completion import Framework
    from dispatch.checkpoint.log import Log, Path
    from dispatch.ports.waiting import Stop


def _tell_nobody(_: Entry) -> None:
    """Nobody asked."""


@dataclass(slots=True)
class Watcher:
    """Scans one execution's folder and publishes what is complete, in step order.

    Several watchers over one folder are harmless. Memory and the time of a scan grow with the
    saves present, not with those ever published.

    Attributes:
        log: Where to publish.
        framework: How the saves look and when one is complete.
        saves: The folder that holds them, relative to the root or as a location
            (`Log.exec_dir`). It need not exist yet.
        epoch: The execution's epoch, 0 to 2^64-1.
        interval: Seconds from the end of one scan to the next.
        time_out: Seconds without any answer from the store that end the watch.
        published: Called with each publication that this watcher created, in that order.
        disappeared: Called once with each published save that is gone while its entry stays
            (a rotation by the framework, say).
        sync: Make each save's own files durable before it is published.

    Raises:
        InvalidInputError: ``saves`` is the root itself, or a location that is not below it.
    """

    log: Log
    framework: Framework
    saves: Path
    epoch: int
    interval: float = 10.0
    time_out: float = 120.0
    published: Callable[[Entry], None] = _tell_nobody
    disappeared: Callable[[Entry], None] = _tell_nobody
    sync: bool = False
    _folder: bytes = field(init=False)
    _store: PatientStore = field(init=False)
    _done: dict[bytes, Entry] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.interval > 0 or not self.time_out > 0:
            message = f"interval {self.interval!r} and time_out {self.time_out!r} must be over 0 s"
            raise InvalidInputError(message)
        self._folder = self.log.relative(self.saves)
        if self._folder in {b"", b"."}:
            raise InvalidInputError(
                "the folder of the saves is the root itself",
                hint="Each execution has its own: see Log.exec_dir.",
            )
        self._store = PatientStore(self.log.store, self.log.patience, self.time_out)

    def scan(self) -> list[Entry]:
        """Publish each complete save that is not published yet.

        Returns:
            The publications that this scan created, ascending by step. A save whose entry was
            there already counts as published and is not among them.

        Raises:
            UnavailableError: The store failed, was silent for `time_out`, or is another one than
                at the start (kinds ``store-unavailable``, ``store-silent``, ``root-replaced``).
            InvalidInputError: A complete save's path does not fit an entry's name.
            DispatchError: Any other error of `Log.publish` but a save that is gone. What was
                published before it stays published, and the next scan goes on from there.
        """
        self._store.check()
        present = self._present()
        self._note_disappeared({folder for _, folder in present})
        created = []
        for step, folder in present:
            if folder in self._done:
                continue
            save = self._folder + b"/" + folder
            if not self.framework.is_complete(self._store, save, step):
                continue
            entry = Entry(self.epoch, step, save)
            is_new = self._publish(entry)
            if is_new is None:
                continue
            self._done[folder] = entry
            if is_new:
                created.append(entry)
                self.published(entry)
        return created

    def watch(self, stop: Stop) -> None:
        """Scan, and again every `interval`, until asked to stop; then look once more.

        The stop may come at any moment, also before the first scan: there is always one whole
        scan that began after it, so a save that was complete when the stop came is published.

        Raises:
            DispatchError: The first error of `scan`, which ends the watch.
        """
        while True:
            is_last = stop.is_set()
            self.scan()
            if is_last:
                return
            if not stop.is_set():
                stop.wait(self.interval)

    def _publish(self, entry: Entry) -> bool | None:
        """Whether this watcher created it; None when its save went away under our hands."""
        try:
            return publish_entry(self._store, entry, sync=self.sync)
        except NotFoundError as error:
            if error.kind == "save-missing":
                return None
            raise

    def _present(self) -> list[tuple[int, bytes]]:
        folders = self._store.children(self._folder, self.framework.prefix)
        steps = ((self.framework.step_of(folder), folder) for folder in folders)
        return sorted((step, folder) for step, folder in steps if step is not None)

    def _note_disappeared(self, present: set[bytes]) -> None:
        for folder in self._done.keys() - present:
            entry = self._done.pop(folder)
            # A prune removes the entry before the folder, so an entry that stays was not pruned.
            if self._store.written(PUB, [entry.name()]):
                self.disappeared(entry)
