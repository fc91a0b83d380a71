"""A listing that changes while it is read, and an answer that was true at some moment of it.

A folder is read slot by slot, while publications take slots and prunes free them. An answer is
right when it was the latest at some moment between the start of the call and its end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from dispatch.checkpoint import Entry
from dispatch.checkpoint.listing import latest_of, read_names
from dispatch.errors import DispatchError, UnavailableError
from dispatch.ports.store import NamesStore
from tests.property.checking import settings_for

ReadNames = Callable[[NamesStore], list[str]]

SLOTS = 6  # of the folder: names take the first free slot from a drawn one on


@dataclass(frozen=True)
class Change:
    """Something that happens while the folder is read.

    Attributes:
        reads: After how many further slots have been read.
        slot: Where a new name goes.
        late: Whether it is an old execution's late publication, instead of the new latest.
        prune: Whether a prune follows at once.
    """

    reads: int
    slot: int
    late: bool
    prune: bool


changes = st.lists(
    st.builds(
        Change,
        st.integers(0, 2 * SLOTS),
        st.integers(0, SLOTS - 1),
        late=st.booleans(),
        prune=st.booleans(),
    ),
    max_size=4,
)


@dataclass
class ChangingFolder:
    """`dispatch.ports.store.NamesStore`, as far as reading goes, of a folder that changes.

    Attributes:
        slots: What is in each slot.
        changes: What is still to happen.
        truths: Every latest that there was, in order.
        published: How many publications there were.
        knows: Whether the folder says of a pass that it was changed during it. Where it can't,
            two passes must agree; then no prune may take what the call saw appear, or two passes
            could be torn alike.
        new: The names that came while the folder was read.
    """

    slots: list[str | None]
    changes: list[Change]
    knows: bool
    truths: list[str | None] = field(default_factory=list)
    published: int = 0
    new: set[str] = field(default_factory=set)

    def names(self, folder: str, in_vain: int = 0) -> tuple[list[str], bool | None]:
        found, before = [], len(self.truths)
        for slot in range(len(self.slots)):
            self.read_one()
            name = self.slots[slot]
            if name is not None:
                found.append(name)
        return found, None if self.knows and len(self.truths) > before else False

    def create(self, folder: str, name: str) -> bool:
        raise NotImplementedError

    def remove(self, folder: str, names: list[str]) -> tuple[list[str], dict[str, DispatchError]]:
        raise NotImplementedError

    def written(self, folder: str, names: list[str]) -> dict[str, float]:
        raise NotImplementedError

    def read_one(self) -> None:
        """Let happen what is due before the next slot is read."""
        while self.changes and self.changes[0].reads <= 0:
            change = self.changes.pop(0)
            self.publish(change.slot, late=change.late)
            if change.prune:
                keep = {self.latest()} if self.knows else {self.latest(), *self.new}
                self.slots = [name if name in keep else None for name in self.slots]
            self.truths.append(self.latest())
        if self.changes:
            first = self.changes[0]
            self.changes[0] = Change(first.reads - 1, first.slot, first.late, first.prune)

    def publish(self, slot: int, *, late: bool) -> None:
        """Let a name take a slot; a folder that is full grows."""
        self.published += 1
        name = Entry(1 if late else 2, self.published, f"exec/{self.published}").name()
        self.new.add(name)
        order = [*range(slot, len(self.slots)), *range(slot)]
        free = next((slot for slot in order if self.slots[slot] is None), None)
        if free is None:
            self.slots.append(name)
        else:
            self.slots[free] = name

    def latest(self) -> str | None:
        """Say what is the latest now."""
        return max((name for name in self.slots if name is not None), default=None)


def check_reading(read: ReadNames, *, is_wrong: bool = False) -> None:
    """Check that no answer comes from a torn listing."""

    @settings_for(is_wrong=is_wrong, factor=4)
    @given(st.lists(st.integers(0, SLOTS - 1), max_size=3), changes, st.booleans())
    def check(before: list[int], during: list[Change], knows: bool) -> None:
        folder = ChangingFolder([None] * SLOTS, list(during), knows)
        for slot in before:
            folder.publish(slot, late=False)
        folder.new.clear()
        folder.truths.append(folder.latest())
        try:
            answer = latest_of(read(folder))
        except UnavailableError:
            return  # no answer is always right
        name = answer.name() if answer else None
        assert name in folder.truths, f"{name} was never the latest: {folder.truths}"

    check()


def test_the_answer_was_the_latest_at_some_moment_of_the_call() -> None:
    """Whatever is published and pruned meanwhile."""
    check_reading(read_names)
