"""Starting an execution: its epoch, lost saves, and one resume point for all ranks."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dispatch.checkpoint.claims import NOTHING, claim_name, refuse_if_taken, resume_name
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.execution import Execution, Start
from dispatch.checkpoint.fates import take_over
from dispatch.checkpoint.log import Log
from dispatch.errors import (
    DispatchError,
    InvalidInputError,
    MalformedError,
    NotFoundError,
    OvertakenError,
)
from dispatch.model.contents import Contents
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Folder, look, parent_of
from tests.unit.checkpoint.executions import (
    DCP,
    NEW,
    OLD,
    entries,
    execution,
    newest,
    publish,
    save,
)
from tests.unit.stores import InlinePatience

MIDDLE = 1_500_000


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def at_most(step: int) -> Callable[[list[Entry]], Entry | None]:
    """Choose the latest of at most this step."""

    def choose(found: list[Entry]) -> Entry | None:
        return max((entry for entry in found if entry.step <= step), default=None)

    return choose


# ------------------------------------------------------------------------- claims


def test_a_claim_makes_the_epoch_the_attempts_own(store: MemoryStore) -> None:
    execution(store).claim()
    assert store.claimed("runs", claim_name(NEW)) == "new"


def test_an_attempt_has_one_epoch(store: MemoryStore) -> None:
    """Its folder holds the saves of one execution; nothing is claimed, so nobody is overtaken."""
    claimed(store, OLD, "old")
    claimed(store, MIDDLE, "middle")
    with pytest.raises(
        InvalidInputError, match="attempt 'old' has claimed epoch 1000000"
    ) as caught:
        execution(store, NEW, b"old").claim()
    assert caught.value.kind == "attempt-used"
    assert execution(store, MIDDLE, b"middle").overtaken_by() is None


def test_claiming_again_is_well(store: MemoryStore) -> None:
    """Every rank does it."""
    execution(store).claim()
    execution(store).claim()
    assert store.claimed("runs", claim_name(NEW)) == "new"


def test_another_attempt_is_refused_and_both_are_named(store: MemoryStore) -> None:
    """The scheduler started it twice."""
    execution(store).claim()
    with pytest.raises(OvertakenError, match="'new', not to 'other'") as caught:
        execution(store, attempt=b"other").claim()
    assert caught.value.kind == "epoch-taken"
    assert str(NEW) in str(caught.value)


def test_below_a_claimed_epoch_nothing_is_claimed(store: MemoryStore) -> None:
    """An old execution that comes late leaves no trace."""
    execution(store).claim()
    with pytest.raises(OvertakenError, match=f"epoch {NEW} is claimed by attempt 'new'") as caught:
        execution(store, OLD, b"old").claim()
    assert caught.value.kind == "overtaken"
    assert store.names("runs")[0] == [claim_name(NEW)]


def test_of_two_that_claim_at_once_the_lower_learns_it(store: MemoryStore) -> None:
    """The greater one comes between its listing and its claim."""

    class Late(MemoryStore):
        def claim(self, folder: str, name: str, value: str) -> str:
            held = super().claim(folder, name, value)
            if name == claim_name(OLD):
                super().claim(folder, claim_name(NEW), "new")
            return held

    with pytest.raises(OvertakenError, match=f"epoch {NEW} is claimed"):
        execution(Late(), OLD, b"old").claim()


def test_a_greater_claim_that_is_retracted_meanwhile_is_named_without_its_attempt() -> None:
    """A person takes it back between two calls: no reason to fail otherwise."""

    class Retracted(MemoryStore):
        def claimed(self, folder: str, name: str) -> str | None:
            return None

    store = Retracted()
    store._add("runs", claim_name(NEW), b"")  # as if it were there when listed
    with pytest.raises(OvertakenError, match=f"epoch {NEW} is claimed, above"):
        execution(store, OLD, b"old").claim()


def test_beside_a_name_that_is_no_claim_nothing_starts(store: MemoryStore) -> None:
    store.create("runs", "stray")
    with pytest.raises(MalformedError, match="'stray'"):
        execution(store).claim()
    assert store.names("runs")[0] == ["stray"]


def test_an_execution_learns_that_it_is_overtaken(store: MemoryStore) -> None:
    old = execution(store, OLD, b"old")
    old.claim()
    assert old.overtaken_by() is None
    execution(store).claim()
    assert old.overtaken_by() == NEW
    assert execution(store).overtaken_by() is None
    assert Execution(MemoryStore(), OLD, b"old").overtaken_by() is None


def test_publishing_under_anothers_epoch_is_refused(store: MemoryStore) -> None:
    """`watch` and `publish` read the claim, and make none."""
    refuse_if_taken(store, NEW, b"new")
    execution(store).claim()
    refuse_if_taken(store, NEW, b"new")
    refuse_if_taken(store, OLD, b"other")
    with pytest.raises(OvertakenError, match="belongs to attempt 'new'"):
        refuse_if_taken(store, NEW, b"other")
    assert store.names("runs")[0] == [claim_name(NEW)]


# ------------------------------------------------------------------------- the resume point


def test_the_first_rank_decides_for_all(store: MemoryStore) -> None:
    """Whatever an old execution publishes meanwhile."""
    first = publish(store, OLD, "old", 1)
    assert execution(store).start(DCP, newest) == Start(first)
    publish(store, OLD, "old", 2)
    assert execution(store).start(DCP, newest) == Start(first, is_first=False)


def test_from_scratch_is_decided_for_all_too(store: MemoryStore) -> None:
    assert execution(store).start(DCP, newest) == Start(None)
    assert store.claimed("runs", resume_name(NEW)) == NOTHING
    publish(store, OLD, "old", 2)
    assert execution(store).start(DCP, newest) == Start(None, is_first=False)


def test_a_rank_that_loses_the_race_follows(store: MemoryStore) -> None:
    """It had looked, and found no resume point."""
    early = publish(store, OLD, "old", 1)

    def race(found: list[Entry]) -> Entry | None:
        store.claim("runs", resume_name(NEW), NOTHING)
        return newest(found)

    assert execution(store).start(DCP, race) == Start(None, is_first=False)
    assert entries(store) == [early]


def test_a_new_start_after_own_publications_is_told(store: MemoryStore) -> None:
    """Its ranks load what was fixed; who wants the later save needs a new attempt."""
    first = publish(store, OLD, "old", 1)
    execution(store).start(DCP, newest)
    own = publish(store, NEW, "new", 5)
    assert execution(store).start(DCP, newest) == Start(first, is_first=False, later=own)


def test_what_was_fixed_and_has_gone_is_told(store: MemoryStore) -> None:
    """A new start of an execution that has published since, and pruned."""
    first = publish(store, OLD, "old", 1)
    execution(store).start(DCP, newest)
    publish(store, NEW, "new", 5)
    forget_save(store, first)
    with pytest.raises(NotFoundError, match=f"which epoch {NEW} resumes from, is gone") as caught:
        execution(store).start(DCP, newest)
    assert caught.value.kind == "save-missing"


def test_a_save_that_is_gone_is_never_fixed(store: MemoryStore) -> None:
    """The framework has rotated it; who starts again may choose another."""
    good, bad = publish(store, OLD, "old", 1), publish(store, OLD, "old", 2)
    forget_save(store, bad)
    with pytest.raises(NotFoundError, match="there is no save"):
        execution(store).start(DCP, newest)
    assert execution(store).start(DCP, at_most(1)).resume == Entry(NEW, 1, good.path)


def test_who_follows_makes_it_durable(store: MemoryStore) -> None:
    """Whoever fixed it may have died before its syncs."""
    first = publish(store, OLD, "old", 1)
    execution(store).start(DCP, newest)
    claimed: list[tuple[str, str]] = []

    class Noting(MemoryStore):
        def claim(self, folder: str, name: str, value: str) -> str:
            claimed.append((name, value))
            return super().claim(folder, name, value)

    noting = Noting()
    noting.folder = store.folder
    assert execution(noting).start(DCP, newest) == Start(first, is_first=False)
    assert claimed == [(resume_name(NEW), first.name())]


def forget_save(store: MemoryStore, entry: Entry) -> None:
    """Let its save be gone."""
    folder, name = parent_of(store.folder, entry.path)
    del folder.inner[name]


# ------------------------------------------------------------------------- adoption


def claimed(store: MemoryStore, epoch: int, attempt: str) -> None:
    execution(store, epoch, attempt.encode()).claim()


def test_saves_that_a_dead_watcher_left_are_published(store: MemoryStore) -> None:
    """Complete ones, above the latest, in order, as their own execution would have."""
    claimed(store, OLD, "old")
    publish(store, OLD, "old", 3)
    for step in (4, 2, 10):
        save(store, "old", step)
    save(store, "old", 11, whole=False)
    adopted = [Entry(OLD, step, f"exec/old/step-{step}") for step in (4, 10)]
    assert execution(store).start(DCP, newest) == Start(adopted[-1], adopted)
    assert [entry.step for entry in entries(store)] == [3, 4, 10]


def test_all_older_executions_from_the_latests_epoch_upwards_are_looked_into(
    store: MemoryStore,
) -> None:
    """Not those below it: a prune may have begun on their saves."""
    for epoch, attempt in ((OLD, "old"), (MIDDLE, "middle"), (MIDDLE + 1, "later"), (NEW, "new")):
        claimed(store, epoch, attempt)
        save(store, attempt, 7)
    publish(store, MIDDLE, "middle", 3)
    adopted = execution(store).adopt(DCP)
    assert [(entry.epoch, entry.step) for entry in adopted] == [(MIDDLE, 7), (MIDDLE + 1, 7)]


def test_without_a_publication_every_older_execution_is(store: MemoryStore) -> None:
    claimed(store, OLD, "old")
    save(store, "old", 1)
    assert [entry.step for entry in execution(store).adopt(DCP)] == [1]
    assert execution(store).adopt(DCP) == []


def test_what_was_retracted_or_pruned_is_not_lost(store: MemoryStore) -> None:
    """A person took it back; or a prune had chosen it before all that was greater went."""
    claimed(store, OLD, "old")
    kept, spike = publish(store, OLD, "old", 1), publish(store, OLD, "old", 9)
    Log(store, InlinePatience()).retract(spike)
    assert execution(store).start(DCP, newest) == Start(kept)


def test_what_another_entry_names_is_not_lost(store: MemoryStore) -> None:
    """One attempt has claimed two epochs, against the rules."""
    claimed(store, OLD, "old")
    store.claim("runs", claim_name(MIDDLE), "old")
    for step in (1, 2):
        publish(store, OLD, "old", step)
    save(store, "old", 3)
    assert [(e.epoch, e.step) for e in execution(store).adopt(DCP)] == [(OLD, 3), (MIDDLE, 3)]


def test_what_a_start_chooses_among_can_be_foreseen(store: MemoryStore) -> None:
    """Lost saves, too, as if they were whole; nothing is written, and a rank has no choice."""
    claimed(store, OLD, "old")
    first = publish(store, OLD, "old", 1)
    lost = Entry(OLD, 2, save(store, "old", 2))
    assert execution(store).foresee(DCP) == [first, lost]
    assert entries(store) == [first]
    execution(store).start(DCP, newest)
    assert execution(store).foresee(DCP) is None


def test_executions_that_claimed_nothing_are_not_looked_into(store: MemoryStore) -> None:
    """Nothing says which epoch they have."""
    save(store, "old", 1)
    assert execution(store).start(DCP, newest) == Start(None)


def test_saves_in_a_folder_below_are_found(store: MemoryStore) -> None:
    """Where the trainer puts them there."""
    claimed(store, OLD, "old")
    save(store, "old/checkpoint", 1)
    assert execution(store).adopt(DCP) == []
    assert [entry.save for entry in execution(store).adopt(replace(DCP, inside=b"checkpoint"))] == [
        "exec/old/checkpoint/step-1"
    ]


def test_a_claim_that_holds_no_attempt_is_passed_over(store: MemoryStore) -> None:
    """A person made it."""
    store.claim("runs", claim_name(OLD), "a/b")
    save(store, "a/b", 1)
    assert execution(store).adopt(DCP) == []


def test_a_claim_that_is_retracted_meanwhile_is_passed_over() -> None:
    class Retracted(MemoryStore):
        def claimed(self, folder: str, name: str) -> str | None:
            return None if name == claim_name(OLD) else super().claimed(folder, name)

    store = Retracted()
    store._add("runs", claim_name(OLD), b"")  # as if it were there when listed
    save(store, "old", 1)
    assert execution(store).adopt(DCP) == []


def test_what_can_not_be_published_is_passed_over(store: MemoryStore) -> None:
    """A path that no entry can hold, and one that its watcher would have refused."""
    claimed(store, OLD, "o" * 130)
    save(store, "o" * 130, 1)
    claimed(store, MIDDLE, "line\nbreak")
    save(store, "line\nbreak", 1)
    assert execution(store).adopt(DCP) == []
    assert entries(store) == []


def test_a_save_that_goes_away_meanwhile_is_passed_over(store: MemoryStore) -> None:
    """Its own trainer rotates."""

    class Rotating(MemoryStore):
        def contents(self, path: bytes) -> Contents:
            found = super().contents(path)
            old = look(self.folder, b"exec/old")
            assert isinstance(old, Folder)
            old.inner.pop(b"step-1", None)
            return found

    rotating = Rotating()
    claimed(rotating, OLD, "old")
    save(rotating, "old", 1)
    assert execution(rotating).adopt(DCP) == []
    assert entries(rotating) == []
    del store


def test_a_root_that_goes_away_fails_a_start() -> None:
    """It is not taken for a save that went."""

    class Going(MemoryStore):
        def contents(self, path: bytes) -> Contents:
            found = super().contents(path)
            self.destroy()
            return found

    store = Going()
    claimed(store, OLD, "old")
    save(store, "old", 1)
    with pytest.raises(NotFoundError) as caught:
        execution(store).adopt(DCP)
    assert caught.value.kind == "root-missing"


# ------------------------------------------------------------------------- rolling back


def test_an_older_choice_sticks(store: MemoryStore) -> None:
    """Its save is published under the new epoch, so that a crash doesn't undo the choice."""
    good = publish(store, OLD, "old", 1)
    publish(store, OLD, "old", 9)
    start = execution(store).start(DCP, at_most(1))
    again = Entry(NEW, good.step, good.path)
    assert start == Start(again)
    assert newest(entries(store)) == again
    assert execution(store, NEW + 1, b"next").start(DCP, newest) == Start(again)


