"""Taking saves away where nothing can be renamed: the markers first, then the rest.

Keys are deleted as they were listed, also those that no path of ours would have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch.adapters.s3.answers import IncompleteAnswerError
from dispatch.adapters.s3.listing import keys_below
from dispatch.adapters.s3.requests import Absent, operation
from dispatch.adapters.s3.saves import has_key, has_save
from dispatch.errors import DispatchError
from dispatch.model.removal import Aside, Gone, Left

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dispatch.adapters.s3.requests import Requests

BATCH_KEYS_MAX = 1000  # in one DeleteObjects: S3's own limit
_SHOWN = 3  # keys named in one reason
_CODE_LETTERS_MAX = 64


class S3Removal:
    """`dispatch.ports.store.RemovalStore`."""

    __slots__ = ()

    _requests: Requests
    _markers: Sequence[bytes]

    def may_set_aside(self, save: bytes) -> Left | Gone | None:
        """See `dispatch.ports.store.RemovalStore`."""
        return None if has_save(self._requests, save) else Gone()

    def set_aside(self, save: bytes) -> Aside | Left | Gone:
        """See `dispatch.ports.store.RemovalStore`: nothing moves."""
        return Aside(save, save) if has_save(self._requests, save) else Gone()

    def put_back(self, aside: Aside) -> bool:
        """See `dispatch.ports.store.RemovalStore`: it never went away."""
        return has_save(self._requests, aside.place)

    def delete(self, aside: Aside) -> Left | Gone | None:
        """See `dispatch.ports.store.RemovalStore`.

        Every known marker goes before anything else, one by one: what is left of a save, or of
        one inside it, when this ends half-way, never looks complete. Where a marker stays, all
        the rest does.
        """
        requests = self._requests
        folder = requests.location.key(aside.place) + "/"
        try:
            below = keys_below(requests, folder)
            own = [folder.removesuffix("/")] if has_key(requests, aside.place) else []
            if not below and not own:
                return Gone()
            # At any depth: a folder of saves can be published as one.
            ends = tuple("/" + requests.location.text(marker) for marker in self._markers)
            for key in below:
                if key.endswith(ends):
                    self._delete(key)
            rest = [*(key for key in below if not key.endswith(ends)), *own, folder]
            failures = list(self._delete_batches(rest))
        except DispatchError as error:
            return Left(str(error), failed=True)
        if failures:
            more = f", and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
            return Left("; ".join(failures[:_SHOWN]) + more, failed=True)
        return None

    def leftovers(self, folder: bytes) -> list[Aside]:
        """See `dispatch.ports.store.RemovalStore`: none can be told from what is being saved."""
        del folder
        return []

    def _delete(self, key: str) -> None:
        try:
            self._requests.call_on_key("delete_object", key)
        except Absent:
            pass

    def _delete_batches(self, keys: list[str]) -> Iterator[str]:
        """Delete keys; a reason for each that was not. One batch's failure stops no other."""
        for start in range(0, len(keys), BATCH_KEYS_MAX):
            batch = keys[start : start + BATCH_KEYS_MAX]
            try:
                yield from self._delete_batch(batch)
            except DispatchError as error:
                yield str(error)

    def _delete_batch(self, keys: list[str]) -> list[str]:
        requests, bucket = self._requests, self._requests.location.bucket
        # Not quiet: a quiet answer that was cut off looks like success.
        asked = {"Objects": [{"Key": key} for key in keys], "Quiet": False}

        def request() -> dict[str, Any]:
            answer: dict[str, Any] = requests.client.delete_objects(Bucket=bucket, Delete=asked)
            told = {item.get("Key") for name in _TOLD for item in answer.get(name, ())}
            missing = set(keys) - told
            if missing:
                raise IncompleteAnswerError(f"it says nothing of {len(missing)} keys")
            return answer

        others = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        what = f"{operation('delete_objects')} s3://{bucket}/{keys[0]}{others}"
        answer = requests.do(what, request, "delete_objects")
        return [
            f"s3://{bucket}/{error['Key']}: {_shown(error.get('Code'))}"
            for error in answer.get("Errors", ())
            if error.get("Code") != "NoSuchKey"
        ]


_TOLD = ("Deleted", "Errors")


def _shown(code: object) -> str:
    text = str(code or "")
    return text if text.isalnum() and len(text) <= _CODE_LETTERS_MAX else "not deleted"
