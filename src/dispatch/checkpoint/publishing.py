"""Publishing one save: the steps of format §6, the same on every store."""

from __future__ import annotations

import os

from dispatch.checkpoint.listing import PUB
from dispatch.errors import InvalidInputError, NotFoundError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from dispatch.checkpoint.entry import Entry
    from dispatch.ports.store import PublishingStore

_ATTEMPTS_MAX = 5  # each is one more prune that took the save away and put it back meanwhile


def publish_entry(store: PublishingStore, entry: Entry, *, sync: bool) -> bool:
    """Create ``entry`` unless it is there, between two looks at its save.

    Returns:
        Whether this call created it. It is durable either way.

    Raises:
        InvalidInputError: It is not to be published; nothing was written.
        NotFoundError: There is no such save (any more), and this call left no entry.
        UnknownOutcomeError: The entry may not survive a power loss.
        DispatchError: The save went away meanwhile, and the entry could not be withdrawn.
    """
    refuse_unpublishable(entry.path)
    for _ in range(_ATTEMPTS_MAX):
        require_save(store, entry)
        if sync:
            for _path in store.sync_save(entry.path):
                pass
        created = store.create(PUB, entry.name())
        if store.has_save(entry.path):
            store.check()  # what was published under a root that was replaced is nowhere
            return created
        if created:
            # A prune took the save meanwhile: withdraw. It may put it back, and another
            # publisher may have been told "already published" by our entry, so look again.
            _, failures = store.remove(PUB, [entry.name()])
            for failure in failures.values():
                raise failure
    message = f"{entry.save!r} comes and goes: it was taken away {_ATTEMPTS_MAX} times"
    raise NotFoundError(message, kind="save-missing")


_HINT = "A save is a folder or a regular file below the checkpoint root."


def require_save(store: PublishingStore, entry: Entry, hint: str = _HINT) -> None:
    """Refuse what names nothing.

    Raises:
        NotFoundError: There is no such save (kind ``save-missing``).
    """
    if not store.has_save(entry.path):
        store.check()
        message = f"there is no save at {os.fsdecode(store.location(entry.path))!r}"
        raise NotFoundError(message, kind="save-missing", hint=hint)


def refuse_unpublishable(path: bytes) -> None:
    """Refuse the paths that parse, since the format allows them, but are not to be published.

    Raises:
        InvalidInputError: It is ``exec``, is or lies in ``runs`` or ``fates``, holds a newline
            (format §3), or has an element that a prune gave a save on its way out.
    """
    shown = os.fsdecode(path)
    if path == b"exec":
        message = "save 'exec' is the folder of all executions"
        raise InvalidInputError(message)
    for folder in (b"runs", b"fates"):
        if path == folder or path.startswith(folder + b"/"):
            message = f"save {shown!r} is in {folder.decode()}/, which holds claims"
            raise InvalidInputError(message)
    if path.startswith(b".pruned-") or b"/.pruned-" in path:
        message = f"save {shown!r} is being removed by a prune"
        raise InvalidInputError(message)
    if b"\n" in path:
        message = f"save {shown!r} holds a newline, so a shell could not take it back"
        raise InvalidInputError(message)
