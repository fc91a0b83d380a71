"""`publish run`: a command, its saves published while it runs and until it has really ended."""

from __future__ import annotations

import os
import signal
from time import monotonic
from typing import TYPE_CHECKING

from dispatch.adapters.posix.translation import translate
from dispatch.adapters.process import Child, ExecuteError, Signals, require
from dispatch.adapters.process.signals import TAKEN
from dispatch.cli import exitcodes
from dispatch.cli.publish import environment, start, substitution, wiring
from dispatch.cli.publish.choosing import bounds_of
from dispatch.cli.publish.commands.prune import say_held, say_skipped
from dispatch.cli.publish.commands.watch import open_watcher
from dispatch.cli.publish.execution import Claimed, Execution, Unclaimed, Wish
from dispatch.cli.publish.progress import Progress
from dispatch.cli.publish.pruning import prune_patiently
from dispatch.cli.publish.watching import Watching
from dispatch.errors import DispatchError, InvalidInputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dispatch.adapters.process import Process
    from dispatch.checkpoint.entry import Entry
    from dispatch.checkpoint.watch import Watcher
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output

_STOPPING = frozenset({signal.SIGTERM, signal.SIGINT})
_KILLED = 128  # added to the signal, as shells do
_NEVER = float("inf")
_LEFT_BEHIND_S = (
    30.0  # a save may still be written by what a command leaves; a server stays for ever
)
_LOOK_S = 0.5  # at processes that are nobody's child any more


def run(arguments: Arguments, output: Output) -> int:
    """Run the command in the execution's name; its status, or why there is none."""
    substitution.check(arguments.operands)
    try:
        return _run(arguments, output)
    except ExecuteError as error:
        return _refuse(error, output)


def _run(arguments: Arguments, output: Output) -> int:
    withheld = _withheld(arguments)
    grace = arguments.seconds("grace")
    kept = _kept(arguments)
    wish = Wish(bounds_of(arguments), fallback=arguments.has("fallback"))
    attempt = environment.attempt(arguments)
    _require_program(arguments.operands[0])
    with Progress("looking for the save to resume from", output):
        watcher = open_watcher(arguments, output, sync=not arguments.has("no-sync"))
        kind = Unclaimed if arguments.has("no-claim") else Claimed
        execution: Execution = kind(watcher, attempt, wish, output)
        entry = execution.start()
        out = _make_out(attempt, watcher)
    resume = _say_resume(entry, watcher, output)
    signals = Signals(start.ignored, start.blocked)
    child = Child(
        substitution.substitute(arguments.operands, out=out, attempt=attempt, resume=resume),
        environment.of_command(attempt=attempt, epoch=watcher.epoch, out=out, resume=resume),
        signals=signals,
        withheld=withheld,
    )
    watching = Watching(watcher, execution, output, signals.wake)
    child.start()
    watching.start()
    attendance = _Attendance(child, signals, watching, output)
    if signal.SIGTERM in withheld:
        attendance.withheld = str(arguments.text("forward"))
    status = _end(attendance.attend(grace), watching, output)
    if status == 0 and not watcher.has_seen_any:
        _say_nothing_seen(watcher, output)
    if kept is not None and watching.is_well and watching.overtaken_by is None:
        _prune(watcher, kept, child, output)
    return status


def _end(status: int, watching: Watching, output: Output) -> int:
    """Take the last look; the status of it all, given the command's."""
    is_well = watching.end()
    if not is_well:
        message = "saves may have stayed unpublished: the last look at them failed"
        output.say(message, "error", {"event": "unpublished"})
    if watching.overtaken_by is not None:
        return exitcodes.OVERTAKEN
    return status if is_well else status or exitcodes.UNPUBLISHED


def _require_program(word: bytes) -> None:
    """Refuse a command that isn't there before the claim ends an older execution.

    Raises:
        ExecuteError: It can't be executed.
    """
    if b"{" not in word:  # else what it becomes isn't known yet
        require(word, environment.inherited())


def _say_nothing_seen(watcher: Watcher, output: Output) -> None:
    log = watcher.log
    where = os.fsdecode(log.store.location(log.relative(watcher.saves)))
    message = f"no save was seen in {where}: does the command save to {{out}}, or $DISPATCH_OUT?"
    output.say(message, "warning", {"event": "no-save-seen"})


def _withheld(arguments: Arguments) -> Collection[int]:
    """The signals that aren't handed on.

    Raises:
        InvalidInputError: ``-forward`` is none of its words.
    """
    when = arguments.text("forward")
    if when == "auto":
        return {signal.SIGTERM} if environment.is_in_slurm_job() else ()
    if when not in {"always", "never"}:
        message = f"-forward {when!r} is none of auto, always and never"
        raise InvalidInputError(message)
    return () if when == "always" else TAKEN


def _kept(arguments: Arguments) -> tuple[int, int | None] | None:
    """What a prune in the end is to keep; None: there is none.

    Raises:
        InvalidInputError: A number is below 1, or ``-keep`` is missing.
    """
    keep, keep_every = arguments.count("keep"), arguments.count("keep-every")
    if keep is None and keep_every is not None:
        message = "-keep-every says nothing without -keep"
        raise InvalidInputError(message)
    return None if keep is None else (keep, keep_every)


