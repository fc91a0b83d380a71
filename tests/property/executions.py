"""The state machine with executions that claim their epochs, start, roll back and are overtaken.

All that happens in `tests.property.machine` happens here too; what others do meanwhile may also
be a start. The machine reads claims, resume points and fates by itself.
"""

from __future__ import annotations

from contextlib import ExitStack
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from dispatch.checkpoint import Entry, Framework, Log, PruneResult
from dispatch.checkpoint import execution as starting
from dispatch.checkpoint import prune as pruning
from dispatch.checkpoint.claims import Claims
from dispatch.checkpoint.execution import Start
from dispatch.checkpoint.fates import Fates
from dispatch.checkpoint.lost import Saves
from dispatch.errors import DispatchError, InvalidInputError, NotFoundError, OvertakenError
from tests.property import names as n
from tests.property.machine import (
    ALONE,
    Execution,
    LogMachine,
    Save,
    Trouble,
    content_of,
    keeps,
    steps,
    troubles,
)
from tests.property.test_retention import naive_overlaps
from tests.property.worlds import World
from tests.unit.stores import CrashError

START_CALLS = 40
NOTHING, DOOMED = "-", b"-"
OTHER = b"other"


def at_most(step: int | None, entries: list[Entry]) -> Entry | None:
    """Choose the latest, or the latest of at most a step."""
    return max((e for e in entries if step is None or e.step <= step), default=None)


