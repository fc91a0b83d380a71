"""Executions that save, publish, prune and crash in one root, beside a dictionary of what is right.

Everything happens in one process, one operation at a time; but into an operation another one may
come at any of its system calls (on S3: requests), and at any of those that change something the
process may die. On S3 a request may also fail, or its answer get lost, and is made again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from dispatch.checkpoint import Entry, Framework, PruneResult, Watcher
from dispatch.errors import AlreadyPublishedError, NotFoundError
from tests.property import names as n
from tests.property.test_retention import naive_overlaps
from tests.property.worlds import Folder, World
from tests.unit.stores import CrashError, trainer_state

T = TypeVar("T")

FILES = ("model.safetensors", "optimizer.pt", "trainer_state.json")  # in Trainer's order
MARKER = FILES[-1]
CALLS = 30  # that change something or look, in a usual scan


@dataclass(frozen=True)
class Execution:
    """One execution.

    Attributes:
        epoch: Its epoch, above all before it.
        folder: Where it writes, relative to the root.
    """

    epoch: int
    folder: bytes


@dataclass(frozen=True)
class Save:
    """One save, which may be written again after it was lost.

    Attributes:
        execution: Whose it is.
        step: Its step.
    """

    execution: Execution
    step: int

    @property
    def path(self) -> bytes:
        """Where it is, relative to the root."""
        return self.execution.folder + b"/checkpoint-%d" % self.step

    def target(self, part: str) -> bytes:
        """Say what of it is published: itself, a folder in it, or its execution's whole folder."""
        inside = self.path + b"/inner"
        return {"itself": self.path, "inside": inside, "above": self.execution.folder}[part]


@dataclass
class Trouble:
    """What happens to an operation while it runs.

    Attributes:
        kind: ``none``, ``crash``, ``fault`` (none where calls don't fail singly), or what another
            process does meanwhile.
        call: At which of its system calls; and which fault it is.
        keep: How many publications a prune meanwhile keeps; a publisher meanwhile chooses the
            save's own epoch when it is 1, and the highest when it is 2. A request whose process
            dies is never made when it is 1, and never answered when it is 2.
    """

    kind: str
    call: int
    keep: int


troubles = st.builds(
    Trouble,
    st.sampled_from(["none", "fault", "crash", "prune", "rotate", "publish"]),
    st.integers(0, CALLS - 1),
    st.integers(1, 2),
)
ALONE = {"none", "fault", "crash"}
"""Troubles in which nobody else does anything."""
keeps = st.integers(1, 3)
steps = st.integers(0, 5)


@dataclass
class Model:
    """What must be so.

    Attributes:
        published: Publications that were reported, and not pruned or retracted.
        maybe: Entries of which nothing was reported: a publisher died, or lost a race.
        saves: The saves that were written whole and that no framework deleted.
        named: Every path that an entry may ever have named: a prune may take what overlaps.
        rotated: Paths of saves that their framework deleted, or a prune at the one moment at
            which S3 gives a publisher of them no protection.
        halves: Saves that a prune which died may have deleted in part, where it deletes in place.
    """

    published: set[Entry] = field(default_factory=set)
    maybe: set[Entry] = field(default_factory=set)
    saves: set[Save] = field(default_factory=set)
    named: set[bytes] = field(default_factory=set)
    rotated: set[bytes] = field(default_factory=set)
    halves: set[Save] = field(default_factory=set)

    def removed(self, entries: set[Entry]) -> None:
        """Note that entries are gone, by a prune or a person."""
        self.published -= entries
        self.maybe -= entries

    def is_damaged(self, entry: Entry) -> bool:
        """Say whether a framework deleted what the entry names."""
        return any(naive_overlaps(entry.path, path) for path in self.rotated)


