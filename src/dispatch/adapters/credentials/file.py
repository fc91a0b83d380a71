"""`file:PATH`: a JSON object, or a directory of files such as a mounted Kubernetes secret."""

from __future__ import annotations

import json
import os
from dataclasses import astuple
from typing import TYPE_CHECKING

from dispatch.adapters.credentials.fields import Names, credentials_in
from dispatch.adapters.credentials.outcome import Broken, Outcome, settle
from dispatch.adapters.credentials.reading import (
    ABSENT_ERRORS,
    Stamp,
    Text,
    Unread,
    read_text,
    reason,
    stamp,
)
from dispatch.ports.credentials import Absent

if TYPE_CHECKING:
    from dispatch.ports.credentials import Credentials

NAMES = Names("access_key_id", "secret_access_key", "session_token", "expires_at")
_HINT = f"Its names are {', '.join(astuple(NAMES))}; the last two are optional."
_PAYLOAD = "..data"  # the link that the kubelet turns to new files, all of one version
_TRIES = 5  # readings of files that change meanwhile


class FileSource:
    """Keys in a file or a directory, read again whenever they change.

    All files of a directory are of one version where it is turned in one step, as the kubelet
    does; else a change in the middle of a reading makes it read again.
    """

    __slots__ = ("_path", "_stamp", "name")

    def __init__(self, path: str) -> None:
        self.name = f"file:{path}"
        self._path = path
        self._stamp: Stamp = ()

    def load(self) -> Credentials | Absent:
        return settle(self.name, self._outcome())

    def has_changed(self) -> bool:
        return self._stamp != self._stamp_now()

    def _stamp_now(self) -> Stamp:
        return stamp(self._path, *(os.path.join(self._path, name) for name in astuple(NAMES)))

    def _outcome(self) -> Outcome:
        outcome: Outcome = Broken("changes faster than it can be read")
        for _ in range(_TRIES):
            self._stamp = self._stamp_now()
            outcome = (
                _of_directory(self._path) if os.path.isdir(self._path) else _of_file(self._path)
            )
            if not self.has_changed():
                break
        return outcome


def _of_file(path: str) -> Outcome:
    text = read_text(path)
    if isinstance(text, Unread):
        return Absent(f"it {text.why}") if text.is_missing else Broken(text.why)
    try:
        document = json.loads(text.value)
    except (ValueError, RecursionError):
        return Broken("is not JSON", hint=_HINT)
    if not isinstance(document, dict):
        return Broken("is JSON, but not an object", hint=_HINT)
    return _of_values(document)


def _of_directory(path: str) -> Outcome:
    try:
        folder = _open_directory(path)
    except ABSENT_ERRORS:
        return Absent("it does not exist")
    except OSError as error:
        return Broken(f"can't be read ({reason(error)})")
    try:
        # A secret that a pod declares as optional is mounted as an empty directory.
        if all(name.startswith("..") for name in os.listdir(folder)):
            return Absent("it is empty")
        found = {name: read_text(name, folder) for name in astuple(NAMES)}
    except OSError as error:
        return Broken(f"can't be read ({reason(error)})")
    finally:
        os.close(folder)
    for name, text in found.items():
        if isinstance(text, Unread) and not text.is_missing:
            return Broken(f"{name} {text.why}")
    return _of_values({name: t.value for name, t in found.items() if isinstance(t, Text)})


def _open_directory(path: str) -> int:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
    try:
        return os.open(os.path.join(path, _PAYLOAD), flags)
    except ABSENT_ERRORS:
        return os.open(path, flags)


def _of_values(values: dict[str, object] | dict[str, str]) -> Outcome:
    outcome = credentials_in(values, NAMES)
    return (
        Broken(outcome.why, hint=outcome.hint or _HINT) if isinstance(outcome, Broken) else outcome
    )