class ExecutionMachine(LogMachine):
    """One root, and executions that start in it as `publish run` lets them."""

    def __init__(self, world: World | None = None) -> None:
        super().__init__(world)
        self.everyone: list[Execution] = []
        self.claimed: set[int] = set()
        self.published_once: set[int] = set()  # also what a person took back since
        self.told: dict[int, Entry | None] = {}  # what ranks of each epoch resume from
        self.retracted: set[Entry] = set()
        self.rolled_back: set[Entry] = set()  # what starts published meanwhile

    # -- what happens

    @rule(
        execution=LogMachine.executions,
        is_other=st.sampled_from([False, False, True]),
        trouble=troubles,
    )
    def claim(self, execution: Execution, trouble: Trouble, *, is_other: bool) -> None:
        """Claim an epoch, sometimes for another attempt: the scheduler started it twice."""
        attempt = OTHER + b"%d" % execution.epoch if is_other else attempt_of(execution)
        one = starting.Execution(self.log.store, execution.epoch, attempt)
        outcome = self.perform(lambda: outcome_of(one.claim), trouble, self.save_of(trouble), 8)
        if isinstance(outcome, OvertakenError):
            self.check_overtaken(execution.epoch, attempt)
        elif not isinstance(outcome, CrashError):
            assert outcome is None, f"{outcome!r}"
            held = self.claims().get(execution.epoch, attempt)  # a prune may have removed it
            assert held == attempt, "two have claimed one epoch"

    @rule(execution=LogMachine.executions, step=st.none() | steps, trouble=troubles)
    def begin(self, execution: Execution, step: int | None, trouble: Trouble) -> None:
        """Claim and start, or start once more, or as a rank that comes late; it may roll back."""
        lost = self.lost(execution.epoch)
        fixed = self.resume_points().get(execution.epoch)
        before = self.listed()
        outcome = self.perform(
            lambda: self.start_in(self.log, execution, step),
            trouble,
            self.save_of(trouble),
            START_CALLS,
        )
        if isinstance(outcome, CrashError):
            self.note_unfinished(lost | self.lost(execution.epoch))
            if step is not None:
                self.note_unfinished(self.roll_backs(execution.epoch))
            return
        self.note_started(execution, outcome, lost | self.lost(execution.epoch))
        if trouble.kind in ALONE and isinstance(outcome, Start):
            now = before | set(outcome.adopted)
            if fixed is None:
                assert set(outcome.adopted) == lost, "it adopted other saves than were lost"
                chosen = at_most(step, sorted(now))
                if chosen is not None and chosen != max(now):
                    chosen = Entry(execution.epoch, chosen.step, chosen.path)
                assert outcome.resume == chosen, "it resumes from another than it chose"
            else:
                assert not outcome.adopted, "a later rank adopted something"

    @rule(save=LogMachine.saves, execution=LogMachine.executions, trouble=troubles)
    def choose(self, save: Save, execution: Execution, trouble: Trouble) -> None:
        """Roll back to what is no later than this save."""
        self.begin(execution, save.step, trouble)

    @rule(
        execution=LogMachine.executions,
        keep=keeps,
        keep_every=st.none() | st.integers(1, 3),
        trouble=troubles,
        save=LogMachine.saves,
    )
    def prune_own(
        self,
        execution: Execution,
        keep: int,
        keep_every: int | None,
        trouble: Trouble,
        save: Save,
    ) -> None:
        """Prune as an execution, which may have been overtaken."""
        self.prune_as(execution.epoch, keep, keep_every, trouble, save)

    @rule(data=st.data())
    def retract_claim(self, data: st.DataObject) -> None:
        """Take a claim back, of an execution that is known to be dead."""
        claims = self.claims()
        if claims:
            epoch = data.draw(st.sampled_from(sorted(claims)))
            self.log.retract_claim(epoch)
            self.claimed.discard(epoch)
            self.published_once.discard(epoch)
            self.told.pop(epoch, None)

    # -- what must always be so

    @invariant()
    def only_old_claims_go(self) -> None:
        """A prune removes those of executions that were overtaken, which then can't start."""
        claimed = set(self.claims())
        for epoch in self.claimed - claimed:
            assert epoch < max(claimed, default=0), "the greatest claim is gone"
            self.told.pop(epoch, None)  # a person may retract all that are above it
        self.claimed = claimed

    @invariant()
    def what_is_loaded_stays(self) -> None:
        """What the execution with the greatest claim resumes from, until it has published."""
        epoch = max(self.claims(), default=None)
        fixed = None if epoch is None else self.resume_points().get(epoch)
        if epoch is None or not isinstance(fixed, Entry) or epoch in self.published_once:
            return
        if not self.is_loading(epoch, fixed):
            self.published_once.add(epoch)
            return
        if self.model.is_damaged(fixed) or fixed in self.retracted:
            return
        assert self.world.exists(fixed.path), f"epoch {epoch} loads {fixed}, which is gone"
        for save in self.known:
            if save.path == fixed.path:
                assert self.world.files(save.path) == content_of(save), f"{save} is half loaded"

    # -- the parts of it

    def new_execution(self, rise: int) -> Execution:
        """Remember it."""
        execution = super().new_execution(rise)
        self.everyone.append(execution)
        return execution

    def save_of(self, trouble: Trouble) -> Save:
        """Choose a save where others may get in our way."""
        return self.known[trouble.call % len(self.known)]

    def start_in(self, log: Log, execution: Execution, step: int | None) -> Start | DispatchError:
        """Claim and start."""
        one = starting.Execution(log.store, execution.epoch, attempt_of(execution))

        def start() -> Start:
            one.claim()
            return one.start(
                Saves(Framework.hf, settle=0.0), lambda entries: at_most(step, entries)
            )

        outcome = outcome_of(start)
        assert isinstance(outcome, (Start, DispatchError))
        return outcome

    def happen(self, trouble: Trouble, save: Save) -> None:
        """Let another execution start meanwhile, too."""
        if trouble.kind != "publish" or trouble.keep == 1:
            super().happen(trouble, save)
            return
        execution = self.everyone[-1] if trouble.call % 2 else save.execution
        lost = self.lost(execution.epoch)
        outcome = self.start_in(self.other_log, execution, (None, 0, 1, 3)[trouble.call % 4])
        self.note_started(execution, outcome, lost)
        if isinstance(outcome, Start):
            self.made |= set(outcome.adopted)
            if outcome.resume is not None and outcome.resume.epoch == execution.epoch:
                self.made.add(outcome.resume)
                self.rolled_back.add(outcome.resume)

    def note_unfinished(self, entries: set[Entry]) -> None:
        """Note what a start may have published that died, or failed after that."""
        self.model.named |= {entry.path for entry in entries}
        self.model.maybe |= entries - self.model.published

    def note_started(
        self, execution: Execution, outcome: Start | DispatchError, lost: set[Entry]
    ) -> None:
        """Note what a start published; hold it to what others were told."""
        epoch = execution.epoch
        if isinstance(outcome, DispatchError):
            self.check_refusal(execution, outcome)
            self.note_unfinished(lost)
            return
        attempt = attempt_of(execution)
        assert self.claims().get(epoch, attempt) == attempt, "it started, and hasn't the epoch"
        assert self.told.setdefault(epoch, outcome.resume) == outcome.resume, "two resume points"
        assert not self.retracted & set(outcome.adopted), "it adopted what was retracted"
        published = set(outcome.adopted)
        resume = outcome.resume
        if resume is not None and resume.epoch == epoch:
            is_there = resume in self.listed()
            assert is_there or not self.is_loading(epoch, resume), "a roll-back isn't published"
            published |= {resume} if is_there else set()
        self.model.named |= {entry.path for entry in published}
        self.model.maybe |= published & self.taken
        self.model.published |= published - self.taken
        self.model.maybe -= self.model.published

    def check_refusal(self, execution: Execution, error: DispatchError) -> None:
        """Check that a start failed for a reason."""
        epoch, latest = execution.epoch, max(self.listed(), default=None)
        if isinstance(error, OvertakenError):
            self.check_overtaken(epoch, attempt_of(execution))
        elif isinstance(error, InvalidInputError):
            assert latest is not None
            assert latest.epoch == epoch, f"{error!r}"
        else:
            assert isinstance(error, NotFoundError), f"{error!r}"
            assert error.kind == "save-missing", f"{error!r}"

    def check_overtaken(self, epoch: int, attempt: bytes) -> None:
        """Check that an execution was overtaken, or that another has its epoch."""
        claims, listed = self.claims(), self.listed()
        is_overtaken = max([*claims, *(entry.epoch for entry in listed)], default=0) > epoch
        assert is_overtaken or claims.get(epoch, attempt) != attempt, "it wasn't overtaken"

    def lost(self, epoch: int) -> set[Entry]:
        """Say which saves a start has to adopt."""
        listed, fates = self.listed(), self.world.held("fates")
        latest = max(listed, default=None)
        low = 0 if latest is None else latest.epoch
        found = set[Entry]()
        for claimed, attempt in self.claims().items():
            for save in self.model.saves:
                entry = Entry(claimed, save.step, save.path)
                if (
                    low <= claimed < epoch
                    and attempt_of(save.execution) == attempt
                    and self.is_complete(save)
                    and (latest is None or entry > latest)
                    and entry.path not in {other.path for other in listed}
                    and entry.name() not in fates
                ):
                    found.add(entry)
        return found

    def roll_backs(self, epoch: int) -> set[Entry]:
        """Say what an execution that died may have published, or publish when it starts again."""
        fixed = self.resume_points().get(epoch)
        return {fixed} if isinstance(fixed, Entry) and fixed.epoch == epoch else set()

    def claims(self) -> dict[int, bytes]:
        """Read the claims, without the code under test."""
        held = self.world.held("runs")
        return {int(name): value for name, value in held.items() if len(name) == 20}

    def resume_points(self) -> dict[int, Entry | str]:
        """Read what executions resume from, likewise."""
        points: dict[int, Entry | str] = {}
        for name, value in self.world.held("runs").items():
            if name.endswith(".resume"):
                parts = n.parse(value.decode())
                points[int(name[:20])] = NOTHING if parts is None else Entry(*parts)
        return points

    def is_loading(self, epoch: int, resume: Entry) -> bool:
        """Say whether an execution may still be loading: nobody at or above it has published."""
        others = self.listed() - {resume}
        is_greatest = max(self.claims(), default=0) <= epoch
        return is_greatest and all(entry.epoch < epoch for entry in others)

    def is_held(self, epoch: int | None) -> bool:
        """Say whether a claim keeps a prune from removing anything."""
        greatest = max(self.claims(), default=-1)
        latest = max(self.listed(), default=None)
        is_overtaken = epoch is not None and greatest > epoch
        return is_overtaken or (latest is not None and greatest > latest.epoch)

    def spared(self, doomed: set[Entry], stay: set[Entry]) -> set[Entry]:
        """Say which entries stay: those whose roll-back isn't published, and may yet be."""
        fates = self.world.held("fates")

        def is_undecided(entry: Entry) -> bool:
            fate = fates.get(entry.name(), b"")
            while fate not in {b"", DOOMED}:
                parts = n.parse(fate.decode())
                assert parts is not None
                entry = Entry(*parts)
                if entry in stay:
                    return False
                fate = fates.get(entry.name(), b"")
            return fate == b"" and entry not in doomed

        return {entry for entry in doomed if is_undecided(entry)}

    def note_retracted(self, entry: Entry) -> None:
        """Remember it until it is published again, or its save is written anew."""
        self.retracted.add(entry)

    def publish_entry(self, entry: Entry, trouble: Trouble, save: Save) -> None:
        """Publish; what was retracted may come back so."""
        self.retracted.discard(entry)
        super().publish_entry(entry, trouble, save)

    def write(self, save: Save) -> None:
        """Write a save, which is another one than it was."""
        super().write(save)
        self.retracted = {e for e in self.retracted if not naive_overlaps(e.path, save.path)}

    def note_what_went_in_vain(self, result: PruneResult) -> None:
        """A roll-back is none of what may go in vain: that is what fates are for."""
        made, self.made = self.made, self.made - self.rolled_back
        super().note_what_went_in_vain(result)
        self.made = made


