"""Taking saves away where nothing can be renamed: the markers first, then the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.s3.listing import keys_below
from dispatch.adapters.s3.requests import Absent, os_text
from dispatch.errors import DispatchError
from dispatch.model.removal import Aside, Gone, Left

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.adapters.s3.requests import Requests

_BATCH = 1000  # keys in one DeleteObjects
_SHOWN = 3  # keys named in one reason


class S3Removal:
    """`dispatch.ports.store.RemovalStore`.

    Args:
        requests: The root's.
        markers: The files that make a save of any framework complete, relative to the save.
    """

    def __init__(self, requests: Requests, markers: Sequence[bytes]) -> None:
        self._requests = requests
        self._markers = markers

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        """See `dispatch.ports.store.RemovalStore`."""
        return None if self._keys(save) else Gone()

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        """See `dispatch.ports.store.RemovalStore`: nothing moves."""
        return Aside(save, save)

    def put_back(self, aside: Aside) -> bool:
        """See `dispatch.ports.store.RemovalStore`: it never went away."""
        return bool(self._keys(aside.place))

    def delete(self, aside: Aside) -> Left | Gone | None:
        """See `dispatch.ports.store.RemovalStore`."""
        keys = self._keys(aside.place)
        if not keys:
            return Gone()
        markers = {aside.place + b"/" + marker for marker in self._markers}
        failures: list[str] = []
        for key in filter(markers.__contains__, keys):
            try:
                self._requests.call("delete_object", key)
            except Absent:
                pass
            except DispatchError as error:
                return Left(str(error), failed=True)
        rest = [key for key in keys if key not in markers]
        try:
            for start in range(0, len(rest), _BATCH):
                failures += self._delete_batch(rest[start : start + _BATCH])
        except DispatchError as error:
            failures.append(str(error))
        if failures:
            more = f", and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
            return Left("; ".join(failures[:_SHOWN]) + more, failed=True)
        return None

    def leftovers(self, folder: bytes) -> list[Aside]:
        """See `dispatch.ports.store.RemovalStore`: none can be told from what is being saved."""
        del folder
        return []

    def _keys(self, save: bytes) -> list[bytes]:
        below = [save + b"/" + key.encode() for key in keys_below(self._requests, save + b"/")]
        try:
            self._requests.call("head_object", save)
        except Absent:
            return below
        return [save, *below]

    def _delete_batch(self, paths: list[bytes]) -> list[str]:
        """Delete keys with one request; a reason for each that was not deleted."""
        requests = self._requests
        location = requests.location
        objects = [{"Key": location.key(path)} for path in paths]
        what = f"delete_objects {os_text(location.url(paths[0]))} and {len(paths) - 1} more"
        answer = requests.do(
            what,
            lambda: requests.client.delete_objects(
                Bucket=location.bucket, Delete={"Objects": objects, "Quiet": True}
            ),
        )
        return [
            f"s3://{location.bucket}/{error.get('Key', '')}: {error.get('Code', 'unknown')}"
            for error in answer.get("Errors", ())
        ]