class LogMachine(RuleBasedStateMachine):
    """The log of one root, a real folder unless another world is given."""

    executions: Bundle[Execution] = Bundle("executions")
    saves: Bundle[Save] = Bundle("saves")

    def __init__(self, world: World | None = None) -> None:
        super().__init__()
        self.world = world or Folder()
        self.log, self.other_log = self.world.log, self.world.other_log
        self.model = Model()
        self.watchers: dict[Execution, Watcher] = {}
        self.last_epoch = 0
        self.known: list[Save] = []
        self.answered: set[Entry] | None = None  # what was listed when the log was last asked
        self.taken: set[Entry] = set()  # what others removed during the operation under way
        self.made: set[Entry] = set()  # what others published during it

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.world.close()

    # -- what happens

    @initialize(target=executions)
    def first_executions(self) -> MultipleResults[Execution]:
        """Two, so that one is older from the beginning."""
        return multiple(self.new_execution(1), self.new_execution(1))

    @initialize(target=saves, step=steps, are_published=st.booleans())
    def first_saves(self, step: int, are_published: bool) -> MultipleResults[Save]:
        """Three, of three further executions; perhaps published, so that a prune has work."""
        saves = [Save(self.new_execution(1), step) for _ in range(3)]
        for save in saves:
            self.known.append(save)
            self.write(save)
            if are_published:
                entry = Entry(save.execution.epoch, step, save.path)
                self.publish_entry(entry, Trouble("none", 0, 1), save)
        return multiple(*saves)

    @rule(target=executions, rise=st.integers(1, 3))
    def start(self, rise: int) -> Execution:
        """Start an execution, whose epoch is above all before; old ones live on."""
        return self.new_execution(rise)

    def new_execution(self, rise: int) -> Execution:
        """Choose an execution's epoch and folder."""
        self.last_epoch += rise
        odd = self.world.odd if self.last_epoch % 2 else b""
        return Execution(self.last_epoch, b"exec/%b%d" % (odd, self.last_epoch))

    @rule(target=saves, execution=executions, step=steps)
    def save(self, execution: Execution, step: int) -> Save:
        """Write a save, unless it is there."""
        save = Save(execution, step)
        if not self.world.exists(save.path):
            self.write(save)
        if save not in self.known:
            self.known.append(save)
        return save

    @rule(
        save=saves, trouble=troubles, part=st.sampled_from(["itself", "itself", "inside", "above"])
    )
    def publish(self, save: Save, trouble: Trouble, part: str) -> None:
        """Publish it, however late and however often."""
        entry = Entry(save.execution.epoch, save.step, save.target(part))
        self.publish_entry(entry, trouble, save)

    @rule(save=saves, execution=executions, trouble=troubles)
    def choose(self, save: Save, execution: Execution, trouble: Trouble) -> None:
        """Publish a save under another execution's epoch, as a chosen roll-back is."""
        self.publish_entry(Entry(execution.epoch, save.step, save.path), trouble, save)

    @rule(data=st.data(), trouble=troubles)
    def publish_again(self, data: st.DataObject, trouble: Trouble) -> None:
        """Publish what is published, as a second watcher does."""
        entries = sorted(self.model.published)
        if entries and self.known:
            entry = data.draw(st.sampled_from(entries))
            named = [save for save in self.known if save.path == entry.path] or self.known
            self.publish_entry(entry, trouble, named[0])

    @rule(keep=keeps, keep_every=st.none() | st.integers(1, 3), trouble=troubles, save=saves)
    def prune(self, keep: int, keep_every: int | None, trouble: Trouble, save: Save) -> None:
        """Prune, whoever it is that does."""
        self.prune_as(None, keep, keep_every, trouble, save)

    @rule(save=saves)
    def rotate(self, save: Save) -> None:
        """Let the framework delete a save of its own, as save_total_limit does."""
        if self.world.exists(save.path):
            self.world.delete(save.path)
            self.model.rotated.add(save.path)
        self.model.saves.discard(save)

    @rule(data=st.data())
    def retract(self, data: st.DataObject) -> None:
        """Take one publication back, as a person does after a mistake."""
        entries = sorted(self.listed())
        if entries:
            entry = data.draw(st.sampled_from(entries))
            self.log.retract(entry)
            self.model.removed({entry})
            self.note_retracted(entry)

    def prune_as(
        self,
        epoch: int | None,
        keep: int,
        keep_every: int | None,
        trouble: Trouble,
        save: Save,
    ) -> None:
        """Prune, as an execution or a person, and hold the log to what it may remove."""
        before = self.listed()
        is_held = self.is_held(epoch)
        may_go = before - naive_kept(before, keep, keep_every)
        doomed = {entry.path for entry in may_go}
        victims = [save for save in self.known if save.path in doomed] or [save]
        save = victims[trouble.call % len(victims)]  # where others may get in our way
        calls = self.world.calls_of_prune(len(before), len(may_go))
        result = self.perform(
            lambda: self.log.prune(keep, keep_every, epoch=epoch), trouble, save, calls
        )
        if isinstance(result, CrashError):
            gone = before - self.listed() - self.taken - self.made
            assert gone <= may_go, "a prune that died removed what it had to keep"
            self.model.removed(gone)
            self.note_halves()
            return
        if trouble.kind in ALONE:
            assert is_held == (result.held is not None), "a claim was not minded"
        if result.held is not None:
            assert result == PruneResult(held=result.held), "a prune that was held removed things"
            return
        self.note_pruned(result)
        self.note_what_went_in_vain(result)
        stay = naive_kept(before | self.listed() | self.model.published, keep, keep_every)
        assert not stay & set(result.entries), "a prune removed what it had to keep"
        if trouble.kind in ALONE:
            going = may_go - self.spared(may_go, stay)
            assert result.entries == sorted(going), "a prune removed other entries than it had to"
            assert not self.world.asides(), "a prune left what it or another had begun to delete"
            for entry in going:
                self.check_gone(entry, result)

    @rule(execution=executions, trouble=troubles, data=st.data())
    def scan(self, execution: Execution, trouble: Trouble, data: st.DataObject) -> None:
        """Let an execution's watcher look once more."""
        watcher = self.watchers.get(execution) or self.new_watcher(execution)
        complete = {
            save
            for save in self.model.saves
            if save.execution == execution and self.is_complete(save)
        }
        victims = sorted(complete, key=lambda save: save.step) or [Save(execution, 0)]
        known = set(watcher._done.values())
        created = self.perform(watcher.scan, trouble, data.draw(st.sampled_from(victims)))
        entries = {Entry(execution.epoch, save.step, save.path) for save in complete}
        self.model.named |= {save.path for save in complete}
        if isinstance(created, CrashError):
            self.model.maybe |= entries - known - self.model.published
            self.new_watcher(execution)
            return
        assert created == sorted(created, key=lambda entry: entry.step), "that is not the order"
        reported = set(watcher._done.values()) - known
        now = {Entry(execution.epoch, save.step, save.path) for save in self.model.saves}
        assert set(created) <= reported <= entries | now, "a save that was not there is published"
        self.model.maybe |= reported & self.taken
        self.model.published |= reported - self.taken
        self.model.maybe -= self.model.published
        if trouble.kind in ALONE:
            assert reported == entries - known, "a complete save was not published"

    @rule(execution=executions)
    def restart_watcher(self, execution: Execution) -> None:
        """Forget what it knew."""
        self.new_watcher(execution)

    # -- what must always be so

    @invariant()
    def what_was_reported_is_listed_and_nothing_else_is(self) -> None:
        """No publication is ever lost, and none appears that nobody made."""
        listed = self.listed()
        assert self.model.published <= listed, "a publication was lost"
        assert listed <= self.model.published | self.model.maybe, "an entry is nobody's"

    @invariant()
    def the_latest_is_the_greatest(self) -> None:
        """By epoch, then step, then path: an old execution never wins.

        Both answers depend on what is listed alone, so they are asked for when that is new.
        """
        listed = self.listed()
        if listed == self.answered:
            return
        self.answered = listed
        assert set(self.log.entries()) == listed, "an entry is not shown"
        found = self.log.resolve()
        assert found == max(listed, default=None), "that is not the latest"
        if found is not None:
            assert found.epoch == max(entry.epoch for entry in listed), "an old execution won"

    @invariant()
    def what_is_published_is_whole(self) -> None:
        """Unless its own framework deleted it."""
        for entry in self.model.published:
            assert self.model.is_damaged(entry) or self.world.exists(entry.path), (
                f"{entry} names nothing"
            )

    @invariant()
    def a_save_is_whole_or_out_of_sight(self) -> None:
        """Nothing half-deleted looks complete, and what nobody published stays.

        Where a prune can rename, nothing half-deleted stands under a save's name at all.
        """
        for save in self.model.saves:
            content = self.world.files(save.path)
            if save in self.model.halves:
                assert MARKER not in content or content == content_of(save), f"{save} looks whole"
            else:
                assert content in ({}, content_of(save)), f"{save} is half there"
            if not any(naive_overlaps(save.path, path) for path in self.model.named):
                assert content, f"{save} was never published, and is gone"

    # -- the parts of it

    def is_complete(self, save: Save) -> bool:
        """Say whether a watcher has to find the save complete."""
        return self.world.files(save.path) == content_of(save)

    def listed(self) -> set[Entry]:
        """List what is published, without the code under test."""
        parsed = [n.parse(name) for name in self.world.names()]
        assert None not in parsed, "a name in pub/ is not an entry's"
        return {Entry(*parts) for parts in parsed if parts is not None}

    def write(self, save: Save) -> None:
        """Write a save as Trainer does."""
        self.world.write(save.path, content_of(save))
        self.model.saves.add(save)
        self.model.rotated.discard(save.path)
        self.model.halves.discard(save)

    def publish_entry(self, entry: Entry, trouble: Trouble, save: Save) -> None:
        """Publish, and hold the log to what it reports."""
        was_there = self.world.exists(entry.path)
        was_listed = entry in self.listed()
        self.model.named.add(entry.path)
        outcome = self.perform(
            lambda: self.try_to_publish(entry), trouble, save, self.world.publish_calls
        )
        if isinstance(outcome, CrashError):
            self.model.maybe |= {entry} - self.model.published
        elif outcome:
            assert was_there or trouble.kind == "publish", "a save that was not there is published"
            if entry in self.taken:
                self.model.maybe.add(entry)
            else:
                self.model.published.add(entry)
                self.model.maybe.discard(entry)
        else:
            assert not was_there or trouble.kind in {"prune", "rotate"}, "it is there, after all"
            is_ours = entry in self.listed() and not was_listed and entry not in self.made
            assert not is_ours, "a failed publication left its entry"

    def try_to_publish(self, entry: Entry) -> bool:
        """Publish; say whether it is published now, by whomever."""
        try:
            self.log.publish(entry.epoch, entry.step, entry.path)
        except AlreadyPublishedError as error:
            return error.entry == entry
        except NotFoundError as error:
            if error.kind != "save-missing":
                raise
            return False
        return True

    def perform(
        self, operation: Callable[[], T], trouble: Trouble, save: Save, calls: int = CALLS
    ) -> T | CrashError:
        """Carry an operation of about so many calls out, with what happens to it."""
        self.taken, self.made = set(), set()
        if trouble.kind == "crash":
            self.world.die_in(trouble.call % max(calls // 2, 1), unread=trouble.keep == 2)
        elif trouble.kind == "fault":
            self.world.fail_in(trouble.call % calls, trouble.call)
        elif trouble.kind != "none":
            self.world.interrupt_in(trouble.call % calls, lambda: self.happen(trouble, save))
        try:
            return operation()
        except CrashError as crash:
            return crash
        finally:
            self.world.go_on()

    def happen(self, trouble: Trouble, save: Save) -> None:
        """Do what another process does, as a whole."""
        if trouble.kind == "prune":
            result = self.other_log.prune(trouble.keep)
            self.taken |= set(result.entries)
            self.note_pruned(result)
        elif trouble.kind == "rotate":
            self.rotate(save)
        else:
            if not self.world.exists(save.path):
                self.write(save)
            epoch = save.execution.epoch if trouble.keep == 1 else self.last_epoch
            entry = Entry(epoch, save.step, save.path)
            self.model.named.add(entry.path)
            try:
                self.other_log.publish(entry.epoch, entry.step, entry.path)
            except AlreadyPublishedError:
                pass
            self.made.add(entry)
            self.model.published.add(entry)
            self.model.maybe.discard(entry)

    def note_pruned(self, result: PruneResult) -> None:
        """Note what a prune says that it removed; others may have published it again since."""
        self.model.removed(set(result.entries))
        self.model.maybe |= self.made & set(result.entries)
        assert not [folder for folder in result.skipped if folder.failed], "a removal failed"

    def note_halves(self) -> None:
        """Note what a prune that died, or one meanwhile, may have left half-deleted in sight."""
        if not self.world.hides_saves:
            self.model.halves |= {save for save in self.model.saves if not self.is_complete(save)}

    def note_what_went_in_vain(self, result: PruneResult) -> None:
        """Note what others published after the prune's last look, where nothing keeps it then.

        See tests/faults/test_s3_interleavings.py, which says exactly when that is.
        """
        if not self.world.hides_saves and not self.world.has_looked_since():
            gone = [self.log.relative(location) for location in result.folders]
            self.model.rotated |= {
                entry.path
                for entry in self.made
                if any(naive_overlaps(entry.path, path) for path in gone)
            }

    def check_gone(self, entry: Entry, result: PruneResult) -> None:
        """Check that a removed entry's save is gone, unless another names some of it."""
        if any(naive_overlaps(entry.path, other.path) for other in self.listed()):
            assert self.log.location(entry) not in result.folders, "what is published was deleted"
        else:
            assert not self.world.exists(entry.path), "a prune left a folder that nothing names"

    def is_held(self, epoch: int | None) -> bool:
        """Say whether a prune has to remove nothing. Nobody claims anything here."""
        return False

    def spared(self, doomed: set[Entry], stay: set[Entry]) -> set[Entry]:
        """Say which entries stay, since an execution takes their saves over. None does here."""
        return set()

    def note_retracted(self, entry: Entry) -> None:
        """Note what a person took back."""

    def new_watcher(self, execution: Execution) -> Watcher:
        """Start a watcher for an execution."""
        watcher = Watcher(self.log, Framework.hf, execution.folder, execution.epoch)
        self.watchers[execution] = watcher
        return watcher


def content_of(save: Save) -> dict[str, bytes]:
    """Say what a whole save holds."""
    weights = b"%d %d" % (save.execution.epoch, save.step)
    return dict(zip(FILES, (weights, weights, trainer_state(save.step)), strict=True))


def naive_kept(entries: set[Entry], keep: int, keep_every: int | None) -> set[Entry]:
    """Say what a prune has to keep, in other words than the code's."""
    stay = set(sorted(entries)[-keep:])
    for step in {entry.step for entry in entries}:
        if keep_every is not None and step % keep_every == 0:
            stay.add(max(entry for entry in entries if entry.step == step))
    return stay
