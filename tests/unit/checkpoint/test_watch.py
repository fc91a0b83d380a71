"""Watching: every complete save once, in order, and one whole look after the stop."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch.checkpoint import Entry, Framework, Log, Watcher
from dispatch.errors import DispatchError, InvalidInputError, NotFoundError, UnavailableError
from tests.unit.stores import (
    EXECUTION,
    InlinePatience,
    LostPatience,
    ScriptedStore,
    make_save,
    names_in,
    plain_log,
    raising,
)

EPOCH = 1_000_000


class ScriptedStop:
    """A `dispatch.ports.waiting.Stop` that lets things happen while the watcher waits.

    Args:
        pauses: What happens in each pause; in the one after the last, the stop comes.
    """

    def __init__(self, *pauses: Callable[[], object]) -> None:
        self.pauses = list(pauses)
        self.waited: list[float] = []
        self.asked = False

    def is_set(self) -> bool:
        return self.asked

    def ask(self) -> None:
        """Ask to stop."""
        self.asked = True

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        if self.pauses:
            self.pauses.pop(0)()
        else:
            self.asked = True
        return self.asked


class Watched:
    """A watcher, and what it told.

    Args:
        log: The log that it publishes in.
    """

    def __init__(self, log: Log) -> None:
        self.published: list[Entry] = []
        self.disappeared: list[Entry] = []
        self.watcher = Watcher(
            log,
            Framework.hf,
            EXECUTION,
            EPOCH,
            interval=7,
            published=self.published.append,
            disappeared=self.disappeared.append,
        )


@pytest.fixture
def watched(log: Log) -> Watched:
    """A watcher over the execution's folder."""
    return Watched(log)


def entry(step: int) -> Entry:
    """Make the entry of a step's save."""
    return Entry(EPOCH, step, EXECUTION + b"/checkpoint-%d" % step)


def folder(root: Path, step: int) -> Path:
    """Say where a step's save is."""
    return root / entry(step).save


def test_complete_saves_are_published_in_the_order_of_their_steps(
    root: Path, watched: Watched
) -> None:
    """As numbers: 9 comes before 10, and both before 1000."""
    for step in (1000, 9, 10, 200):
        make_save(root, step)
    expected = [entry(step) for step in (9, 10, 200, 1000)]
    assert watched.watcher.scan() == expected
    assert watched.published == expected
    assert plain_log(root).entries() == expected


