"""`publish watch`: each save, once it is complete."""

from __future__ import annotations

import os

from dispatch.checkpoint.completion import parse_framework
from dispatch.checkpoint.entry import PATH_BYTES_MAX, Entry, why_invalid
from dispatch.checkpoint.patient import PatientStore
from dispatch.checkpoint.publishing import refuse_unpublishable
from dispatch.checkpoint.watch import Watcher
from dispatch.cli import exitcodes
from dispatch.cli.publish import environment, wiring
from dispatch.cli.publish.stopping import SignalStop
from dispatch.errors import DispatchError, InvalidInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dispatch.checkpoint.completion import Framework
    from dispatch.checkpoint.log import Log
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Output

_STEP_DIGITS_ENOUGH = 12  # a step a millisecond for thirty years
_POLL_MS_MAX = 2**31 - 1  # what poll(2) can wait: 24 days
_USED_LATER = ("dispatch.adapters.posix.contents", "dispatch.adapters.posix.syncing")


def run(arguments: Arguments, output: Output) -> int:
    """Publish what is complete until a signal, an error, or ``-once`` ends it."""
    stop = SignalStop()
    watcher = open_watcher(arguments, output, sync=arguments.has("sync"))
    store = PatientStore(watcher.log.store, watcher.log.patience, watcher.time_out)
    wiring.refuse_if_taken(store, watcher.epoch, environment.attempt(arguments), output)
    _say_if_overtaken(watcher, output)
    if arguments.has("once"):
        entries = watcher.last_look()
        if output.is_json:
            output.document([wiring.document_of(watcher.log, entry) for entry in entries])
    else:
        watcher.watch(stop)
    return exitcodes.OK


def open_watcher(arguments: Arguments, output: Output, *, sync: bool) -> Watcher:
    """The watcher that the flags and the environment describe, which says what it does.

    Raises:
        InvalidInputError: One of them is wrong, or no save could ever be published.
        DispatchError: The root can't be opened.
    """
    attempt = environment.attempt(arguments)
    epoch = environment.epoch(arguments)
    framework = parse_framework(arguments.text("framework") or "")
    interval = min(arguments.seconds("interval"), _POLL_MS_MAX / 1000)
    time_out = arguments.seconds("timeout")
    own = b"exec/" + attempt

    def work() -> tuple[Log, bytes]:
        for name in _USED_LATER:  # now: publish.pyz may be replaced later
            __import__(name)
        log = wiring.open_log(arguments)
        return log, _saves(log, own, arguments, output)

    log, saves = wiring.within(time_out, arguments, work)
    _check_room(framework, saves, output)

    def published(entry: Entry) -> None:
        wiring.say_published(log, entry, output)

    def disappeared(entry: Entry) -> None:
        _say_disappeared(log, entry, output)

    def passed_over(save: bytes, reason: str) -> None:
        wiring.say_passed_over(os.fsdecode(log.store.location(save)), reason, output)

    return Watcher(
        log=log,
        framework=framework,
        saves=saves,
        epoch=epoch,
        interval=interval,
        time_out=time_out,
        published=published,
        disappeared=disappeared,
        sync=sync,
        ranks=arguments.count("ranks"),
        settle=_settle(arguments),
        passed_over=passed_over,
    )


def _say_disappeared(log: Log, entry: Entry, output: Output) -> None:
    message = (
        f"published save is gone: {log.location(entry)}. Did the trainer delete it "
        "(save_total_limit is set?)? Leave that to `publish prune`"
    )
    fields = {"event": "disappeared", **wiring.document_of(log, entry)}
    output.say(message, "warning", fields)


def _settle(arguments: Arguments) -> float | None:
    settle = arguments.seconds_if_any("settle")
    return None if settle is None else min(settle, _POLL_MS_MAX / 1000)


def _saves(log: Log, own: bytes, arguments: Arguments, output: Output) -> bytes:
    given = arguments.path("saves")
    if given is None:
        return own
    location = environment.absolute(given)
    saves = log.relative(location)
    if saves != own and not saves.startswith(own + b"/"):
        message = (
            f"{os.fsdecode(location)} is not inside this execution's own folder "
            f"{os.fsdecode(own)}: another execution may write there too"
        )
        output.say(message, "warning")
    return saves


def _check_room(framework: Framework, saves: bytes, output: Output) -> None:
    """Say as early as it can be known that saves will not fit an entry's name.

    Raises:
        InvalidInputError: No save in this folder could ever be published.
    """
    refuse_unpublishable(saves)
    reason = "" if len(saves) > PATH_BYTES_MAX else why_invalid(saves)
    if reason:
        message = f"the folder of the saves, {os.fsdecode(saves)!r}, {reason}"
        raise InvalidInputError(message)
    digits = framework.room_for_steps(saves, PATH_BYTES_MAX)
    if digits >= _STEP_DIGITS_ENOUGH:
        return
    pattern = os.fsdecode(saves + b"/" + framework.prefix) + "<step>"
    message = (
        f"saves named {pattern!r} leave room for {digits} digits of the step: "
        f"at most {PATH_BYTES_MAX} bytes of path fit an entry's name"
    )
    if not digits:
        raise InvalidInputError(message, hint="Use a shorter attempt token or folder.")
    output.say(message, "warning")


def _say_if_overtaken(watcher: Watcher, output: Output) -> None:
    try:
        latest = watcher.log.patience.call(watcher.log.resolve, watcher.time_out)
    except DispatchError as error:
        wiring.warn_unreadable(f"{error}. {error.hint}".rstrip(". "), output)
    except TimeoutError:
        wiring.warn_unreadable(f"listing pub/ took over {watcher.time_out:g} s", output)
    else:
        wiring.say_if_overtaken(latest, watcher.epoch, output)
