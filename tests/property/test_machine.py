"""The state machine over the right log; over wrong ones it runs in test_wrong_designs.py."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from dispatch.adapters.s3 import removal
from tests.faults.bucket import shared_bucket
from tests.property.checking import settings_for
from tests.property.executions import ExecutionMachine, OldPrunerMachine
from tests.property.machine import LogMachine
from tests.property.worlds import PAGE_KEYS, Bucket


@pytest.mark.timeout(0)  # nightly it runs for long
def test_nothing_published_is_lost_whatever_happens_in_between() -> None:
    """Executions start, save, publish late, prune, race and die."""
    run_state_machine_as_test(LogMachine, settings=settings_for())


@pytest.mark.timeout(0)  # nightly it runs for long
def test_nothing_published_is_lost_on_s3_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """On pages of three keys, and a batch deletes one: a real store is free to do a part of it."""
    monkeypatch.setattr(removal, "BATCH_KEYS_MAX", 1)
    with shared_bucket(page_size=PAGE_KEYS) as bucket:

        class OnS3(LogMachine):
            def __init__(self) -> None:
                super().__init__(Bucket(bucket))

        run_state_machine_as_test(OnS3, settings=settings_for(factor=0.5))


@pytest.mark.timeout(0)  # nightly it runs for long
def test_executions_agree_and_lose_nothing_whatever_happens_in_between() -> None:
    """They claim, start twice and late, adopt, roll back, and are overtaken."""
    run_state_machine_as_test(ExecutionMachine, settings=settings_for(factor=0.4))


@pytest.mark.timeout(0)  # nightly it runs for long
def test_executions_lose_nothing_on_s3_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "BATCH_KEYS_MAX", 1)
    with shared_bucket(page_size=PAGE_KEYS) as bucket:

        class OnS3(ExecutionMachine):
            def __init__(self) -> None:
                super().__init__(Bucket(bucket))

        run_state_machine_as_test(OnS3, settings=settings_for(factor=0.15))


@pytest.mark.timeout(0)  # nightly it runs for long
def test_beside_a_pruner_that_knows_no_claims_what_is_published_stays_whole() -> None:
    run_state_machine_as_test(OldPrunerMachine, settings=settings_for(factor=0.15))
