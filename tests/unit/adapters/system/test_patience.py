"""Waiting for a call on another thread, no longer than a limit."""

import os
import threading
from collections.abc import Iterator

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.system.patience import ThreadPatience
from dispatch.checkpoint import Framework, Log, Watcher
from dispatch.errors import UnavailableError
from tests.unit.stores import EXECUTION, ScriptedStore, make_save

LONG = 60.0  # seconds: never waited for in full
SHORT = 0.001  # seconds: waited for in full, for what never comes


@pytest.fixture
def blocked() -> Iterator[threading.Event]:
    """A call that waits for this hangs until the test is over."""
    event = threading.Event()
    yield event
    event.set()


def workers() -> list[threading.Thread]:
    """The worker threads that live."""
    return [thread for thread in threading.enumerate() if thread.name == "dispatch-store"]


def test_a_call_returns_what_the_work_returns() -> None:
    """On one other thread, whatever the number of calls."""
    patience = ThreadPatience()
    idents = {patience.call(threading.get_ident, LONG) for _ in range(10)}
    assert len(idents) == 1
    assert threading.get_ident() not in idents
    assert patience.call(lambda: None, LONG) is None


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_a_call_raises_what_the_work_raises(error: BaseException) -> None:
    """Whatever it is, and the worker lives on."""

    def work() -> None:
        raise error

    patience = ThreadPatience()
    with pytest.raises(type(error)) as caught:
        patience.call(work, LONG)
    assert caught.value is error
    assert patience.call(lambda: 5, LONG) == 5


def test_a_call_that_hangs_times_out_and_the_next_gets_another_thread(
    blocked: threading.Event,
) -> None:
    """Nothing can interrupt it, so it keeps its thread."""
    patience = ThreadPatience()
    stuck: list[int] = []

    def hang() -> None:
        stuck.append(threading.get_ident())
        blocked.wait()

    with pytest.raises(TimeoutError):
        patience.call(hang, SHORT)
    assert patience.call(threading.get_ident, LONG) not in stuck


def test_the_answer_of_a_call_that_timed_out_is_dropped_and_its_thread_ends(
    blocked: threading.Event,
) -> None:
    """It is nobody's, least of all the next call's."""
    patience = ThreadPatience()
    before = set(workers())
    threads: list[threading.Thread] = []

    def late() -> str:
        threads.append(threading.current_thread())
        blocked.wait()
        return "late"

    with pytest.raises(TimeoutError):
        patience.call(late, SHORT)
    [worker] = set(workers()) - before
    blocked.set()
    worker.join(LONG)
    assert not worker.is_alive()
    assert threads == [worker]
    assert patience.call(lambda: "mine", LONG) == "mine"


def test_no_worker_keeps_the_process_from_ending() -> None:
    """They are daemons."""
    patience = ThreadPatience()
    assert patience.call(lambda: threading.current_thread().daemon, LONG)


def test_nothing_is_started_before_the_first_call() -> None:
    """A program that never waits pays nothing."""
    before = workers()
    ThreadPatience()
    assert workers() == before


def test_a_file_system_that_hangs_ends_the_watch(
    store: PosixStore, blocked: threading.Event
) -> None:
    """The stuck thread is left behind, and the error says what was waited for."""
    assert isinstance(store, ScriptedStore)
    root = store.location(b"").decode()
    store.before("children", None, blocked.wait)
    log = Log(store, ThreadPatience())
    watcher = Watcher(log, Framework.hf, EXECUTION, 1, interval=SHORT, time_out=LONG)
    watcher.scan()
    watcher = Watcher(log, Framework.hf, EXECUTION, 1, interval=SHORT, time_out=0.05)
    with pytest.raises(UnavailableError, match=f"no answer from '{root}' .* listing exec/1.1.0$"):
        watcher.watch(threading.Event())


def test_a_watch_by_threads_publishes(store: ScriptedStore, request: pytest.FixtureRequest) -> None:
    """As in production, with a real event as the stop."""
    root = request.getfixturevalue("root")
    make_save(root, 1)
    stop = threading.Event()
    stop.set()
    log = Log(store, ThreadPatience())
    Watcher(log, Framework.hf, EXECUTION, 1).watch(stop)
    assert [entry.step for entry in log.entries()] == [1]


def test_two_callers_do_not_wait_for_each_other() -> None:
    """Each thread that asks has a worker of its own."""
    patience = ThreadPatience()
    release = threading.Event()
    answers: list[bool] = []
    slow = threading.Thread(target=lambda: answers.append(patience.call(release.wait, 60)))
    slow.start()
    try:
        assert patience.call(lambda: 7, 60) == 7
    finally:
        release.set()
        slow.join(60)
    assert answers == [True]


def test_a_forked_process_gets_a_worker_of_its_own() -> None:
    """A fork takes no threads along, so nobody would answer."""
    patience = ThreadPatience()
    assert patience.call(lambda: 1, 60) == 1
    child = os.fork()
    if not child:
        os._exit(patience.call(lambda: 7, 60))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
