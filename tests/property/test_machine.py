"""The state machine over the right log; over wrong ones it runs in test_wrong_designs.py."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.property.checking import settings_for
from tests.property.machine import LogMachine


@pytest.mark.timeout(0)  # nightly it runs for long
def test_nothing_published_is_lost_whatever_happens_in_between() -> None:
    """Executions start, save, publish late, prune, race and die."""
    run_state_machine_as_test(LogMachine, settings=settings_for())
