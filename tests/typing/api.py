"""The public interface as type checkers see it: checked by mypy, never run.

A line that no longer checks is a change of the interface.
"""

import os
from pathlib import Path
from threading import Event
from typing import assert_type

from dispatch.checkpoint import (
    FRAMEWORKS,
    Choice,
    Entry,
    Framework,
    Log,
    Look,
    PruneResult,
    SkippedFolder,
    Verdict,
    Watcher,
    latest,
    open_store,
    overlaps,
    parse_entry_name,
    parse_epoch,
    parse_framework,
    parse_step,
    valid_save,
)
from dispatch.errors import (
    AlreadyPublishedError,
    DispatchError,
    InvalidInputError,
    MalformedError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from dispatch.ports.store import Store
from dispatch.ports.waiting import Patience


def hear_of(_: Entry) -> None:
    """Hear of a publication."""


def hear_of_why(_: bytes, reason: str) -> None:
    """Hear why a save was passed over."""


def roots() -> None:
    """A root opens by text, bytes or path object."""
    assert_type(open_store("/ck"), Log)
    assert_type(open_store(b"/ck"), Log)
    assert_type(open_store(Path("/ck"), region="anything"), Log)
    open_store(5)  # type: ignore[arg-type]  # a root is a path


def logs(log: Log) -> None:
    """What a log answers."""
    assert_type(log.publish(1, 2, "exec/a"), Entry)
    assert_type(log.publish(1, 2, b"exec/a", sync=True), Entry)
    assert_type(log.publish(1, 2, Path("exec/a")), Entry)
    assert_type(log.entries(), list[Entry])
    assert_type(log.resolve(), Entry | None)
    assert_type(log.choose(), Choice)
    assert_type(log.choose(Framework.hf, fallback=True, epoch_below=2, step_at_most=5), Choice)
    assert_type(log.choose().entry, Entry | None)
    assert_type(log.choose().passed_over, tuple[tuple[Entry, str], ...])
    assert_type(log.prune(3), PruneResult)
    assert_type(log.prune(3, 1000, dry_run=True, progress=print), PruneResult)
    assert_type(log.location(Entry(1, 2, "a")), str)
    assert_type(log.exec_dir("1.4101.0"), str)
    assert_type(log.relative("/ck/exec/a"), bytes)
    assert_type(log.store, Store)
    assert_type(log.patience, Patience)
    log.retract(Entry(1, 2, "a"))
    log.close()
    with log as same:
        assert_type(same, Log)
    log.publish("1", 2, "a")  # type: ignore[arg-type]  # an epoch is a number
    log.publish(1, 2, "a", True)  # type: ignore[call-arg]  # sync is given by name
    log.prune(3, None, True)  # type: ignore[call-arg]  # and so is dry_run


def entries(entry: Entry, other: Entry) -> None:
    """An entry's parts, and its order."""
    assert_type(Entry(1, 2, "a"), Entry)
    assert_type(Entry(epoch=1, step=2, save=b"a"), Entry)
    assert_type(entry.epoch, int)
    assert_type(entry.step, int)
    assert_type(entry.path, bytes)
    assert_type(entry.save, str)
    assert_type(entry.name(), str)
    assert_type(entry.key(), tuple[int, int, bytes])
    assert_type(entry < other, bool)
    assert_type(max(entry, other), Entry)
    assert_type(sorted([entry, other]), list[Entry])
    assert_type({entry: 1}, dict[Entry, int])
    assert_type(latest([entry, other]), Entry | None)
    assert_type(latest(iter([entry])), Entry | None)
    assert_type(overlaps("exec/a", {entry}), bool)
    assert_type(overlaps(b"exec/a", [entry]), bool)
    entry.save = "b"  # type: ignore[misc]  # an entry is immutable


def parsing(path: os.PathLike[str]) -> None:
    """From text to values."""
    assert_type(parse_entry_name("name"), Entry)
    assert_type(parse_epoch("1"), int)
    assert_type(parse_step("1"), int)
    assert_type(parse_framework("hf"), Framework)
    assert_type(valid_save("a"), bool)
    assert_type(valid_save(b"a"), bool)
    assert_type(valid_save(path), bool)
    parse_epoch(1)  # type: ignore[arg-type]  # it is text


def prunes(result: PruneResult) -> None:
    """What a prune did."""
    assert_type(result.entries, list[Entry])
    assert_type(result.folders, list[str])
    assert_type(result.skipped, list[SkippedFolder])
    skipped = SkippedFolder("/ck/exec/a", "it is a link")
    assert_type(skipped.location, str)
    assert_type(skipped.reason, str)
    assert_type(skipped.failed, bool)
    skipped.failed = True  # type: ignore[misc]  # it is frozen


def watchers(log: Log) -> None:
    """A watcher by position and by name."""
    watcher = Watcher(log, Framework.hf, log.exec_dir("a"), 1)
    watcher = Watcher(
        log=log,
        framework=Framework.dcp,
        saves=b"exec/a",
        epoch=1,
        interval=10,
        time_out=120.0,
        published=lambda entry: hear_of(assert_type(entry, Entry)),
        disappeared=print,
        sync=True,
        ranks=8,
        settle=5,
        passed_over=lambda save, reason: hear_of_why(assert_type(save, bytes), reason),
    )
    assert_type(watcher.scan(), list[Entry])
    assert_type(watcher.last_look(), list[Entry])
    assert_type(watcher.pause_s, float)
    watcher.watch(Event())


def frameworks(store: Store) -> None:
    """A framework's parts."""
    assert_type(FRAMEWORKS, tuple[Framework, Framework])
    assert_type(Framework.hf.name, str)
    assert_type(Framework.hf.prefix, bytes)
    assert_type(Framework.hf.step_of(b"checkpoint-5"), int | None)
    assert_type(Framework.hf.missing(store, b"exec/a/checkpoint-5", 5, ranks=8), str | None)
    assert_type(Framework.hf.judge(Look(store, b"exec/a/checkpoint-5", 5)), Verdict)
    assert_type(Framework.dcp.room_for_steps(b"exec/a", 133), int)


def errors() -> None:
    """Each class is caught by what it is."""
    try:
        pass
    except AlreadyPublishedError as error:
        assert_type(error.entry, Entry)
    except InvalidInputError as error:
        wrong: ValueError = error
        assert_type(wrong, ValueError)
    except NotFoundError as error:
        missing: LookupError = error
        assert_type(missing, LookupError)
    except (MalformedError, RefusedError, UnavailableError, UnknownOutcomeError) as error:
        assert_type(error.hint, str)
    except DispatchError as error:
        assert_type(error.kind, str)
        assert_type(error.hint, str)
