"""A whole probe: its checks in order, and what it wrote removed in any case."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dispatch.checkpoint.probe import judgement, timing
from dispatch.checkpoint.probe.acting import Acting
from dispatch.checkpoint.probe.check import Check, Topic, failed_by, not_made
from dispatch.checkpoint.probe.peers import PeerError, Peers, failed_by_peer, parse_word
from dispatch.checkpoint.probe.root import ProbedRoot, StoppedError
from dispatch.errors import CredentialsError, DispatchError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.checkpoint.probe.root import Surroundings
    from dispatch.ports.store import Store

_PREFIX = ".probe-"

_NEEDS = {
    Topic.REACHABLE: (Topic.CREDENTIALS,),
    Topic.LISTABLE: (Topic.REACHABLE,),
    Topic.WRITABLE: (Topic.REACHABLE,),
    Topic.SYNC: (Topic.WRITABLE,),
    Topic.EXCLUSIVE: (Topic.WRITABLE, Topic.SYNC),
    Topic.RACE: (Topic.WRITABLE, Topic.SYNC, Topic.EXCLUSIVE),
    Topic.LISTING: (Topic.WRITABLE,),
    Topic.REMOVAL: (Topic.WRITABLE, Topic.LISTING),
    Topic.CLAIMS: (Topic.WRITABLE, Topic.SYNC),
    Topic.CLOCK: (Topic.WRITABLE,),
    Topic.LATENCY: (Topic.REACHABLE,),
    Topic.PEER: (Topic.WRITABLE, Topic.SYNC, Topic.EXCLUSIVE, Topic.LISTING),
    Topic.VISIBILITY: (Topic.PEER,),
    Topic.OTHERS: (Topic.REACHABLE,),
}
"""What has to hold for a check to be made."""


def _tell_nobody(_: object) -> None:
    """Nobody asked."""


@dataclass(slots=True)
class Probe:
    """Whether a root can be trusted, from this very node.

    It writes in ``.probe-<token>`` alone, never in ``pub``, and removes that whatever happens,
    unless the process is killed.

    Attributes:
        store: The root.
        around: See `Surroundings`.
        token: Random bytes, so that no other probe has the folder.
        time_out: Seconds that one answer, or the peer, is waited for.
        peer: The word that a probe on another node is given too, for a check that takes two.
        begun: Called before each check.
        told: Called with each check.
        cleaned: Whether anything is left behind; None until that is known.

    Raises:
        InvalidInputError: ``peer`` is no such word, or ``time_out`` is not over 0.
    """

    store: Store
    around: Surroundings
    token: bytes
    time_out: float = 120.0
    peer: str | None = None
    begun: Callable[[Topic], None] = _tell_nobody
    told: Callable[[Check], None] = _tell_nobody
    cleaned: Check | None = field(init=False, default=None)
    _checks: dict[Topic, Check] = field(init=False, default_factory=dict)
    _root: ProbedRoot = field(init=False)
    _acting: Acting = field(init=False)
    _peers: Peers | None = field(init=False, default=None)
    _left: dict[str, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.time_out > 0:
            message = f"time_out {self.time_out!r} must be over 0 s"
            raise InvalidInputError(message)
        self._root = ProbedRoot(self.store, self.around, self.time_out)
        self._acting = Acting(self._root, _PREFIX + self.token.hex())
        if self.peer is not None:
            word = parse_word(self.peer)
            self._peers = Peers(self._root, _PREFIX + word, word)

    def run(self) -> list[Check]:
        """Make all checks, or those before the stop was asked for; then clean up.

        Returns:
            The checks in their order. No error of the store is raised: it is a check's FAIL.
        """
        try:
            self._check_all()
        except StoppedError:
            pass
        finally:
            self.cleaned = self._clean()
        self._tell(self.cleaned)
        try:
            self._make(Topic.OTHERS, self._others)
        except StoppedError:
            pass
        return list(self._checks.values())

    def _check_all(self) -> None:
        acting = self._acting
        self._find_access()
        for topic, check in (
            (Topic.REACHABLE, acting.reachable),
            (Topic.LISTABLE, acting.listable),
            (Topic.WRITABLE, acting.writable),
            (Topic.SYNC, acting.sync),
            (Topic.EXCLUSIVE, acting.exclusive),
            (Topic.RACE, acting.race),
            (Topic.LISTING, acting.listing),
            (Topic.REMOVAL, acting.removal),
            (Topic.CLAIMS, acting.claims),
            (Topic.CLOCK, acting.clock),
            (Topic.LATENCY, acting.latency),
        ):
            self._make(topic, check)
        if self._peers is not None:
            # Before the others come: a folder that is there later is one that was left behind.
            self._clean_own()
            self._make(Topic.PEER, self._peers.meet)
            self._make(Topic.VISIBILITY, self._peers.play)

    def _find_access(self) -> None:
        root = self._root
        try:
            access = root.ask("look", root.patient.access)
        except CredentialsError as error:
            self._tell(failed_by(Topic.CREDENTIALS, error))
        except DispatchError as error:
            self._tell(failed_by(Topic.REACHABLE, error))
        else:
            self._acting.access = access
            if access.source is not None:
                self._tell(timing.credentials(access, self.around.now()))
                self._tell(judgement.proxy(access))

    def _make(self, topic: Topic, check: Callable[[], Check]) -> None:
        """Make one check, unless it has been, or one that it needs doesn't hold."""
        if topic in self._checks:
            return
        obstacle = self._obstacle(topic)
        if obstacle:
            self._tell(not_made(topic, obstacle))
            return
        self.begun(topic)
        try:
            made = check()
        except DispatchError as error:
            made = failed_by(topic, error)
        except PeerError as error:
            made = failed_by_peer(topic, error)
        self._tell(made)

    def _obstacle(self, topic: Topic) -> str:
        if self._root.is_silent:
            return "the store has stopped answering"
        for need in _NEEDS[topic]:
            if need in self._checks and not self._checks[need].holds:
                return f"it needs {need.value!r}"
        return ""

    def _tell(self, check: Check) -> None:
        self._checks[check.topic] = check
        self.told(check)

    def _clean(self) -> Check:
        """Remove what was written, whatever has happened."""
        self.begun(Topic.CLEAN)
        self._clean_own()
        if self._peers is not None and self._peers.is_mine:
            self._clean_folder(self._peers.folder)
        left = [reason for reasons in self._left.values() for reason in reasons]
        shown = os.fsdecode(self.store.location(b""))
        return judgement.clean(left, shown, is_unsure=self._root.is_unsure)

    def _clean_own(self) -> None:
        if self._acting.has_written:
            self._clean_folder(self._acting.folder)

    def _clean_folder(self, folder: str) -> None:
        if folder not in self._left:
            self._left[folder] = self._root.clean(folder)

    def _others(self) -> Check:
        patient, own = self._root.patient, {self._acting.folder}
        if self._peers is not None:
            own.add(self._peers.folder)

        def find() -> list[str]:
            found = patient.children(b"", os.fsencode(_PREFIX))
            # SeaweedFS lists a folder for a while after its last key has gone.
            return [os.fsdecode(name) for name in found if patient.has_save(name)]

        return judgement.others(set(self._root.ask("look", find)) - own)
