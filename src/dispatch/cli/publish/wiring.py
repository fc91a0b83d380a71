"""What commands share: opening the root they were given, and lines that several of them say."""

from __future__ import annotations

import os

from dispatch.checkpoint.opening import open_store
from dispatch.cli.publish.output import json_text
from dispatch.cli.publish.progress import Progress
from dispatch.errors import DispatchError, InvalidInputError, UnavailableError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dispatch.checkpoint.entry import Entry
    from dispatch.checkpoint.log import Log
    from dispatch.cli.publish.arguments import Arguments
    from dispatch.cli.publish.output import Json, Output
    from dispatch.ports.store import ClaimsStore

    T = TypeVar("T")


def open_log(arguments: Arguments) -> Log:
    """The log of the root that ``-checkpoint`` names.

    Raises:
        InvalidInputError: A flag of S3 is given for another root.
        DispatchError: As `dispatch.checkpoint.open_store`.
    """
    root = arguments.path("checkpoint") or b""
    given = _store_options(arguments)
    if root.startswith(b"s3:"):
        return open_store(root, **_with_environment(given))
    if given:
        flags = ", ".join("-" + name.replace("_", "-") for name in sorted(given))
        message = f"only roots on S3 take {flags}"
        raise InvalidInputError(message)
    return open_store(root)


def _store_options(arguments: Arguments) -> dict[str, object]:
    """What the flags say of a store."""
    given: dict[str, object] = {}
    for flag in ("endpoint", "region", "addressing", "ca-file", "proxy"):
        value = arguments.text(flag)
        if value is not None:
            given[flag.replace("-", "_")] = value
    if arguments.has("insecure-http"):
        given["insecure_http"] = True
    creds = arguments.text("creds")
    if creds is not None:
        given["creds"] = [creds]
    return given


def _with_environment(given: dict[str, object]) -> dict[str, object]:
    """The same, and what the environment says where a flag doesn't."""
    from dispatch.cli.publish import environment

    variables = environment.variables()
    options = {**given, "environment": variables}
    for option, names in (
        ("endpoint", ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")),
        ("region", ("AWS_REGION", "AWS_DEFAULT_REGION")),
    ):
        value = next(filter(None, map(variables.get, names)), None)
        if value is not None:
            options.setdefault(option, value)
    return options


def within(time_out: float, arguments: Arguments, work: Callable[[], T]) -> T:
    """What ``work`` gives, which opens the root, unless that takes over ``time_out`` seconds.

    Raises:
        UnavailableError: It does (kind ``store-silent``); the work goes on in the background.
    """
    from dispatch.adapters.system.patience import ThreadPatience

    try:
        return ThreadPatience().call(work, time_out)
    except TimeoutError as error:
        root = os.fsdecode(arguments.path("checkpoint") or b"")
        message = f"no answer from {root!r} for {time_out:g} s while opening it"
        hint = "The file system hangs, or is slower than -timeout allows."
        raise UnavailableError(message, kind="store-silent", hint=hint) from error


def listing(log: Log, output: Output) -> Progress:
    """What is shown while publications are listed; on S3, how many were found so far, too."""
    store = log.store
    return Progress("listing publications", output, lambda: len(getattr(store, "listed", ())))


def document_of(log: Log, entry: Entry) -> dict[str, Json]:
    """One publication for programs.

    ``entry`` holds the exact bytes of the path; ``save`` is text, in which bytes that are not
    UTF-8 are lone surrogates (PEP 383).
    """
    return {
        "entry": entry.name(),
        "epoch": entry.epoch,
        "step": entry.step,
        "save": json_text(log.location(entry)),
    }


def say_published(log: Log, entry: Entry, output: Output) -> None:
    """One line for one publication that was created."""
    message = f"published step {entry.step}: {log.location(entry)}"
    output.say(message, fields={"event": "published", **document_of(log, entry)})


def say_passed_over(location: str, reason: str, output: Output) -> None:
    """One line for one save that is not published, or not chosen."""
    fields = {"event": "passed-over", "save": json_text(location), "reason": reason}
    output.say(f"passed over: {location}: the save {reason}", "warning", fields)


def say_if_overtaken(latest: Entry | None, epoch: int, output: Output) -> None:
    """A line when the latest publication is of a greater epoch than this execution's."""
    if latest is not None and latest.epoch > epoch:
        output.say(
            f"the latest publication has epoch {latest.epoch}, above this execution's {epoch}: "
            "a newer execution overtook this one, or a new job uses an old root",
            "warning",
            {"event": "overtaken", "latest_epoch": latest.epoch, "epoch": epoch},
        )


def refuse_if_taken(store: ClaimsStore, epoch: int, attempt: bytes, output: Output) -> None:
    """Refuse to publish under an epoch that another attempt has claimed (format §10).

    A claim that can't be read is warned of and no more: nothing is lost by publishing.

    Raises:
        OvertakenError: Another attempt has it.
    """
    from dispatch.checkpoint.claims import refuse_if_taken as refuse
    from dispatch.errors import OvertakenError

    try:
        refuse(store, epoch, attempt)
    except OvertakenError:
        raise
    except DispatchError as error:
        output.say(f"whether epoch {epoch} is claimed can't be told: {error}", "warning")


def warn_unreadable(why: str, output: Output) -> None:
    """A line when whether this execution was overtaken can't be told."""
    output.say(f"the latest publication can't be told: {why}", "warning")