def test_a_second_scan_publishes_nothing_again_and_looks_into_nothing(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """What is done is remembered: only the folder is listed."""
    make_save(root, 1)
    watched.watcher.scan()
    store.calls.clear()
    assert watched.watcher.scan() == []
    assert store.calls == ["check", "children"]
    assert watched.published == [entry(1)]


def test_what_another_watcher_published_counts_as_published(root: Path, watched: Watched) -> None:
    """It is not told again, and remembered like one's own."""
    make_save(root, 1)
    make_save(root, 2)
    plain_log(root).publish(EPOCH, 1, entry(1).path)
    assert watched.watcher.scan() == [entry(2)]
    assert watched.published == [entry(2)]
    shutil.rmtree(folder(root, 1))
    watched.watcher.scan()
    assert watched.disappeared == [entry(1)]


def test_incomplete_saves_and_other_names_are_passed_over(root: Path, watched: Watched) -> None:
    """Until a later scan finds them complete."""
    make_save(root, 5)
    marker = folder(root, 5) / "trainer_state.json"
    whole = marker.read_bytes()
    marker.write_bytes(whole[:-1])
    for name in ("tmp-checkpoint-6", "checkpoint-6-hf", "checkpoint-", "runs"):
        shutil.copytree(folder(root, 5), folder(root, 5).with_name(name))
    (folder(root, 5).with_name("checkpoint-7")).touch()
    assert watched.watcher.scan() == []
    marker.write_bytes(whole)
    assert watched.watcher.scan() == [entry(5)]


def test_two_spellings_of_a_step_are_two_saves(root: Path, watched: Watched) -> None:
    """Leading zeros are allowed, and each folder is its own."""
    path = make_save(root, 6)
    shutil.copytree(folder(root, 6), folder(root, 6).with_name("checkpoint-0006"))
    tied = Entry(EPOCH, 6, path.replace(b"-6", b"-0006"))
    assert watched.watcher.scan() == [tied, entry(6)]


def test_a_folder_that_is_not_there_yet_has_no_saves(root: Path, watched: Watched) -> None:
    """The watcher starts before the trainer makes it."""
    assert watched.watcher.scan() == []
    assert list(root.iterdir()) == []
    make_save(root, 1)
    assert watched.watcher.scan() == [entry(1)]


def test_a_save_that_goes_before_it_is_published_is_passed_over(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """Complete at the look, gone at the publication; the others are published."""
    for step in (1, 2, 3):
        make_save(root, step)
    store.after("contents", None, lambda: shutil.rmtree(folder(root, 2)))
    assert watched.watcher.scan() == [entry(1), entry(3)]
    assert plain_log(root).entries() == [entry(1), entry(3)]
    make_save(root, 2)
    assert watched.watcher.scan() == [entry(2)]


def test_a_save_that_goes_while_it_is_published_is_passed_over(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """Its entry is withdrawn."""
    make_save(root, 1)
    store.after("create", lambda: shutil.rmtree(folder(root, 1)))
    assert watched.watcher.scan() == []
    assert plain_log(root).entries() == []
    assert watched.published == []


def test_a_save_that_goes_with_its_root_is_an_error(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """A missing root is not a missing save."""
    make_save(root, 1)
    store.after("contents", lambda: shutil.rmtree(root))
    with pytest.raises(NotFoundError) as caught:
        watched.watcher.scan()
    assert caught.value.kind == "root-missing"


def test_a_published_save_that_disappears_is_told_once(root: Path, watched: Watched) -> None:
    """The trainer rotated it away, and its entry stays."""
    make_save(root, 1)
    make_save(root, 2)
    watched.watcher.scan()
    shutil.rmtree(folder(root, 1))
    for _ in range(3):
        assert watched.watcher.scan() == []
    assert watched.disappeared == [entry(1)]


def test_a_save_that_was_pruned_has_not_disappeared(root: Path, watched: Watched) -> None:
    """Its entry went first."""
    for step in (1, 2):
        make_save(root, step)
    watched.watcher.scan()
    plain_log(root).prune(1)
    watched.watcher.scan()
    assert watched.disappeared == []


def test_a_save_that_comes_back_is_published_again_and_can_disappear_again(
    root: Path, watched: Watched
) -> None:
    """After a prune of the first; each disappearance is told once."""
    make_save(root, 1)
    make_save(root, 2)
    watched.watcher.scan()
    plain_log(root).prune(1)
    watched.watcher.scan()
    make_save(root, 1)
    assert watched.watcher.scan() == [entry(1)]
    shutil.rmtree(folder(root, 1))
    watched.watcher.scan()
    assert watched.disappeared == [entry(1)]


def test_memory_grows_with_the_saves_present_only(root: Path, watched: Watched) -> None:
    """A thousand saves one after the other leave one to remember."""
    for step in range(100):
        make_save(root, step)
        watched.watcher.scan()
        assert set(watched.watcher._done) == {b"checkpoint-%d" % step}
        shutil.rmtree(folder(root, step))
    assert len(watched.published) == 100
    assert len(watched.disappeared) == 99


def test_saves_are_synced_first_when_asked(
    root: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each before its entry."""
    synced: list[bytes] = []

    def sync_save(_self: ScriptedStore, save: bytes) -> object:
        synced.append(save)
        yield save

    monkeypatch.setattr(ScriptedStore, "sync_save", sync_save)
    make_save(root, 1)
    Watcher(log, Framework.hf, EXECUTION, EPOCH).scan()
    assert synced == []
    make_save(root, 2)
    Watcher(log, Framework.hf, EXECUTION, EPOCH, sync=True).scan()
    assert synced == [entry(1).path, entry(2).path]


def test_nobody_need_listen(root: Path, log: Log) -> None:
    """Both callbacks can be left out, and the folder be given as a location."""
    make_save(root, 1)
    watcher = Watcher(log, Framework.hf, log.exec_dir("1.1.0"), EPOCH)
    assert watcher.scan() == [entry(1)]
    shutil.rmtree(folder(root, 1))
    assert watcher.scan() == []


@pytest.mark.parametrize("saves", ["", ".", "/", "location"])
def test_the_root_itself_is_no_folder_of_saves(root: Path, log: Log, saves: str) -> None:
    """Its saves would be nobody's, and a watch that can find none must not look well."""
    with pytest.raises(InvalidInputError):
        Watcher(log, Framework.hf, str(root) if saves == "location" else saves, EPOCH)


@pytest.mark.parametrize(
    ("interval", "time_out"),
    [(0, 1), (-1, 1), (1, 0), (1, -1), (float("nan"), 1), (1, float("nan"))],
)
def test_an_interval_and_a_time_out_are_over_zero(
    log: Log, interval: float, time_out: float
) -> None:
    """No watch may spin, nor give up before it began."""
    with pytest.raises(InvalidInputError, match=r"must be over 0 s"):
        Watcher(log, Framework.hf, EXECUTION, EPOCH, interval=interval, time_out=time_out)


# -- the loop


def test_a_stop_before_the_first_scan_still_gives_one_whole_scan(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """A save that was complete when the stop came is published."""
    stop = ScriptedStop()
    stop.ask()
    make_save(root, 1)
    watched.watcher.watch(stop)
    assert watched.published == [entry(1)]
    assert stop.waited == []
    assert store.calls.count("children") == 1


def test_a_stop_during_a_scan_gives_one_more_whole_scan(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """What became complete after its listing is found by the last look."""
    stop = ScriptedStop()
    make_save(root, 1)

    def save_and_stop() -> None:
        make_save(root, 2)
        stop.ask()

    store.after("children", save_and_stop)
    watched.watcher.watch(stop)
    assert watched.published == [entry(1), entry(2)]
    assert stop.waited == []
    assert store.calls.count("children") == 2


def test_a_stop_during_the_pause_gives_one_more_whole_scan(
    root: Path, store: ScriptedStore, watched: Watched
) -> None:
    """The pause is as long as the interval."""
    stop = ScriptedStop(lambda: make_save(root, 1), lambda: make_save(root, 2))
    watched.watcher.watch(stop)
    assert watched.published == [entry(1), entry(2)]
    assert stop.waited == [7, 7, 7]
    assert store.calls.count("children") == 4


def test_a_stop_between_the_scan_and_the_pause_does_not_wait(
    root: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes right after the last call of the scan."""
    stop = ScriptedStop()
    scan = Watcher.scan

    def scan_and_stop(watcher: Watcher) -> None:
        scan(watcher)
        stop.ask()

    monkeypatch.setattr(Watcher, "scan", scan_and_stop)
    watched.watcher.watch(stop)
    assert stop.waited == []


@pytest.mark.parametrize("method", ["check", "children", "read", "contents", "has_save", "create"])
def test_the_first_error_ends_the_watch(
    root: Path, store: ScriptedStore, watched: Watched, method: str
) -> None:
    """What was published before stays published."""
    make_save(root, 1)
    stop = ScriptedStop(lambda: make_save(root, 2), lambda: make_save(root, 3))
    fault = UnavailableError("looking: EIO (input/output error)")
    calls_of_the_first_scan = 2 if method in {"check", "has_save"} else 1
    store.before(method, *[None] * calls_of_the_first_scan, raising(fault))
    with pytest.raises(UnavailableError, match="EIO"):
        watched.watcher.watch(stop)
    assert watched.published == [entry(1)]


def test_a_save_whose_name_does_not_fit_ends_the_watch(root: Path, log: Log) -> None:
    """It could never be published; the error says how long it may be."""
    execution = b"exec/" + b"a" * 120
    make_save(root, 1, execution)
    with pytest.raises(InvalidInputError, match="at most 133 fit"):
        Watcher(log, Framework.hf, execution, EPOCH).scan()


def test_a_root_that_was_replaced_ends_the_watch(root: Path, watched: Watched) -> None:
    """Another file system was mounted there: nothing is written into either."""

    def replace() -> None:
        root.rename(root.with_name("old"))
        root.mkdir()
        make_save(root, 2)

    make_save(root, 1)
    with pytest.raises(UnavailableError) as caught:
        watched.watcher.watch(ScriptedStop(replace))
    assert caught.value.kind == "root-replaced"
    assert not (root / "pub").exists()
    assert len(names_in(root.with_name("old") / "pub")) == 1


def test_a_root_that_is_gone_ends_the_watch(root: Path, watched: Watched) -> None:
    """A missing root is an error, not an empty folder."""
    with pytest.raises(NotFoundError) as caught:
        watched.watcher.watch(ScriptedStop(lambda: shutil.rmtree(root)))
    assert caught.value.kind == "root-missing"


# -- a store from which nothing comes

CALLS_OF_ONE_SCAN = [
    "looking at the root",
    "listing exec/1.1.0",
    "reading exec/1.1.0/checkpoint-1/trainer_state.json",
    "listing all of exec/1.1.0/checkpoint-1",
    "looking at exec/1.1.0/checkpoint-1",
    f"creating pub/{entry(1).name()}",
    "looking at exec/1.1.0/checkpoint-1",
    "looking at the root",
]


@pytest.mark.parametrize("answered", range(len(CALLS_OF_ONE_SCAN)))
def test_a_silent_store_ends_the_watch_and_names_what_was_waited_for(
    root: Path, store: ScriptedStore, answered: int
) -> None:
    """Whichever call it is that nothing comes back from."""
    make_save(root, 1)
    patience = LostPatience(answered)
    watcher = Watcher(Log(store, patience), Framework.hf, EXECUTION, EPOCH, time_out=90)
    with pytest.raises(UnavailableError) as caught:
        watcher.watch(ScriptedStop())
    assert caught.value.kind == "store-silent"
    doing = CALLS_OF_ONE_SCAN[answered]
    assert str(caught.value) == f"no answer from '{root}' for 90 s while {doing}"
    assert "-timeout" in caught.value.hint
    assert patience.waited == [90] * (answered + 1)


def test_a_scan_asks_nothing_without_patience(root: Path, store: ScriptedStore) -> None:
    """Every call to the store goes through it, so that none can hang the watch."""
    make_save(root, 1)
    patience = LostPatience(answered=len(CALLS_OF_ONE_SCAN))
    watcher = Watcher(Log(store, patience), Framework.hf, EXECUTION, EPOCH)
    assert watcher.scan() == [entry(1)]
    assert len(patience.waited) == len(store.calls) == len(CALLS_OF_ONE_SCAN)


def test_errors_reach_the_caller_as_they_are(store: ScriptedStore) -> None:
    """Patience changes nothing but how long is waited."""
    fault = DispatchError("anything")
    store.before("check", raising(fault))
    with pytest.raises(DispatchError) as caught:
        Watcher(Log(store, InlinePatience()), Framework.hf, EXECUTION, EPOCH).scan()
    assert caught.value is fault
