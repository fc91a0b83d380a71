"""Power lost before every call of publish, retract and prune, in every state it can leave.

A state is checked once for all the calls that leave it, together with what had been promised by
then (tests.faults.machines says what must hold, tests.faults.scenarios what happens). Each fsync
that the store makes is taken away in turn, and each time a check must fail.
"""

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.posix.removal import _Deletion
from dispatch.model.removal import Aside, Gone, Left
from dispatch.testing.calls import Call
from dispatch.testing.crashfs import CrashFilesystem
from dispatch.testing.faults import PowerLost
from tests.faults import scenarios
from tests.faults.machines import ROOT, Machine
from tests.faults.scenarios import DEEP, NEXT, OLD, SCENARIOS, Scenario, violations
from tests.faults.sites import Site, functions_that_sync, note_sites, without


def name_of(scenario: object) -> str:
    """Name a scenario in a test's identifier."""
    return getattr(scenario, "__name__", str(scenario))


NEEDED: list[tuple[Scenario, Site]] = [
    (scenarios.publish_into_a_fresh_root, Site("_durably", "pub")),
    (scenarios.publish_into_a_fresh_root, Site("_durably", "")),
    (scenarios.publish_beside_others, Site("_durably", "pub")),
    (scenarios.claim_in_a_fresh_root, Site("_durably", "runs")),
    (scenarios.claim_in_a_fresh_root, Site("_durably", "")),
    (scenarios.claim_beside_others, Site("_durably", "runs")),
    (scenarios.claim_after_a_dead_claimer, Site("_durably", "runs")),
    (scenarios.claim_after_a_dead_claimer, Site("_durably", "")),
    (scenarios.claim_beside_a_claim, Site("_durably", "runs")),
    (scenarios.claim_beside_a_claim, Site("_durably", "")),
    (scenarios.remove_a_claim, Site("remove", "runs")),
    (scenarios.start_and_adopt, Site("_durably", "pub")),
    (scenarios.adopt_what_is_not_durable, Site("sync_tree", NEXT.save + "/model")),
    (scenarios.adopt_what_is_not_durable, Site("sync_tree", NEXT.save + "/.metadata")),
    (scenarios.start_and_roll_back, Site("_durably", "runs")),
    (scenarios.start_and_roll_back, Site("_durably", "pub")),
    (scenarios.start_after_a_dead_rank, Site("_durably", "runs")),
    (scenarios.start_after_a_dead_rank, Site("_durably", "pub")),
    (scenarios.prune_old_claims, Site("remove", "runs")),
    (scenarios.retract_beside_executions, Site("_durably", "fates")),
    (scenarios.publish_with_sync, Site("sync_tree", "")),
    (scenarios.publish_with_sync, Site("sync_tree", "exec")),
    (scenarios.publish_with_sync, Site("sync_tree", "exec/a")),
    (scenarios.publish_with_sync, Site("sync_tree", "exec/a/own")),
    (scenarios.publish_with_sync, Site("sync_tree", DEEP.save)),
    (scenarios.publish_with_sync, Site("sync_tree", DEEP.save + "/state")),
    (scenarios.publish_with_sync, Site("sync_tree", DEEP.save + "/model")),
    (scenarios.publish_with_sync, Site("sync_tree", DEEP.save + "/model/weights")),
    (scenarios.publish_one_file_with_sync, Site("sync_tree", "exec/b/step-1.pt")),
    (scenarios.retract, Site("remove", "pub")),
    (scenarios.prune_several, Site("remove", "pub")),
    (scenarios.prune_several, Site("delete", "exec/a")),
    (scenarios.prune_after_a_dead_prune, Site("delete", "exec/a")),
    (scenarios.publish_anew_during_a_prune, Site("put_back", "exec/a")),
    (scenarios.prune_while_publishing_anew, Site("remove", "pub")),
]
"""A scenario, and an fsync without which it fails."""


class ClaimsByRenaming(PosixStore):
    """A known-wrong store: it makes a claim aside and moves it there, over another's."""

    __slots__ = ()

    def claim(self, folder: str, name: str, value: str) -> str:
        held = self.claimed(folder, name)
        if held is not None:
            return super().claim(folder, name, value)  # for its syncs
        aside = f".{value}"
        super().claim(folder, aside, value)
        handle = self._filesystem.open_dir(folder, self._handle)
        self._filesystem.rename(aside, name, handle)
        self._filesystem.fsync(handle)
        self._filesystem.close(handle)
        return value


class ClaimsWithoutReading(PosixStore):
    """A known-wrong store: whoever finds a name there takes it for its own."""

    __slots__ = ()

    def claim(self, folder: str, name: str, value: str) -> str:
        super().claim(folder, name, value)
        return value


class SyncsNewClaimsOnly(PosixStore):
    """A known-wrong store: it doesn't sync what was there."""

    __slots__ = ()

    def claim(self, folder: str, name: str, value: str) -> str:
        held = self.claimed(folder, name)
        return held if held is not None else super().claim(folder, name, value)


