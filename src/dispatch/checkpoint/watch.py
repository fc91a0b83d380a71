"""Publishing each save of one execution as soon as it is complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatch.checkpoint.completion import FRAMEWORKS
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.listing import PUB
from dispatch.checkpoint.look import Look
from dispatch.checkpoint.passing import PassedOver
from dispatch.checkpoint.patient import PatientStore
from dispatch.checkpoint.publishing import publish_entry
from dispatch.checkpoint.settling import Settling, settle_s
from dispatch.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.completion import Framework
    from dispatch.checkpoint.log import Log, Path
    from dispatch.ports.waiting import Stop

_SLACK_S = 0.01  # so that what has settled is not missed by a rounding


def _tell_nobody(*_: object) -> None:
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
        ranks: How many processes save; None: as each save shows.
        settle: Seconds for which a save has to look the same before it is published; None:
            `SETTLE_S` where the save shows that others than the writer of its marker may still
            write to it, else 0.
        passed_over: Called once with each save that was not published and the reason, a clause
            after "the save": when that has been the same for ten minutes, or at the end.

    Raises:
        InvalidInputError: A number is out of its bounds, or ``saves`` is the root itself or a
            location that is not below it.
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
    ranks: int | None = None
    settle: float | None = None
    passed_over: Callable[[bytes, str], None] = _tell_nobody
    _folder: bytes = field(init=False)
    _store: PatientStore = field(init=False)
    _done: dict[bytes, Entry] = field(init=False, default_factory=dict)
    _passed: PassedOver = field(init=False)
    _settling: Settling = field(init=False, default_factory=Settling)
    _left: list[float] = field(init=False, default_factory=list)
    _has_seen_any: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        if not self.interval > 0 or not self.time_out > 0:
            message = f"interval {self.interval!r} and time_out {self.time_out!r} must be over 0 s"
            raise InvalidInputError(message)
        settle, ranks = self.settle, self.ranks
        if not (settle is None or settle >= 0) or not (ranks is None or ranks >= 1):
            message = f"settle {settle!r} is below 0 s, or ranks {ranks!r} below 1"
            raise InvalidInputError(message)
        self._folder = self.log.relative(self.saves)
        if self._folder in {b"", b"."}:
            raise InvalidInputError(
                "the folder of the saves is the root itself",
                hint="Each execution has its own: see Log.exec_dir.",
            )
        self._passed = PassedOver(self._tell)
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
        self._has_seen_any = self._has_seen_any or bool(present)
        self._forget_all_but({folder for _, folder in present})
        self._left = []
        created = []
        for step, folder in present:
            if folder in self._done:
                continue
            save = self._folder + b"/" + folder
            reason = self._why_not_yet(folder, Look(self._store, save, step, self.ranks))
            if reason:
                self._passed.note(folder, reason, self.log.patience.monotonic())
                continue
            entry = Entry(self.epoch, step, save)
            is_new = self._publish(entry)
            if is_new is None:
                continue
            self._done[folder] = entry
            self._passed.forget(folder)
            if is_new:
                created.append(entry)
                self.published(entry)
        return created

    def last_look(self) -> list[Entry]:
        """Scan; wait, once, for the saves that are complete and have not settled; scan again.

        What was complete when this began is published, unless it changes. Every save that is
        not is then told to `passed_over`.

        Returns:
            The publications that both scans created.

        Raises:
            DispatchError: As `scan`.
        """
        created = self.scan()
        if self._left:
            self.log.patience.sleep(max(self._left) + _SLACK_S)
            created += self.scan()
        self._passed.tell_all()
        if not self._has_seen_any:
            self._tell_of_other_frameworks()
        return created

    @property
    def has_seen_any(self) -> bool:
        """Whether a scan has seen a save, or what is called like one."""
        return self._has_seen_any

    @property
    def pause_s(self) -> float:
        """Seconds to the next scan: `interval`, or less where a save will have settled before."""
        return min([self.interval, *(left + _SLACK_S for left in self._left)])

    def watch(self, stop: Stop) -> None:
        """Scan, and again every `interval`, until asked to stop; then take the `last_look`.

        The stop may come at any moment, also before the first scan: there is always one whole
        scan that began after it, so a save that was complete when the stop came is published, if
        need be once it has settled. A scan comes earlier where a save will have settled by then.

        Raises:
            DispatchError: The first error of `scan`, which ends the watch.
        """
        try:
            while not stop.is_set():
                self.scan()
                if not stop.is_set():
                    stop.wait(self.pause_s)
            self.last_look()
        finally:
            self._passed.tell_all()

    def _why_not_yet(self, folder: bytes, look: Look) -> str:
        """Why a save is not to be published now, as a clause; empty when it is."""
        began = self.log.patience.monotonic()
        verdict = self.framework.judge(look)
        settle = settle_s(self.settle, verdict)
        if verdict.missing or not settle:
            return verdict.missing
        ended = self.log.patience.monotonic()
        left = self._settling.left_s(folder, look.contents(), settle, began=began, ended=ended)
        if not left:
            return ""
        self._left.append(left)
        return f"has not looked the same for {settle:g} s"

    def _tell(self, folder: bytes, reason: str) -> None:
        self.passed_over(self._folder + b"/" + folder, reason)

    def _tell_of_other_frameworks(self) -> None:
        """Name the highest save of each other framework: this watch may be for the wrong one."""
        names = self._store.children(self._folder, b"")
        for other in FRAMEWORKS:
            steps = [(step, name) for name in names if (step := other.step_of(name)) is not None]
            if steps:
                reason = f"is named as {other.name} names its saves, not {self.framework.name}"
                self._tell(max(steps)[1], reason)

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

    def _forget_all_but(self, present: set[bytes]) -> None:
        self._passed.forget_all_but(present)
        self._settling.forget_all_but(present - self._done.keys())
        for folder in self._done.keys() - present:
            entry = self._done.pop(folder)
            # A prune removes the entry before the folder, so an entry that stays was not pruned.
            if self._store.written(PUB, [entry.name()]):
                self.disappeared(entry)
