"""`publish probe`: whether a root can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.system.clock import SystemClock, wall_ns
from dispatch.adapters.system.entropy import token
from dispatch.adapters.system.racing import race
from dispatch.checkpoint.probe import Probe, State, Surroundings, Topic, parse_word, span, unopened
from dispatch.checkpoint.retention import PUB, RUNS
from dispatch.cli import exitcodes
from dispatch.cli.publish import start, wiring
from dispatch.cli.publish.output import json_text, one_line, raw
from dispatch.cli.publish.progress import Progress
from dispatch.cli.publish.stopping import SignalStop
from dispatch.errors import DispatchError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.checkpoint.log import Log
    from dispatch.checkpoint.probe import Check
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Json, Output

_NS = 1e9
_STATE_WIDTH = max(len(state.value) for state in State)
_TOPIC_WIDTH = max(len(topic.value) for topic in Topic)


def run(arguments: Arguments, output: Output) -> int:
    """Make each check, and say at once how it came out."""
    time_out = arguments.seconds("timeout")
    peer = arguments.text("peer")
    if peer is not None:
        parse_word(peer)
    _refuse_a_folder_of_names(arguments)
    shown = _Shown(output)
    try:
        # Until it is open nothing is written, and a signal kills.
        log = wiring.within(time_out, arguments, lambda: wiring.open_log(arguments))
    except InvalidInputError:
        raise
    except DispatchError as error:
        checks: Sequence[Check] = unopened(error)
        for check in checks:
            shown.tell(check)
    else:
        checks = _probe(log, time_out, peer, shown)
    has_failed = any(check.state is State.FAIL for check in checks)
    if output.is_json:
        root = json_text(arguments.path("checkpoint") or b"")
        documents: list[Json] = [_document(check) for check in checks]
        output.document({"root": root, "ok": not has_failed, "checks": documents})
    return exitcodes.FAILED if has_failed else exitcodes.OK


def _refuse_a_folder_of_names(arguments: Arguments) -> None:
    """Refuse what is hardly a root: a name in another root's `pub/` would stop its jobs.

    Raises:
        InvalidInputError: It is called as a root's own folders are.
    """
    last = (arguments.path("checkpoint") or b"").rstrip(b"/").rpartition(b"/")[2]
    if last in {PUB, RUNS}:
        message = f"the root ends in {last.decode()!r}, which is a folder of a root"
        raise InvalidInputError(message, hint="Give the root itself.")


def _probe(log: Log, time_out: float, peer: str | None, shown: _Shown) -> Sequence[Check]:
    """The checks; a signal ends the process once what they wrote is gone."""
    stop = SignalStop(ignored=False, hangup=True)
    around = Surroundings(
        clock=SystemClock(),
        now=lambda: wall_ns() / _NS,
        race=race,
        stop=stop,
        patience=log.patience,
    )
    probe = Probe(log.store, around, token(), time_out, peer, begun=shown.begin, told=shown.tell)
    is_whole = False
    try:
        checks = probe.run()
        is_whole = not stop.is_set()
    finally:
        shown.end()
        if not is_whole and probe.cleaned is not None and probe.cleaned.state is State.FAIL:
            shown.output.say(f"{probe.cleaned.found}. {probe.cleaned.advice}", "error")
    if stop.is_set():
        start.die_of_signals()
    return checks


class _Shown:
    """What a person sees of the checks: which is being made, and then how it came out."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._progress: Progress | None = None

    def begin(self, topic: Topic) -> None:
        """Show on a terminal what takes long."""
        self.end()
        self._progress = Progress(f"probing: {topic.value}", self.output)
        self._progress.__enter__()

    def tell(self, check: Check) -> None:
        """Write one check, with what to do under it."""
        self.end()
        if not self.output.is_json:
            self.output.answer(raw(_text(check)))

    def end(self) -> None:
        """Clear the line."""
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
            self._progress = None


def _text(check: Check) -> str:
    found = check.found if check.seconds is None else f"{check.found} ({span(check.seconds)})"
    start_of_line = f"{check.state.value:{_STATE_WIDTH}}  {check.topic.value:{_TOPIC_WIDTH}}  "
    advice = f"{'':{_STATE_WIDTH}}  {one_line(check.advice)}\n" if check.advice else ""
    return f"{start_of_line}{one_line(found)}\n{advice}"


def _document(check: Check) -> dict[str, Json]:
    return {
        "check": check.topic.value,
        "state": check.state.value,
        "found": json_text(check.found),
        "advice": json_text(check.advice),
        "seconds": check.seconds,
        "kind": check.kind,
        "made": check.was_made,
    }