class DeletesInPlace(PosixStore):
    """A known-wrong store: it deletes a save where it is, without renaming it first."""

    __slots__ = ()

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        obstacle = self.may_set_aside(save)
        return Aside(save, save) if obstacle is None else obstacle

    def delete(self, aside: Aside) -> Left | Gone | None:
        return _Deletion(self._filesystem).remove(aside.save, self._handle)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
def test_whatever_a_power_loss_leaves_keeps_every_promise(scenario: Scenario) -> None:
    """Returned publications are there, what they name is whole, and a prune can go on."""
    problems, states = violations(scenario)
    assert problems == []
    assert states > 1


@pytest.mark.parametrize(("scenario", "site"), NEEDED, ids=name_of)
def test_without_any_one_fsync_a_promise_is_broken(scenario: Scenario, site: Site) -> None:
    """Each is needed, and its loss doesn't go unnoticed."""
    problems, _ = violations(scenario, lambda: [without(site)])
    assert problems


@pytest.mark.parametrize("path", ["pub", ""])
def test_already_published_is_durable_only_with_its_own_fsyncs(path: str) -> None:
    """The writer that made the entry may have died before it synced anything."""
    machine = Machine(without(Site("_durably", path)))
    machine.save(OLD)
    machine.disk.sync()
    machine.disk.write(ROOT + b"/pub/" + OLD.name().encode(), b"")
    machine.watch()
    scenarios.publish(machine, OLD)
    machine.look()
    assert any("a returned publication is gone" in problem for problem in machine.problems)


def test_a_prune_that_removes_no_entry_still_needs_its_fsync() -> None:
    """The prune that did remove them may not have synced when the other deletes the saves."""

    def problems(*gone: Site) -> list[str]:
        machine = Machine()
        second = [without(*gone)]
        scenarios.have(machine, OLD, scenarios.LATEST, must={scenarios.LATEST})
        pub = ROOT + b"/pub/"

        def unlink_without_sync() -> None:
            machine.disk.remove(pub + OLD.name().encode())

        listed = scenarios.Moment(first_unlink(machine), unlink_without_sync)
        scenarios.prune(machine, listed, *second)
        machine.look()
        return machine.problems

    assert problems() == []
    assert problems(Site("remove", "pub"))


def first_unlink(like: Machine) -> int:
    """Number the call with which a prune of such a machine removes its first entry."""
    machine, calls = Machine(content=like.disk.tree()), list[Call]()
    machine.log(calls.append).prune(1)
    return next(call.number for call in calls if call.method == "unlink")


def test_every_fsync_of_the_store_is_one_of_those_proven_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that scenarios make, and those that the source could make."""
    monkeypatch.setattr(Machine, "watch", lambda _: None)  # other tests look at what is left
    made: set[Site] = set()
    for scenario in SCENARIOS:
        violations(scenario, lambda: [note_sites(made)])
    needed = {site.function for _, site in NEEDED}
    assert {site.function for site in made} == needed
    counted = {"_durably": 2, "sync_tree": 2}  # pub/ and the root; files and folders
    assert functions_that_sync() == {function: counted.get(function, 1) for function in needed}


@pytest.mark.parametrize(
    "scenario", [scenarios.prune_several, scenarios.prune_after_a_dead_prune], ids=name_of
)
def test_deleting_without_renaming_first_is_caught(scenario: Scenario) -> None:
    """A half-deleted save would stand under the name that a publisher looks for."""
    problems, _ = violations(scenario, store_type=DeletesInPlace)
    assert any("half deleted" in problem for problem in problems)


@pytest.mark.parametrize(
    ("wrong", "scenario"),
    [
        (ClaimsByRenaming, scenarios.claim_beside_a_claim),
        (ClaimsWithoutReading, scenarios.claim_beside_a_claim),
        (SyncsNewClaimsOnly, scenarios.claim_after_a_dead_claimer),
        (SyncsNewClaimsOnly, scenarios.claim_beside_a_claim),
    ],
    ids=name_of,
)
def test_a_wrong_way_to_claim_is_caught(wrong: type[PosixStore], scenario: Scenario) -> None:
    """Two would be told different values, or one that a power loss takes away."""
    problems, _ = violations(scenario, store_type=wrong)
    assert problems


def test_no_sync_between_the_phases_of_a_prune_is_caught() -> None:
    """An entry would come back and name what was deleted."""
    gone = [Site("remove", "pub"), Site("delete", "exec/a")]
    problems, _ = violations(scenarios.prune_several, lambda: [without(*gone)])
    assert any("names what isn't whole" in problem for problem in problems)


def test_a_machine_without_power_answers_no_call() -> None:
    """However far an operation came, nothing that it does afterwards reaches the disk."""
    number, is_done = 0, False
    while not is_done:
        number += 1
        machine = Machine()
        machine.save(OLD)
        machine.disk.lose_power_before(number)
        try:
            machine.log().publish(1, 2, OLD.save)
            is_done = True
        except PowerLost:
            assert len(machine.disk.calls) >= number
            assert isinstance(machine.disk, CrashFilesystem)
    assert number > 10
