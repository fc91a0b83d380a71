"""How `publish run` watches: the pauses after errors, and the last look."""

from pathlib import Path

import pytest

from dispatch.checkpoint.choosing import Bounds
from dispatch.checkpoint.completion import parse_framework
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.watch import Watcher
from dispatch.cli.publish.execution import Unclaimed, Wish
from dispatch.cli.publish.output import Output
from dispatch.cli.publish.watching import Watching
from dispatch.errors import UnavailableError
from tests.cli.program import wait_for
from tests.unit.stores import InlinePatience, ScriptedStore


def watching(log: Log, interval: float, time_out: float = 120.0) -> Watching:
    """Watch an execution whose saves are in exec/a."""
    watcher = Watcher(
        log=log, framework=parse_framework("hf"), saves="exec/a", epoch=1,
        interval=interval, time_out=time_out,
    )  # fmt: skip
    output = Output(is_json=False)
    return Watching(
        watcher,
        Unclaimed(watcher, b"1.1.0", Wish(Bounds(), fallback=False), output),
        output,
        wake=lambda: None,
    )


@pytest.mark.parametrize(
    ("interval", "pauses"),
    [
        (10.0, [20, 40, 80, 160, 300, 300]),
        (200.0, [300, 300]),
        (3600.0, [3600, 3600]),
        (0.05, [0.1, 0.2, 0.4]),
    ],
)
def test_the_pause_doubles_after_each_error_up_to_five_minutes(
    log: Log, interval: float, pauses: list[float]
) -> None:
    """And is never shorter than the interval; a look that went well makes it the interval again."""
    watched = watching(log, interval)
    pause = interval
    for expected in pauses:
        pause = watched._pause_after(False, pause)
        assert pause == expected
    assert watched._pause_after(True, pause) == interval


def save(root: Path, step: int) -> None:
    """Write a complete save."""
    folder = root / "exec" / "a" / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "trainer_state.json").write_text(f'{{"global_step": {step}}}')


def test_a_look_begins_after_the_call_that_ends_it(root: Path, log: Log) -> None:
    """However long the interval is."""
    watched = watching(log, 3600.0)
    save(root, 1)
    watched.start()
    wait_for(log.entries, "the first look")
    save(root, 2)
    assert watched.end()
    assert [entry.step for entry in log.entries()] == [1, 2]


class Failing(InlinePatience):
    """A store that fails some times, then works."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def call(self, work, time_out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201 - the port has them
        if self.times:
            self.times -= 1
            raise UnavailableError("not now")
        return super().call(work, time_out)


def test_a_last_look_that_fails_is_repeated(
    root: Path, store: ScriptedStore, capfd: pytest.CaptureFixture[str]
) -> None:
    log = Log(store, Failing(2))
    watched = watching(log, 3600.0)
    save(root, 1)
    watched.start()
    assert watched.end()
    assert [entry.step for entry in log.entries()] == [1]
    assert "publishing works again" in capfd.readouterr().err


def test_no_last_look_begins_after_the_time_out(
    store: ScriptedStore, capfd: pytest.CaptureFixture[str]
) -> None:
    watched = watching(Log(store, Failing(10**6)), 3600.0, time_out=0.2)
    watched.start()
    assert not watched.end()
    assert capfd.readouterr().err.count("not now") <= 3
