"""What two nodes find out together: how long a name made on one takes to be seen on the other.

Both are given one word, which names a folder. Who creates ``first`` there serves, the other
creates ``second`` and returns: each makes a name, and the other answers it with a name of its own
as soon as a listing shows it. No clock of two nodes is ever compared: each measures its own round
trips, and either way of one takes no longer than the whole.

A seat (``first``, ``second``) that goes from the listing says that the other has ended and taken
the folder along. So does whoever ends early, and creates nothing after that: the last one out
leaves nothing. In the end it is ``first`` that removes the folder, once ``second`` has said that
it will write no more; ``second`` waits for that, and removes it itself where it never comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatch.checkpoint.probe import timing
from dispatch.checkpoint.probe.check import Check, Topic, fail, ok
from dispatch.errors import InvalidInputError

if TYPE_CHECKING:
    from dispatch.checkpoint.probe.root import ProbedRoot

WORD_LENGTH_MAX = 64
ROUNDS_MAX = 10
PLAY_S = 30.0  # no further round after that: where names take a minute, two rounds say enough

FIRST, SECOND = "first", "second"
_END, _BYE = "end", "bye"


class PeerError(Exception):
    """The other node did not do its part.

    Attributes:
        advice: What to do about it.
    """

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(message)
        self.advice = advice


def parse_word(text: str) -> str:
    """A word that can name a folder on every store.

    Raises:
        InvalidInputError: It is not 1 to 64 letters, digits, ``-`` and ``_``.
    """
    plain = text.replace("-", "a").replace("_", "a")
    if not (plain.isascii() and plain.isalnum() and len(text) <= WORD_LENGTH_MAX):
        message = f"peer {text!r} is not 1 to {WORD_LENGTH_MAX} letters, digits, '-' and '_'"
        raise InvalidInputError(message, hint='Give both nodes the same, "$SLURM_JOB_ID" say.')
    return text


@dataclass(slots=True)
class Peers:
    """This node's part.

    Attributes:
        root: The root.
        folder: The folder that both nodes use.
        word: What both were given.
        is_mine: Whether the folder is this node's to remove, also.
    """

    root: ProbedRoot
    folder: str
    word: str
    is_mine: bool = False
    _seat: str = ""
    _seen: set[str] = field(default_factory=set)

    def meet(self) -> Check:
        """Take a seat, and wait for the other node.

        Raises:
            PeerError: Nobody came, or both seats were taken.
        """
        began = self.root.around.clock.monotonic()
        self._take_seat()
        if self._seat == FIRST:
            self._await(SECOND)
        waited = self.root.around.clock.monotonic() - began
        found = f"this node is the {self._seat} of two"
        return ok(Topic.PEER, found, waited)

    def play(self) -> Check:
        """Send names to and fro.

        Raises:
            PeerError: The other node ended, or was silent.
        """
        trips = self._serve() if self._seat == FIRST else self._return()
        return timing.visibility(trips)

    def _take_seat(self) -> None:
        self.is_mine = True  # also when the answer is lost
        for seat in (FIRST, SECOND):
            if self.root.create(self.folder, seat):
                self._seat = seat
                self._seen = {seat}
                return
        self.is_mine = False
        message = f"two nodes have the word {self.word!r} already, or had it and were killed"
        advice = f"Use another word, and delete {self.folder} when no probe uses it."
        raise PeerError(message, advice)

    def _serve(self) -> list[float]:
        clock = self.root.around.clock
        start = clock.monotonic()
        trips: list[float] = []
        while not trips or (len(trips) < ROUNDS_MAX and clock.monotonic() - start < PLAY_S):
            began = clock.monotonic()
            self._add(f"ping-{len(trips)}")
            self._await(f"pong-{len(trips)}")
            trips.append(clock.monotonic() - began)
        self._add(_END)
        self._await(_BYE)
        return trips

    def _return(self) -> list[float]:
        clock = self.root.around.clock
        trips: list[float] = []
        self._await("ping-0")
        while True:
            began = clock.monotonic()
            self._add(f"pong-{len(trips)}")
            seen = self._await(f"ping-{len(trips) + 1}", _END)
            trips.append(clock.monotonic() - began)
            if seen == _END:
                break
        self._add(_BYE)
        gone = self.root.wait_until(
            lambda: _BYE not in self.root.names(self.folder), self.root.time_out
        )
        self.is_mine = gone is None
        return trips

    def _add(self, name: str) -> None:
        self.root.create(self.folder, name)

    def _await(self, *wanted: str) -> str:
        """The first of these names that a listing shows."""
        found: list[str] = []

        def is_there() -> bool:
            names = set(self.root.names(self.folder))
            found[:] = [name for name in wanted if name in names]
            self._seen |= {FIRST, SECOND} & names
            if not found and not self._seen <= names:
                message = "the other node ended before this one"
                raise PeerError(message, "See what it printed; then start both again.")
            return bool(found)

        if self.root.wait_until(is_there, self.root.time_out) is None:
            message = f"no answer of another node with the word {self.word!r}"
            advice = "Start both at once and with the same word: srun -N2 publish probe -peer WORD."
            raise PeerError(f"{message} for {self.root.time_out:g} s", advice)
        return found[0]


def failed_by_peer(topic: Topic, error: PeerError) -> Check:
    """The check that the other node spoilt."""
    return fail(topic, str(error), error.advice)
