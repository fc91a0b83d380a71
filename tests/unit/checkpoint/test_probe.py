"""A probe of one node: what it says of each fault, and that it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.probe import Check, State, Topic
from dispatch.errors import (
    CredentialsError,
    DispatchError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from dispatch.model.access import Access
from tests.unit.checkpoint.probing import (
    OWN,
    Probing,
    TroubledStore,
    not_made,
    raising_at,
    states,
)
from tests.unit.stores import LostPatience

ALONE = [topic for topic in Topic if topic not in {Topic.PEER, Topic.VISIBILITY}]
ON_POSIX = [topic for topic in ALONE if topic not in {Topic.CREDENTIALS, Topic.PROXY}]
BUCKET = Access("https://store.example", "env", None, None)
UNSYNCED = UnknownOutcomeError("syncing it: EINVAL", kind="durability-unknown", hint="Use another.")
LOST = UnknownOutcomeError("no answer", kind="outcome-unknown")
DOWN = UnavailableError("the store is down", hint="Start it.")
SILENT = UnavailableError("no answer in time", kind="store-silent")
DENIED = RefusedError("EACCES", hint="Ask.")
CONDITION = RefusedError("the store answered 501", kind="condition-refused", hint="Not like S3.")
NO_LINKS = RefusedError("EPERM", kind="no-links", hint="No links here.")

Arguments = tuple[Any, ...]


@pytest.fixture
def store() -> TroubledStore:
    """An empty root."""
    return TroubledStore()


@pytest.fixture
def bucket(store: TroubledStore, monkeypatch: pytest.MonkeyPatch) -> TroubledStore:
    """The same, which is reached as a bucket is."""
    monkeypatch.setattr("tests.unit.checkpoint.probing.QuickStore.access", lambda _: BUCKET)
    return store


def failing(
    error: DispatchError, call: str, *, when: Callable[[Arguments], bool] = lambda _: True
) -> Callable[[int, str, Arguments], None]:
    """Make each call of a method fail."""

    def before(number: int, name: str, arguments: Arguments) -> None:
        if name == call and when(arguments):
            raise error

    return before


def answering(answer: object, call: str, *, skip: int = 0) -> Callable[..., object]:
    """Change the answers of a method, after the first ``skip``."""
    seen = [0]

    def after(number: int, name: str, arguments: Arguments, given: object) -> object:
        if name != call:
            return None
        seen[0] += 1
        return answer if seen[0] > skip else None

    return after


def of(name: str) -> Callable[[Arguments], bool]:
    """Say whether a call is about this name."""
    return lambda arguments: len(arguments) > 1 and arguments[1] == name


def nothing_is_left(store: TroubledStore) -> bool:
    """Whether the root is as it was, and was never written to anywhere else."""
    folders = {arguments[0] for name, arguments in store.calls if name in {"create", "claim"}}
    return store.probes() == [] and folders <= {OWN}


# ------------------------------------------------------------------------------ all is well


def test_of_a_good_root_each_check_is_ok_and_told_at_once(store: TroubledStore) -> None:
    probing = Probing(store)
    checks = probing.run()
    assert list(checks) == ON_POSIX
    assert set(states(checks).values()) == {State.OK}
    assert probing.begun == ON_POSIX
    assert probing.probe.cleaned == checks[Topic.CLEAN]
    assert nothing_is_left(store)


def test_of_a_good_bucket_it_also_says_who_asks_and_through_what(bucket: TroubledStore) -> None:
    checks = Probing(bucket).run()
    assert list(checks) == ALONE
    assert checks[Topic.CREDENTIALS].found == "from env; no end of them is known"
    assert checks[Topic.PROXY].found == "none; those of the environment are never used"
    assert checks[Topic.REACHABLE].found == "https://store.example"
    assert checks[Topic.SYNC].found == "the store answers for it"
    assert checks[Topic.CLAIMS].found.startswith("by a conditional PUT")
    assert set(states(checks).values()) == {State.OK}


def test_what_is_published_is_read_and_not_touched(store: TroubledStore) -> None:
    names = [Entry(1, step, b"exec/a/s").name() for step in (5, 700)]
    for name in names:
        store.create("pub", name)
    store.calls.clear()
    checks = Probing(store).run()
    assert checks[Topic.LISTABLE].found == "2 publications, the latest of step 700"
    assert sorted(store.names("pub")[0]) == names
    assert nothing_is_left(store)


def test_each_latency_is_that_of_the_call(store: TroubledStore) -> None:
    checks = Probing(store).run()
    timed = {topic for topic, check in checks.items() if check.seconds is not None}
    assert timed == {
        Topic.REACHABLE, Topic.LISTABLE, Topic.WRITABLE, Topic.EXCLUSIVE, Topic.RACE,
        Topic.LISTING, Topic.REMOVAL,
    }  # fmt: skip
    for what in ("look", "list", "create", "remove", "claim"):
        assert f"{what} " in checks[Topic.LATENCY].found


# ------------------------------------------------------------------------------ each fault

WRITERS = {
    Topic.SYNC, Topic.EXCLUSIVE, Topic.RACE, Topic.LISTING, Topic.REMOVAL, Topic.CLAIMS,
    Topic.CLOCK,
}  # fmt: skip
SYNCED = {Topic.EXCLUSIVE, Topic.RACE, Topic.CLAIMS}
ALL_BUT_REACHABLE = {*WRITERS, Topic.LISTABLE, Topic.WRITABLE, Topic.LATENCY, Topic.OTHERS}


def failed(checks: dict[Topic, Check]) -> dict[Topic, str]:
    """What each check that failed has found."""
    return {t: check.found for t, check in checks.items() if check.state is State.FAIL}


def test_no_keys_end_it_at_once(store: TroubledStore) -> None:
    error = CredentialsError("no credentials; tried env", hint="Name a source.")
    store.before = failing(error, "access")
    checks = Probing(store).run()
    assert failed(checks) == {Topic.CREDENTIALS: "no credentials; tried env"}
    assert checks[Topic.CREDENTIALS].advice == "Name a source."
    assert checks[Topic.CREDENTIALS].kind == "credentials-missing"
    assert not_made(checks) == {Topic.REACHABLE, *ALL_BUT_REACHABLE}
    assert [name for name, _ in store.calls] == ["access"]


@pytest.mark.parametrize("call", ["access", "check", "written"])
def test_a_root_that_is_not_reached(store: TroubledStore, call: str) -> None:
    store.before = failing(DOWN, call)
    checks = Probing(store).run()
    assert failed(checks) == {Topic.REACHABLE: "the store is down"}
    assert checks[Topic.REACHABLE].advice == "Start it."
    assert not_made(checks) == ALL_BUT_REACHABLE
    assert checks[Topic.CLEAN].state is State.OK


def test_of_a_root_that_goes_away_nothing_can_be_removed(store: TroubledStore) -> None:
    """It may be unmounted, or a bucket that never was: no one is told to delete anything."""

    def go(_number: int, name: str, _arguments: Arguments) -> None:
        if name == "claim":
            store.destroy()

    store.before = go
    checks = Probing(store).run()
    cleaned = checks[Topic.CLEAN]
    assert cleaned.state is State.WARN
    assert "may be made yet" in cleaned.found


def test_a_stray_name_in_pub_is_what_a_job_would_meet(store: TroubledStore) -> None:
    """The rest can be checked all the same."""
    store.create("pub", ".DS_Store")
    checks = Probing(store).run()
    assert list(failed(checks)) == [Topic.LISTABLE]
    assert ".DS_Store" in checks[Topic.LISTABLE].found
    assert checks[Topic.LISTABLE].kind == "malformed-entry"
    assert not_made(checks) == set()


def test_a_root_that_may_only_be_read(store: TroubledStore) -> None:
    store.before = failing(DENIED, "create")
    checks = Probing(store).run()
    assert failed(checks) == {Topic.WRITABLE: "EACCES"}
    assert checks[Topic.WRITABLE].advice == "Ask."
    assert not_made(checks) == WRITERS
    assert "it needs 'writable'" in checks[Topic.RACE].found


def test_a_store_that_refuses_the_condition_says_what_holds(bucket: TroubledStore) -> None:
    bucket.before = failing(CONDITION, "create")
    checks = Probing(bucket).run()
    assert failed(checks) == {Topic.WRITABLE: "the store answered 501"}
    advice = checks[Topic.WRITABLE].advice
    assert "refuses the condition (If-None-Match)" in advice
    assert "nothing can be published or claimed" in advice
    assert not_made(checks) == WRITERS


def test_folders_that_can_not_be_synced_are_told_from_those_that_can_not_be_written(
    store: TroubledStore,
) -> None:
    """It is made all the same, and all of it is removed."""

    def after(number: int, name: str, arguments: Arguments, answer: object) -> None:
        if name in {"create", "claim", "remove"}:
            raise UNSYNCED

    store.after = after
    checks = Probing(store).run()
    assert failed(checks) == {Topic.SYNC: "syncing it: EINVAL"}
    assert not_made(checks) == SYNCED
    assert checks[Topic.WRITABLE].state is State.OK
    assert "can sync folders" in checks[Topic.SYNC].advice
    assert nothing_is_left(store)


@pytest.mark.parametrize("error", [LOST, DOWN])
def test_a_creation_of_unknown_outcome_is_no_question_of_syncing(
    store: TroubledStore, error: DispatchError
) -> None:
    store.after = lambda number, name, *_: raise_if(name == "create", error)
    checks = Probing(store).run()
    assert failed(checks) == {Topic.WRITABLE: str(error)}
    unsure = State.WARN if error is LOST else State.OK
    assert checks[Topic.CLEAN].state is unsure
    assert nothing_is_left(store)


def raise_if(is_so: bool, error: DispatchError) -> None:
    if is_so:
        raise error


@pytest.mark.parametrize("is_bucket", [True, False])
def test_a_second_creation_that_succeeds(
    store: TroubledStore, request: pytest.FixtureRequest, is_bucket: bool
) -> None:
    if is_bucket:
        request.getfixturevalue("bucket")
    store.after = answering(True, "create")
    checks = Probing(store).run()
    assert list(failed(checks)) == [Topic.EXCLUSIVE]
    assert not_made(checks) == {Topic.RACE}
    check = checks[Topic.EXCLUSIVE]
    assert ("ignores the condition" if is_bucket else "O_EXCL") in check.found
    assert "nothing is lost or overwritten" in check.advice
    assert "Claims don't hold" in check.advice
    assert nothing_is_left(store)


def test_a_second_creation_that_is_refused_in_another_way(bucket: TroubledStore) -> None:
    """As by a store that answers 304; each creation of a new name succeeds."""

    def before(number: int, name: str, arguments: Arguments) -> None:
        is_there = name in {"create", "claim"} and arguments[1] in bucket.names(OWN)[0]
        raise_if(is_there, CONDITION)

    bucket.before = before
    checks = Probing(bucket).run()
    assert list(failed(checks)) == [Topic.EXCLUSIVE, Topic.CLAIMS]
    assert "refuses a second creation, but not as S3 does" in checks[Topic.EXCLUSIVE].advice
    assert "Everything but claims works" in checks[Topic.CLAIMS].advice
    assert not_made(checks) == {Topic.RACE}
    assert nothing_is_left(bucket)


def test_a_second_creation_that_fails(store: TroubledStore) -> None:
    seen = []

    def before(number: int, name: str, arguments: Arguments) -> None:
        if name == "create" and arguments[1] == "first":
            seen.append(number)
            raise_if(len(seen) == 2, DOWN)

    store.before = before
    checks = Probing(store).run()
    assert failed(checks) == {Topic.EXCLUSIVE: "the store is down"}
    assert checks[Topic.EXCLUSIVE].advice == "Start it."


def test_a_first_creation_whose_answer_was_lost_is_one(store: TroubledStore) -> None:
    """The second try finds the name: nobody else has this folder."""
    store.after = answering(False, "create")
    checks = Probing(store).run()
    assert checks[Topic.WRITABLE].state is State.OK
    assert checks[Topic.RACE].state is State.WARN
    assert checks[Topic.RACE].found == "in 3 rounds nobody created the name, and yet it was there"
    assert nothing_is_left(store)


def test_a_race_with_two_winners(store: TroubledStore) -> None:
    store.after = answering(True, "create", skip=17)
    checks = Probing(store).run()
    assert failed(checks) == {Topic.RACE: "2 of 16 creations of one name at once succeeded"}


@pytest.mark.parametrize("is_bucket", [True, False])
def test_a_race_that_only_the_store_loses(
    store: TroubledStore, request: pytest.FixtureRequest, is_bucket: bool
) -> None:
    if is_bucket:
        request.getfixturevalue("bucket")
    wins = lambda number, name, arguments, answer: (  # noqa: E731 - one answer for one name
        True if name == "create" and str(arguments[1]).startswith("race") else None
    )
    store.after = wins
    checks = Probing(store).run()
    assert failed(checks) == {Topic.RACE: "16 of 16 creations of one name at once succeeded"}
    assert ("If-None-Match" if is_bucket else "NFSv3") in checks[Topic.RACE].advice


def test_a_race_in_which_some_fail(store: TroubledStore) -> None:
    store.before = failing(DOWN, "create", when=lambda a: str(a[1]).startswith("race"))
    checks = Probing(store).run()
    expected = "16 of 16 creations of one name at once failed: the store is down"
    assert failed(checks) == {Topic.RACE: expected}
    assert checks[Topic.RACE].advice == "Start it."


def test_a_race_in_which_some_have_no_answer_ends_the_probe(store: TroubledStore) -> None:
    probing = Probing(store)
    slow = probing.around.race
    probing.probe.around = type(probing.around)(
        clock=probing.clock,
        now=probing.around.now,
        race=lambda works, time_out: [*slow(works, time_out)[:-1], TimeoutError()],
        stop=probing.stop,
        patience=probing.around.patience,
    )
    probing.probe.__post_init__()
    checks = probing.run()
    expected = "1 of 16 creations of one name at once failed: no answer in time"
    assert failed(checks) == {Topic.RACE: expected}
    assert checks[Topic.RACE].seconds == 120.0
    assert not_made(checks) == {
        Topic.LISTING, Topic.REMOVAL, Topic.CLAIMS, Topic.CLOCK, Topic.LATENCY, Topic.OTHERS,
    }  # fmt: skip
    assert checks[Topic.CLEAN].state is State.WARN
    assert "may be made yet" in checks[Topic.CLEAN].found
    assert nothing_is_left(store)


def test_a_fault_of_the_program_in_a_race_is_raised_once_all_is_clean(
    store: TroubledStore,
) -> None:
    def before(number: int, name: str, arguments: Arguments) -> None:
        if name == "create" and str(arguments[1]).startswith("race"):
            raise ZeroDivisionError

    store.before = before
    with pytest.raises(ZeroDivisionError):
        Probing(store).run()
    assert nothing_is_left(store)


@pytest.mark.parametrize("comes", [True, False])
def test_a_listing_that_is_late_says_how_late(store: TroubledStore, comes: bool) -> None:
    """And is not waited for longer than ten seconds."""
    probing = Probing(store)
    until = 3.0 if comes else 1e9

    def after(number: int, name: str, arguments: Arguments, answer: Any) -> Any:  # noqa: ANN401
        if name == "names" and answer[0] and probing.clock.now < until:
            return [n for n in answer[0] if n != "name-03"], answer[1]
        return None

    store.after = after
    checks = probing.run()
    assert list(failed(checks)) == [Topic.LISTING]
    said = "it came 3" if comes else "it was still missing 10.0 s later"
    assert said in checks[Topic.LISTING].found
    assert "older save" in checks[Topic.LISTING].advice
    assert not_made(checks) == {Topic.REMOVAL}
    assert nothing_is_left(store), "also what no listing shows"


@pytest.mark.parametrize("goes", [True, False])
def test_a_removal_that_is_seen_late_says_how_late(store: TroubledStore, goes: bool) -> None:
    probing = Probing(store, time_out=5.0)
    until = 2.0 if goes else 1e9
    removed: list[str] = []

    def after(number: int, name: str, arguments: Arguments, answer: Any) -> Any:  # noqa: ANN401
        if name == "remove":
            removed.extend(answer[0])
        late = "name-31" in removed and probing.clock.now < until and len(store.calls) < 90
        if name == "names" and arguments[0] == OWN and removed and (late or not goes):
            return ([*answer[0], "name-31"], False) if Topic.CLEAN not in probing.begun else None
        return None

    store.after = after
    checks = probing.run()
    assert list(failed(checks)) == [Topic.REMOVAL]
    said = "it went " if goes else "it was still there 5.0 s later"
    assert said in checks[Topic.REMOVAL].found
    assert nothing_is_left(store)


def test_a_name_that_can_not_be_removed_is_named_and_left(store: TroubledStore) -> None:
    def after(number: int, name: str, arguments: Arguments, answer: Any) -> Any:  # noqa: ANN401
        if name != "remove":
            return None
        for removed in answer[0]:
            store.folder.inner[OWN.encode()].inner[removed.encode()] = b""  # type: ignore[union-attr]
        return [], dict.fromkeys(arguments[1], DENIED)

    store.after = after
    checks = Probing(store).run()
    assert list(failed(checks)) == [Topic.REMOVAL, Topic.CLEAN]
    assert checks[Topic.REMOVAL].found == "EACCES"
    assert f"left behind in /memory/root: {OWN}/" in checks[Topic.CLEAN].found
    assert f"{OWN}/first: EACCES" in checks[Topic.CLEAN].found
    assert checks[Topic.CLEAN].advice == "Delete it by hand; no other program uses it."


def test_names_that_come_again_and_again_are_named(store: TroubledStore) -> None:
    """By a call that had no answer, say."""
    store.before = lambda number, name, *_: (
        store.folder.inner[OWN.encode()].inner.update({b"zombie": b""})  # type: ignore[union-attr]
        if name == "drop"
        else None
    )
    checks = Probing(store).run()
    assert failed(checks) == {
        Topic.CLEAN: f"left behind in /memory/root: {OWN}/: names keep coming up in it"
    }


@pytest.mark.parametrize(
    ("error", "advice"),
    [(NO_LINKS, "No links here. Everything but claims"), (DENIED, "Ask.")],
)
def test_claims_that_can_not_be_made(
    store: TroubledStore, error: DispatchError, advice: str
) -> None:
    """All else can be checked, and holds."""
    store.before = failing(error, "claim")
    checks = Probing(store).run()
    assert failed(checks) == {Topic.CLAIMS: str(error)}
    assert checks[Topic.CLAIMS].advice.startswith(advice)
    assert not_made(checks) == set()


@pytest.mark.parametrize("call", ["claim", "claimed"])
def test_a_claim_that_is_overwritten(store: TroubledStore, call: str) -> None:
    store.after = answering("two", call, skip=call == "claim")
    checks = Probing(store).run()
    assert list(failed(checks)) == [Topic.CLAIMS]
    assert "'one' was claimed first" in checks[Topic.CLAIMS].found
    assert "Claims don't hold" in checks[Topic.CLAIMS].advice


def test_a_name_that_is_gone_when_it_is_looked_at(store: TroubledStore) -> None:
    store.after = answering({}, "written")
    checks = Probing(store).run()
    assert list(failed(checks)) == [Topic.CLOCK]


@pytest.mark.parametrize(("wall", "side"), [(100.0, "ahead of"), (-100.0, "behind")])
def test_a_clock_that_is_off(store: TroubledStore, wall: float, side: str) -> None:
    probing = Probing(store)
    probing.wall = wall
    checks = probing.run()
    assert checks[Topic.CLOCK].state is State.WARN
    assert side in checks[Topic.CLOCK].found


def test_the_folders_of_others_are_told_and_left(store: TroubledStore) -> None:
    for folder in (".probe-b", ".probe-a"):
        store.create(folder, "first")
    checks = Probing(store).run()
    assert checks[Topic.OTHERS].state is State.WARN
    assert checks[Topic.OTHERS].found == "there are .probe-a, .probe-b"
    assert sorted(store.probes()) == [b".probe-a", b".probe-b"]


def test_a_folder_that_is_listed_and_holds_nothing_is_none_of_others(bucket: TroubledStore) -> None:
    """SeaweedFS lists it for a while."""
    bucket.after = lambda number, name, arguments, answer: (
        [b".probe-old"] if name == "children" else None
    )
    assert Probing(bucket).run()[Topic.OTHERS].state is State.OK


# ------------------------------------------------------------------- a fault at every call


def after_instead(before: Callable[[int, str, Arguments], None]) -> Callable[..., None]:
    """Let the same happen once the call is done: an answer that was lost."""

    def after(number: int, name: str, arguments: Arguments, answer: object) -> None:
        before(number, name, arguments)

    return after


CALLS = 97


def test_the_calls_of_a_good_run_are_counted(store: TroubledStore) -> None:
    """So that the tests below meet each."""
    Probing(store).run()
    assert len(store.calls) == CALLS


@pytest.mark.parametrize("error", [DOWN, DENIED, LOST, UNSYNCED, SILENT], ids=lambda e: e.kind)
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
def test_a_fault_at_any_call_is_told_and_nothing_is_left(
    error: DispatchError, is_done: bool
) -> None:
    """No error is raised, what fails is a FAIL, and what was made is removed."""
    for number in range(CALLS):
        store = TroubledStore()
        before = raising_at(number, error)
        if is_done:
            store.after = after_instead(before)
        else:
            store.before = before
        probing = Probing(store)
        checks = probing.run()
        call = store.calls[number][0]
        is_cleaning = number in range(CALLS - 5, CALLS - 1)
        if error is SILENT and is_cleaning:
            assert checks[Topic.CLEAN].state is State.FAIL, (number, call)
        else:
            assert nothing_is_left(store), (number, call)
        if is_cleaning:  # it is tried again
            assert failed(checks).keys() <= {Topic.CLEAN}, (number, call)
        else:
            assert failed(checks), (number, call)


def test_a_stop_at_any_call_ends_it_and_nothing_is_left() -> None:
    """The checks that were made before are told."""
    for number in range(CALLS):
        store = TroubledStore()
        probing = Probing(store)

        def before(at: int, *_: object, number: int = number, probing: Probing = probing) -> None:
            probing.stop.asked = probing.stop.asked or at == number

        store.before = before
        checks = list(probing.run())
        assert checks == [topic for topic in ON_POSIX if topic in checks]
        assert checks[-1] in {Topic.CLEAN, Topic.OTHERS}
        assert nothing_is_left(store)
        if number < CALLS - 6:
            assert Topic.LATENCY not in checks


def test_a_stop_before_the_first_call_makes_none(store: TroubledStore) -> None:
    probing = Probing(store)
    probing.stop.asked = True
    assert list(probing.run()) == [Topic.CLEAN]
    assert store.calls == []


@pytest.mark.parametrize("topic", [t for t in ON_POSIX if t is not Topic.OTHERS])
def test_an_answer_that_can_not_be_told_ends_it_and_nothing_is_left(
    store: TroubledStore, topic: Topic
) -> None:
    """A closed stdout, say."""
    probing = Probing(store)

    def told(check: Check) -> None:
        if check.topic is topic:
            raise BrokenPipeError

    probing.probe.told = told
    with pytest.raises(BrokenPipeError):
        probing.probe.run()
    assert nothing_is_left(store)
    assert probing.probe.cleaned is not None
    assert probing.probe.cleaned.state is State.OK


def test_a_store_that_stops_answering_is_asked_no_more_than_it_must(store: TroubledStore) -> None:
    """Each wait is bounded, and there are few: for the call, and for cleaning up."""
    patience = LostPatience(answered=10)
    checks = Probing(store, patience=patience, time_out=7.0).run()
    assert list(failed(checks)) == [Topic.LISTING, Topic.CLEAN]
    assert checks[Topic.LISTING].kind == "store-silent"
    assert "for 7 s" in checks[Topic.LISTING].found
    assert "has stopped answering" in checks[Topic.CLAIMS].found
    assert patience.waited == [7.0] * 12


@pytest.mark.parametrize("time_out", [0.0, -1.0, float("nan")])
def test_a_time_out_is_over_zero(store: TroubledStore, time_out: float) -> None:
    with pytest.raises(ValueError, match="must be over 0 s"):
        Probing(store, time_out=time_out)