def test_every_rank_makes_sure_that_a_roll_back_is_published(store: MemoryStore) -> None:
    """The one that decided may have died before it published."""
    good = publish(store, OLD, "old", 1)
    publish(store, OLD, "old", 9)
    again = Entry(NEW, good.step, good.path)
    store.claim("runs", resume_name(NEW), again.name())
    assert execution(store).start(DCP, newest) == Start(again, is_first=False)
    assert newest(entries(store)) == again


def test_a_late_rank_does_not_publish_an_old_roll_back_again(store: MemoryStore) -> None:
    """A prune may have begun on it."""
    good = publish(store, OLD, "old", 1)
    publish(store, OLD, "old", 9)
    start = execution(store).start(DCP, at_most(1))
    assert start.resume is not None
    own = publish(store, NEW, "new", 5)
    store.remove("pub", [start.resume.name(), good.name()])
    late = execution(store).start(DCP, newest)
    assert late == Start(start.resume, is_first=False, later=own)
    assert start.resume not in entries(store)


def test_nothing_to_roll_back_to_is_from_scratch(store: MemoryStore) -> None:
    """Only where the choice says so."""
    publish(store, OLD, "old", 9)
    assert execution(store).start(DCP, at_most(1)) == Start(None)


def test_rolling_back_to_a_save_that_a_prune_took_fails(store: MemoryStore) -> None:
    """Nothing is decided then: the next start may choose another."""
    good = publish(store, OLD, "old", 1)
    publish(store, OLD, "old", 9)
    store.claim("fates", good.name(), "-")
    with pytest.raises(NotFoundError, match="is being removed by a prune"):
        execution(store).start(DCP, at_most(1))
    assert store.claimed("runs", resume_name(NEW)) is None


