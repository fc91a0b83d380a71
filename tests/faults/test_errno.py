"""Every errno at every call of every operation: what the caller is told, and what is left.

The table in `dispatch.adapters.posix.translation` is the specification. A prune that can't remove
one save says so in its result, with the errno, and goes on.
"""

import errno
from collections.abc import Callable
from typing import NamedTuple

import pytest

from dispatch.adapters.posix.translation import NO_LINKS, TABLE
from dispatch.checkpoint.claims import claim_name
from dispatch.checkpoint.completion import Framework
from dispatch.checkpoint.entry import Entry
from dispatch.checkpoint.execution import Execution
from dispatch.checkpoint.log import Log
from dispatch.checkpoint.lost import Saves
from dispatch.checkpoint.prune import PruneResult
from dispatch.checkpoint.watch import Watcher
from dispatch.errors import (
    AlreadyPublishedError,
    DispatchError,
    MalformedError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from dispatch.testing.calls import Call, Rule
from dispatch.testing.faults import NEVER_FAIL, fail
from dispatch.testing.tree import Folder
from tests.faults.machines import ROOT, Machine
from tests.faults.scenarios import (
    BACK,
    CLAIM,
    DEEP,
    LATEST,
    NEXT,
    OLD,
    ONE_FILE,
    PART,
    RUNS,
    Choose,
    complete,
    newest,
    oldest,
    start,
)

DCP = Saves(Framework.dcp, settle=0.0)

CODES = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EINVAL,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.ESTALE,
    errno.EMFILE,
    errno.EBUSY,
    errno.ENOTEMPTY,
)
ASIDE = b"exec/a/.pruned-00000000000000aa.step-7"
DOOMED = b"exec/a/.pruned-00000000000000bb"
HF = Entry(1, 5, "exec/a/checkpoint-5")


class Operation(NamedTuple):
    """Something that a program does.

    Attributes:
        prepare: What is there before it.
        run: Do it; whether it ended as it should.
        meanwhile: What another process does under way, if any does.
    """

    prepare: Callable[[Machine], None]
    run: Callable[[Log], bool | PruneResult]
    meanwhile: Callable[[Machine], Rule] | None = None


def bare(machine: Machine) -> None:
    """A save, and no pub/ yet."""
    machine.save(NEXT)


def others(machine: Machine) -> None:
    """A save, and publications of others."""
    machine.save(NEXT)
    machine.have(OLD)
    machine.have(LATEST)
    machine.must = {LATEST}


def few(machine: Machine) -> None:
    """Two publications, and what an interrupted prune left."""
    machine.have(OLD)
    machine.have(LATEST)
    machine.must = {LATEST}
    machine.disk.write(ROOT + b"/" + DOOMED + b"/state", b"")


def framework(machine: Machine) -> None:
    """A save that a Trainer completed, beside one that it didn't."""
    others(machine)
    machine.keep = 2
    machine.save(HF)
    state = b"/trainer_state.json"
    machine.disk.write(ROOT + b"/" + HF.path + b"/model.safetensors", b"weights")
    machine.disk.write(ROOT + b"/" + HF.path + state, b'{"global_step": 5}')
    machine.disk.write(ROOT + b"/exec/a/checkpoint-6" + state, b"{")
    machine.save(HF)


def claimed(machine: Machine) -> None:
    """Save, publications of others, and a claim."""
    others(machine)
    machine.hold(CLAIM, "theirs")
    machine.offered.add("ours")


def unclaimed(machine: Machine) -> None:
    """No runs/ yet."""
    bare(machine)
    machine.offered.add("ours")


def lost(machine: Machine) -> None:
    """An execution that published less than it had completed, and claimed its epoch."""
    machine.hold(claim_name(1), "a")
    machine.keep = 3
    machine.have(OLD)
    complete(machine, NEXT)
    machine.must = {OLD}
    machine.offered |= {"attempt 2", OLD.name(), NEXT.name()}