def _make_out(attempt: bytes, watcher: Watcher) -> bytes:
    """The execution's own folder, made where it is missing.

    So a root that can't be written to shows now and not at the first save, and a log can go there
    from the first line on. S3 has no folders.

    Raises:
        UnavailableError: The store gives no answer.
    """
    out = watcher.log.store.location(b"exec/" + attempt)
    what = f"making {os.fsdecode(out)!r}"

    def make() -> None:
        try:
            os.makedirs(out, exist_ok=True)
        except OSError as error:
            raise translate(error, what) from error

    if not out.startswith(b"s3://"):
        try:
            watcher.log.patience.call(make, watcher.time_out)
        except TimeoutError as error:
            message = f"no answer for {watcher.time_out:g} s while {what}"
            raise UnavailableError(message, kind="store-silent") from error
    return out


def _say_resume(entry: Entry | None, watcher: Watcher, output: Output) -> bytes | None:
    if entry is None:
        message = "nothing is published: starting from scratch"
        output.say(message, fields={"event": "resuming", "save": None})
        return None
    message = f"resuming from step {entry.step}: {watcher.log.location(entry)}"
    output.say(message, fields={"event": "resuming", **wiring.document_of(watcher.log, entry)})
    return watcher.log.store.location(entry.path)


def _refuse(error: ExecuteError, output: Output) -> int:
    name = os.fsdecode(error.filename)
    if error.is_missing:
        output.say(f"the command {name!r} was not found", "error", {"event": "not-started"})
        return exitcodes.NOT_FOUND
    message = f"the command {name!r} can't be executed: {error.strerror}"
    output.say(message, "error", {"event": "not-started"})
    return exitcodes.NOT_EXECUTABLE


def _prune(watcher: Watcher, kept: tuple[int, int | None], child: Child, output: Output) -> None:
    """As a job script does: after failures too, and whatever comes of it, the status stays."""
    before = len(child.received)
    try:
        result = prune_patiently(
            watcher.log,
            *kept,
            epoch=watcher.epoch,
            time_out=watcher.time_out,
            is_over=lambda: not _STOPPING.isdisjoint(child.received[before:]),
        )
    except DispatchError as error:
        message = f"pruning failed: {error}. {error.hint}".rstrip(". ")
        output.say(message, "error", {"event": "prune-failed", "kind": error.kind})
    else:
        say_held(result, output)
        say_skipped(result, output)
        if result.entries:
            removed = len(result.entries)
            message = f"pruned {removed} {'publication' if removed == 1 else 'publications'}"
            output.say(message, fields={"event": "pruned", "publications": removed})


class _Attendance:
    """Being with a command until it has ended.

    Attributes:
        withheld: The word of ``-forward`` that keeps SIGTERM from the command; else empty.
    """

    def __init__(self, child: Child, signals: Signals, watching: Watching, output: Output) -> None:
        self._child = child
        self._signals = signals
        self._watching = watching
        self._output = output
        self.withheld = ""

    def attend(self, grace: float) -> int:
        """Wait for its end, at most ``grace`` seconds from the first wish that it ends.

        Nothing here waits for anything but signals, since all are handed on from here. Its status.
        """
        deadline = _NEVER
        is_asked = is_killed = False
        while (status := self._child.poll()) is None:
            if not is_asked and not _STOPPING.isdisjoint(self._child.received):
                is_asked = True
                self._say_withheld()
            elif not is_asked and self._watching.overtaken_by is not None:
                self._child.send(signal.SIGTERM)  # once, and not after another's
                is_asked = True
            if is_asked and deadline == _NEVER:
                deadline = monotonic() + grace
            if monotonic() >= deadline and not is_killed:
                self._child.send(signal.SIGKILL)
                is_killed = True
                message = f"the command has not ended within {grace:g} s (-grace): killed"
                self._output.say(message, "warning", {"event": "killed"})
            self._signals.wait(_NEVER if is_killed else deadline - monotonic())
        self._watching.hurry()
        self._wait_for_rest(deadline if is_asked else monotonic() + min(grace, _LEFT_BEHIND_S))
        self._child.release()
        return status

    def _say_withheld(self) -> None:
        if self.withheld and signal.SIGTERM in self._child.received:
            why = ": Slurm sends it to every process of a job" if self.withheld == "auto" else ""
            message = f"SIGTERM came, and is not handed on (-forward {self.withheld}){why}"
            self._output.say(message, fields={"event": "withheld"})

    def _wait_for_rest(self, until: float) -> None:
        left = self._child.left_behind()
        if not left:
            return
        seconds = max(until - monotonic(), 0)
        self._say_left(f"waiting up to {seconds:.0f} s for what the command left behind", left)
        while left and monotonic() < until:
            self._signals.wait(min(_LOOK_S, until - monotonic()))
            left = self._child.left_behind()
        if left:
            self._say_left("left running", left)

    def _say_left(self, what: str, left: Sequence[Process]) -> None:
        named = ", ".join(f"{process.pid} ({process.name})" for process in left)
        self._output.say(f"{what}: {named}", "warning", {"event": "left-behind"})