@pytest.mark.parametrize(
    ("epoch", "kind", "hint"),
    [(NEW, "invalid-input", "greater epoch"), (NEW + 1, "overtaken", "newer execution")],
)
def test_where_a_roll_back_would_not_be_the_latest_there_is_none(
    store: MemoryStore, epoch: int, kind: str, hint: str
) -> None:
    """A crash would undo it."""
    publish(store, OLD, "old", 1)
    publish(store, epoch, "late", 9)
    with pytest.raises(DispatchError, match=f"epoch {epoch} has published already") as caught:
        execution(store).start(DCP, at_most(1))
    assert caught.value.kind == kind
    assert hint in caught.value.hint
    assert store.names("fates")[0] == []
    assert store.claimed("runs", resume_name(NEW)) is None


def test_of_two_that_roll_back_to_one_save_the_lower_is_overtaken(store: MemoryStore) -> None:
    """It had claimed, and the greater was faster."""
    publish(store, OLD, "old", 1)
    publish(store, OLD, "old", 9)
    lower = execution(store)
    lower.claim()

    def slow(found: list[Entry]) -> Entry | None:
        greater = execution(store, NEW + 1, b"newer")
        greater.claim()
        take_over(store, found[0], Entry(NEW + 1, 1, found[0].path))
        return at_most(1)(found)

    with pytest.raises(OvertakenError, match=f"epoch {NEW + 1} is claimed"):
        lower.start(DCP, slow)