def spiked(machine: Machine) -> None:
    """Publications of which the latest are no good."""
    lost(machine)
    machine.have(NEXT)
    machine.have(LATEST)
    machine.must = {LATEST}
    machine.offered.add(BACK.name())


def started(machine: Machine) -> None:
    """One rank has rolled back."""
    spiked(machine)
    start(machine, oldest)


def starting(choose: Choose, resume: Entry) -> Callable[[Log], bool]:
    """Claim and start, which may have been done in part before."""

    def run(log: Log) -> bool:
        execution = Execution(log.store, 2, b"attempt 2")
        execution.claim()
        return execution.start(DCP, choose).resume == resume

    return run


def many(machine: Machine) -> None:
    """Publications of all kinds of saves, and what two interrupted prunes left."""
    for entry in (DEEP, ONE_FILE, OLD, LATEST, PART):
        machine.have(entry)
    machine.must = {LATEST}
    machine.disk.write(ROOT + b"/" + ASIDE + b"/state", b"")
    machine.disk.write(ROOT + b"/" + DOOMED + b"/state", b"")


def publish_before_it_is_renamed(machine: Machine) -> Rule:
    """Let another process publish a save anew that is just about to be set aside."""
    machine.keep = 2  # what it publishes is the latest, and LATEST the one before
    is_done = False

    def rule(call: Call) -> None:
        nonlocal is_done
        if call.method == "rename" and not is_done:
            is_done = True
            save = call.path[len(ROOT) + 1 :].decode()
            machine.must.add(machine.log().publish(9, 9, save))

    return rule


def publish(log: Log, *, sync: bool = False) -> bool:
    """Publish, which may have been done before."""
    try:
        return log.publish(NEXT.epoch, NEXT.step, NEXT.save, sync=sync) == NEXT
    except AlreadyPublishedError as error:
        return error.entry == NEXT


def resolve(log: Log) -> bool:
    """Ask for the latest."""
    return log.resolve() == LATEST


def scan(log: Log) -> bool:
    """Look once for what to publish; what a scan before it published is no longer new."""
    watcher = Watcher(log, Framework.hf, b"exec/a", epoch=1, sync=True)
    return watcher.scan() in ([HF], [])


def retract(log: Log) -> bool:
    """Take a publication back, which may have been done before."""
    try:
        log.retract(OLD)
    except NotFoundError as error:
        return error.kind == "entry-missing"
    return True


def claim(log: Log) -> bool:
    """Claim, which may have been done before, by us or by others."""
    return log.store.claim(RUNS, CLAIM, "ours") in {"ours", "theirs"}


def prune(log: Log) -> PruneResult:
    """Keep the latest alone."""
    return log.prune(1)


OPERATIONS = {
    "publish into a fresh root": Operation(bare, publish),
    "publish beside others": Operation(others, publish),
    "publish with sync": Operation(others, lambda log: publish(log, sync=True)),
    "resolve": Operation(others, resolve),
    "entries": Operation(others, lambda log: len(log.entries()) >= 1),
    "scan": Operation(framework, scan),
    "claim in a fresh root": Operation(unclaimed, claim),
    "claim what is claimed": Operation(claimed, claim),
    "read a claim": Operation(claimed, lambda log: log.store.claimed(RUNS, CLAIM) == "theirs"),
    "read no claim": Operation(unclaimed, lambda log: log.store.claimed(RUNS, CLAIM) is None),
    "times": Operation(claimed, lambda log: len(log.store.written(RUNS, [CLAIM, "2"])) == 1),
    "start with a lost save": Operation(lost, starting(newest, NEXT)),
    "start and roll back": Operation(spiked, starting(oldest, BACK)),
    "start a second rank": Operation(started, starting(newest, BACK)),
    "retract": Operation(others, retract),
    "prune": Operation(many, prune),
    "prune beside a publisher": Operation(few, prune, publish_before_it_is_renamed),
    "dry run of prune": Operation(many, lambda log: log.prune(1, dry_run=True)),
}