class OldPrunerMachine(ExecutionMachine):
    """The same beside pruners that know neither claims nor fates.

    What is published stays whole, and all ranks load one save. What an execution is loading may
    go, and what it rolls back to at that very moment.
    """

    def __init__(self, world: World | None = None) -> None:
        super().__init__(world)
        self._patches = ExitStack()
        for name, replacement in (
            ("read_claims", lambda _: Claims((), (), ())),
            ("doom", lambda _, doomed, __: Fates(list(doomed))),
            ("forget", lambda *_: None),
        ):
            self._patches.enter_context(mock.patch.object(pruning, name, replacement))

    def teardown(self) -> None:
        """Let pruners know again."""
        self._patches.close()
        super().teardown()

    def is_loading(self, epoch: int, resume: Entry) -> bool:
        """Nobody is protected."""
        return False

    def is_held(self, epoch: int | None) -> bool:
        """It doesn't know claims."""
        return False

    def spared(self, doomed: set[Entry], stay: set[Entry]) -> set[Entry]:
        """It doesn't know fates."""
        return set()

    def note_what_went_in_vain(self, result: PruneResult) -> None:
        """A roll-back may."""
        self.rolled_back.clear()
        super().note_what_went_in_vain(result)


def attempt_of(execution: Execution) -> bytes:
    """Say which attempt writes where the execution does."""
    return execution.folder.removeprefix(b"exec/")


def outcome_of(operation: object) -> object:
    """What it returns, or the error that it raises."""
    assert callable(operation)
    try:
        return operation()
    except DispatchError as error:
        return error
