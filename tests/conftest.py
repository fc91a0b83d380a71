"""What all tests share: hypothesis profiles, one seed, the fast layer, and what may not be skipped.

One seed feeds all chance. It is new in every run and printed in the header; to replay a run, set
DISPATCH_TEST_SEED to it.
"""

from __future__ import annotations

import os
import platform
import random
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Not in the copy of this file that tests/tidy/test_must_run.py makes.
pytest_plugins = ["tests.servers.plugin"] if Path(__file__).with_name("servers").is_dir() else []

CI = os.environ.get("CI") == "true"

FAST_FOLDERS = ("unit", "property", "contracts", "faults")
"""Their tests that aren't `real` use no server and no particular file system: the fast layer."""

SEED_BITS = 32

settings.register_profile("default", deadline=None)  # no test asserts a time
settings.register_profile(
    "ci",
    parent=settings.get_profile("default"),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # two cores, shared with others
)
settings.register_profile("nightly", parent=settings.get_profile("ci"), max_examples=10_000)
settings.load_profile("ci" if CI else "default")

SEED = int(os.environ.get("DISPATCH_TEST_SEED") or random.getrandbits(SEED_BITS))
os.environ["DISPATCH_TEST_SEED"] = str(SEED)  # the same in each process that pytest-xdist starts


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give hypothesis the run's seed, unless its own option names another.

    What a shell starts in its background ignores SIGINT, and so would all that the tests start.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> list[str]:
    """Say what a failure may depend on."""
    build = " ".join(platform.python_build())
    return [
        f"python: {platform.python_version()} ({build}) {sys.executable}",
        f"seed: {SEED} (replay with DISPATCH_TEST_SEED={SEED})",
        f"kernel: {platform.system()} {platform.release()} {platform.machine()}",
    ]


@pytest.fixture(scope="session")
def seed() -> int:
    """The run's seed, for tests that make their own `random.Random`."""
    return SEED


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the fast layer, before `-m` chooses."""
    tests = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(tests).parts[0] if item.path.is_relative_to(tests) else ""
        if folder in FAST_FOLDERS and item.get_closest_marker("real") is None:
            item.add_marker("fast")


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return what a skipped test said, which pytest keeps as (file, line, reason)."""
    longrepr = report.longrepr
    return longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true, fail a skipped test that is marked `real`: nobody else would notice."""
    report = yield
    expected = hasattr(report, "wasxfail")  # an expected failure ran, though it counts as skipped
    if CI and report.skipped and not expected and item.get_closest_marker("real"):
        reason = skip_reason(report)
        report.outcome = "failed"
        report.longrepr = f"a test marked real must run with CI=true, but was skipped: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """With CI=true, fail a file that skips itself: it hides whether its tests are `real`."""
    report = yield
    if CI and report.skipped:
        reason = skip_reason(report)
        report.outcome = "failed"
        report.longrepr = f"a whole file must not skip itself with CI=true, but did: {reason}"
    return report