def machine_for(operation: Operation) -> Machine:
    """Make a machine on which nothing has failed yet."""
    machine = Machine()
    operation.prepare(machine)
    machine.disk.sync()
    return machine


def log_of(machine: Machine, operation: Operation, *rules: Rule) -> Log:
    """Open the root for an operation, with what happens meanwhile."""
    others = [operation.meanwhile(machine)] if operation.meanwhile else []
    return machine.log(*rules, *others)


def calls_of(operation: Operation) -> list[Call]:
    """List the calls of an operation in which nothing fails."""
    calls: list[Call] = []
    machine = machine_for(operation)
    assert operation.run(log_of(machine, operation, calls.append))
    return calls


def expected(call: Call, code: int) -> tuple[type[DispatchError], str]:
    """Say what the table says."""
    if call.method == "fsync":
        return UnknownOutcomeError, "durability-unknown"
    if call.method == "symlink" and code in NO_LINKS:
        return RefusedError, "no-links"
    if call.method == "readlink" and code == errno.EINVAL:
        return MalformedError, "malformed-claim"
    kind_of_error, kind, _ = TABLE.get(code, (UnavailableError, "store-unavailable", ""))
    return kind_of_error, kind


def told(machine: Machine, operation: Operation, call: Call, code: int) -> str:
    """Let one call fail, and say what is wrong with what the caller is told, if anything."""
    number = call.number
    try:
        outcome = operation.run(log_of(machine, operation, fail(number, code)))
    except DispatchError as error:
        kind_of_error, kind = expected(call, code)
        if (type(error), error.kind) != (kind_of_error, kind):
            return f"{type(error).__name__} ({error.kind}) instead of {kind}"
        return "" if errno.errorcode[code] in str(error) else f"no errno in: {error}"
    except OSError as error:
        return f"a bare {error!r}"
    if not isinstance(outcome, PruneResult):
        # Where the store refuses a fate, it isn't noted that a person took something back.
        is_refused = expected(call, code)[0] is RefusedError and b"fates" in call.path
        is_well = operation is OPERATIONS["retract"] and is_refused
        return "" if is_well else "the failure was swallowed"
    reasons = [skip for skip in outcome.skipped if errno.errorcode[code] in skip.reason]
    return "" if reasons else f"the failure was swallowed: {outcome}"


def problem(operation: Operation, call: Call, code: int) -> str:
    """Let one call fail, and say what is wrong with all that comes of it, if anything."""
    machine = machine_for(operation)
    if problem := told(machine, operation, call, code):
        return problem
    if machine.disk.open_handles != machine.opened:  # each log keeps one, on the root
        return "a handle leaks"
    left = operation, machine.disk.tree(), frozenset(machine.must)
    if left not in CHECKED:
        CHECKED[left] = problem_left(machine, operation)
    return CHECKED[left]


CHECKED: dict[tuple[Operation, Folder, frozenset[Entry]], str] = {}
"""What was found wrong with what was left behind, by what that was: most errnos leave the same."""


def problem_left(machine: Machine, operation: Operation) -> str:
    """Say what is wrong with what an operation that failed left behind, if anything."""
    machine.prunes_under_way = 1  # cut off: what was published meanwhile may be aside
    if problem := machine.problem_of(machine.disk.tree()):
        return f"left behind: {problem}"
    again = operation.run(machine.log())
    if isinstance(again, PruneResult):
        again = not any(skip.failed for skip in again.skipped)
        machine.must = {max(machine.must)}  # it kept one
    machine.prunes_under_way = 0
    problem = machine.problem_of(machine.disk.tree())
    return problem if again else "the same without a failure fails"


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_errno_at_any_call_is_told_and_harms_nothing(name: str, code: int) -> None:
    """The caller learns it as the table says, no handle leaks, and a second try succeeds."""
    operation = OPERATIONS[name]
    calls = [call for call in calls_of(operation) if call.method not in NEVER_FAIL]
    found = {str(call): problem(operation, call, code) for call in calls}
    assert {call: what for call, what in found.items() if what} == {}
    assert calls
