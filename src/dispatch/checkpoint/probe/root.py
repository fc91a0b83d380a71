"""One probe's dealings with a root: patient, timed, interruptible, and cleaned up after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from dispatch.checkpoint.patient import PatientStore
from dispatch.errors import DispatchError, NotFoundError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.ports.store import Store
    from dispatch.ports.waiting import Clock, Patience, Race, Stop

T = TypeVar("T")

CLEANINGS_MAX = 3  # passes: another is made only where one failed or something came up during it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a probe is given of the world around it.

    Attributes:
        clock: For how long calls take, and for pauses.
        now: The wall clock in seconds since 1970, compared with the store's.
        race: Makes calls at the same moment.
        stop: The request to end, looked at between two calls.
        patience: How a call that may hang is waited for.
    """

    clock: Clock
    now: Callable[[], float]
    race: Race
    stop: Stop
    patience: Patience


class StoppedError(Exception):
    """The probe was asked to end. Never seen outside of it."""


@dataclass(slots=True)
class ProbedRoot:
    """The root as the checks use it.

    Every method raises `StoppedError` once the stop was asked for, but those that clean up.

    Attributes:
        store: The root.
        around: See `Surroundings`.
        time_out: Seconds that one answer is waited for.
        took: How many seconds the answers took, by what was asked.
        is_silent: Whether an answer did not come in time.
        is_unsure: Whether something that was asked may happen yet.
        made: Names, each with its folder, that may be there, whatever a listing shows.
    """

    store: Store
    around: Surroundings
    time_out: float
    took: dict[str, list[float]] = field(default_factory=dict)
    is_silent: bool = False
    is_unsure: bool = False
    made: set[tuple[str, str]] = field(default_factory=set)

    @property
    def patient(self) -> PatientStore:
        """The root, which is waited for no longer than `time_out`; nothing is timed."""
        return PatientStore(self.store, self.around.patience, self.time_out)

    def heed(self) -> None:
        """Go on, unless the stop was asked for.

        Raises:
            StoppedError: It was.
        """
        if self.around.stop.is_set():
            raise StoppedError

    def ask(self, what: str, work: Callable[[], T], times: int = 1) -> T:
        """What ``work`` returns, which asks the store for ``what`` so many times."""
        self.heed()
        began = self.around.clock.monotonic()
        try:
            return work()
        except DispatchError as error:
            self._note(error)
            raise
        finally:
            seconds = (self.around.clock.monotonic() - began) / times
            self.took.setdefault(what, []).append(seconds)

    def last(self, what: str) -> float:
        """How long the last answer took."""
        return self.took[what][-1]

    def names(self, folder: str) -> list[str]:
        """One listing, without asking whether it was whole."""
        return self.ask("list", lambda: self.patient.names(folder)[0])

    def create(self, folder: str, name: str) -> bool:
        """See `dispatch.ports.store.NamesStore`."""
        self.made.add((folder, name))
        return self.ask("create", lambda: self.patient.create(folder, name))

    def claim(self, folder: str, name: str, value: str) -> str:
        """See `dispatch.ports.store.ClaimsStore`."""
        self.made.add((folder, name))
        return self.ask("claim", lambda: self.patient.claim(folder, name, value))

    def remove(self, folder: str, names: list[str], *, durably: bool) -> dict[str, DispatchError]:
        """The error of each of ``names`` that could not be removed, whatever has been asked for.

        Raises:
            UnknownOutcomeError: As the store, but not for a lack of durability that nobody asks.
        """
        try:
            removed, failures = self.patient.remove(folder, names)
        except UnknownOutcomeError as error:
            if durably or error.kind != "durability-unknown":
                raise
            removed, failures = names, {}
        self.made.difference_update((folder, name) for name in removed)
        return failures

    def race_to_create(self, folder: str, name: str, racers: int) -> list[tuple[object, float]]:
        """Let so many create one name at once.

        Returns:
            What each was answered, or its error, and when, in seconds from the start. The error
            is `TimeoutError` for one that has no answer yet.
        """
        self.heed()
        clock = self.around.clock
        self.made.add((folder, name))
        began = clock.monotonic()

        def create() -> tuple[object, float]:
            outcome: object
            try:
                outcome = self.store.create(folder, name)
            except DispatchError as error:
                outcome = error
            return outcome, clock.monotonic() - began

        outcomes: list[tuple[object, float]] = []
        for answer in self.around.race([create] * racers, self.time_out):
            if isinstance(answer, Exception):
                if not isinstance(answer, TimeoutError):
                    raise answer
                outcomes.append((answer, self.time_out))
            else:
                outcomes.append(answer)
            self._note(outcomes[-1][0])
        return outcomes

    def wait_until(self, is_so: Callable[[], bool], seconds: float) -> float | None:
        """How long it took to be so, looked at again and again; None when that is over."""
        clock, pause = self.around.clock, PAUSE_S_MIN
        began = clock.monotonic()
        while not is_so():
            if clock.monotonic() - began >= seconds:
                return None
            clock.sleep(pause)
            pause = min(pause * 1.5, PAUSE_S_MAX)
        return clock.monotonic() - began

    def _note(self, outcome: object) -> None:
        kind = outcome.kind if isinstance(outcome, DispatchError) else ""
        self.is_silent |= kind == "store-silent" or isinstance(outcome, TimeoutError)
        self.is_unsure |= self.is_silent or kind == "outcome-unknown"

    def clean(self, folder: str) -> list[str]:
        """Remove ``folder`` and the names in it, also after the stop was asked for.

        Returns:
            What may be there still, each with the reason.
        """
        left: list[str] = []
        for _ in range(CLEANINGS_MAX):
            try:
                left = self._remove_names(folder)
                if not left and self.patient.drop(folder) and not self.patient.names(folder)[0]:
                    return []
            except NotFoundError:
                self.is_unsure = True  # the root is gone: nothing of it can be removed
                return []
            except DispatchError as error:
                left = [f"{folder}/: {error}"]
                self._note(error)
                if error.kind == "store-silent":
                    break
        return left or [f"{folder}/: names keep coming up in it"]

    def _remove_names(self, folder: str) -> list[str]:
        """One pass; what could not be removed. Nothing here has to survive a power loss."""
        listed = self.patient.names(folder)[0]
        failures = self.remove(folder, listed, durably=False)
        # A listing may not show them yet: each is asked for alone, without another listing.
        for name in sorted(name for at, name in self.made if at == folder):
            failures.update(self.remove(folder, [name], durably=False))
        return [f"{folder}/{name}: {error}" for name, error in failures.items()]


PAUSE_S_MIN, PAUSE_S_MAX = 0.005, 0.2  # between two looks: a tenth or so of what is waited for
