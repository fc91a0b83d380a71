"""Ways to start that are known to be wrong, each caught by the state machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from unittest import mock

import pytest
from hypothesis.stateful import run_state_machine_as_test

from dispatch.adapters.posix import PosixStore
from dispatch.checkpoint import Entry
from dispatch.checkpoint import execution as starting
from dispatch.checkpoint import prune as pruning
from dispatch.checkpoint.claims import RUNS, Claims
from dispatch.checkpoint.listing import parse_all, read_names
from dispatch.checkpoint.lost import Saves
from tests.property.checking import settings_for
from tests.property.executions import ExecutionMachine

Execution = starting.Execution


def expect_failure(complaint: str) -> None:
    """Run the machine until it complains."""
    with pytest.raises(AssertionError, match=complaint):
        run_state_machine_as_test(ExecutionMachine, settings=settings_for(is_wrong=True))


def adopt_all(self: Execution, saves: Saves) -> list[Entry]:
    """Publish whatever is complete and unpublished, also below the latest."""
    published = set(parse_all(read_names(self.store)))
    return [
        entry
        for entry in self._lost(saves, 0)
        if entry not in published
        and saves.look(self.store, entry) is not None
        and self._publish(entry)
    ]


def adopt_none(self: Execution, saves: Saves) -> list[Entry]:
    """Leave to a dead watcher what is its own."""
    return []


@pytest.mark.parametrize("adopt", [adopt_all, adopt_none])
def test_adopting_other_saves_than_lost_ones_is_caught(
    adopt: Callable[..., list[Entry]],
) -> None:
    """A prune may have begun on what is below the latest."""
    with mock.patch.object(Execution, "adopt", adopt):
        expect_failure("adopted")


claim_all = PosixStore.claim_all


def claim_anew(self: PosixStore, folder: str, values: Mapping[str, str]) -> dict[str, str]:
    """Write a resume point over."""
    for name in values:
        if name.endswith(".resume"):
            self.remove(folder, [name])
    return claim_all(self, folder, values)


def test_ranks_that_each_choose_are_caught() -> None:
    """Without a resume point."""
    claimed = PosixStore.claimed

    def claimed_never(self: PosixStore, folder: str, name: str) -> str | None:
        return None if name.endswith(".resume") else claimed(self, folder, name)

    with (
        mock.patch.object(PosixStore, "claim_all", claim_anew),
        mock.patch.object(PosixStore, "claimed", claimed_never),
    ):
        expect_failure("two resume points|adopted|from another")


def test_a_prune_that_knows_no_claims_is_caught() -> None:
    with mock.patch.object(pruning, "read_claims", return_value=Claims((), (), ())):
        expect_failure("a claim was not minded")


def test_a_prune_that_removes_the_greatest_claim_is_caught() -> None:
    """Old executions could start again."""

    def remove_all(self: Claims, _: int) -> list[str]:
        return list(self.names)

    with mock.patch.object(Claims, "below", remove_all):
        expect_failure("the greatest claim is gone")


def test_two_attempts_with_one_epoch_are_caught() -> None:
    """Whoever finds a claim there takes it for its own."""

    def claim_for_sure(self: PosixStore, folder: str, values: Mapping[str, str]) -> dict[str, str]:
        held = claim_all(self, folder, values)
        return dict(values) if folder == RUNS else held

    with mock.patch.object(PosixStore, "claim_all", claim_for_sure):
        expect_failure("two have claimed one epoch|hasn't the epoch|two resume points")