def test_a_rank_whose_choice_is_gone_follows_another(store: MemoryStore) -> None:
    """It was slow: the other had fixed it, and a prune went on."""
    good = publish(store, OLD, "old", 1)
    publish(store, OLD, "old", 9)
    again = Entry(NEW, good.step, good.path)

    def slow(found: list[Entry]) -> Entry | None:
        execution(store).start(DCP, at_most(1))
        return at_most(5)(found)

    publish(store, OLD, "old", 5)
    store.claim("fates", Entry(OLD, 5, "exec/old/step-5").name(), "-")
    assert execution(store).start(DCP, slow) == Start(again, is_first=False)


def test_a_resume_point_that_is_no_entry_is_refused(store: MemoryStore) -> None:
    store.claim("runs", resume_name(NEW), "nonsense")
    with pytest.raises(MalformedError, match=f"runs/{resume_name(NEW)} holds 'nonsense'"):
        execution(store).start(DCP, newest)


def test_a_choice_that_fails_decides_nothing(store: MemoryStore) -> None:
    def refuse(_: list[Entry]) -> Entry | None:
        message = "none of them is complete"
        raise InvalidInputError(message)

    with pytest.raises(InvalidInputError):
        execution(store).start(DCP, refuse)
    assert store.claimed("runs", resume_name(NEW)) is None
