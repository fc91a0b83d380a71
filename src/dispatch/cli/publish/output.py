"""What `publish` writes: answers to stdout, everything else to stderr, one line each."""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Mapping

    Json = str | int | float | bool | None | list["Json"] | Mapping[str, "Json"]

_STDOUT, _STDERR = 1, 2
_STALLED_MS = 1000  # how long a reader of stderr may stall before a message is dropped
_PIPE_BUF = 4096  # a pipe that polls writable takes this much without blocking
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


class AnswerError(Exception):
    """The answer could not be written; silence would read as "start from scratch"."""


class Output:
    """One program's streams.

    Attributes:
        is_json: Answers are one JSON document, and each message is a JSON object on a line.
    """

    __slots__ = ("_is_stalled", "_to_json", "is_json")

    def __init__(self, *, is_json: bool) -> None:
        self.is_json = is_json
        if is_json:
            import json  # now, and not first in an error for which no descriptor may be left

            self._to_json = json.dumps
        self._is_stalled = False

    def answer(self, content: bytes) -> None:
        """Write to stdout, all of it.

        Raises:
            AnswerError: It could not be written whole.
        """
        view = memoryview(content)
        while view:
            try:
                view = view[os.write(_STDOUT, view) :]
            except BlockingIOError:
                _wait_writable(_STDOUT, None)
            except OSError as error:
                raise AnswerError(_describe(error)) from error

    def document(self, document: Json) -> None:
        """Write one JSON document to stdout.

        Raises:
            AnswerError: It could not be written whole.
        """
        self.answer(self._to_json(document).encode() + b"\n")

    def close(self) -> None:
        """Close stdout, since some file systems report a full disk only then.

        Raises:
            AnswerError: What was written may be lost.
        """
        try:
            os.close(_STDOUT)
        except OSError as error:
            raise AnswerError(_describe(error)) from error

    def say(
        self, message: str, level: str = "info", fields: Mapping[str, Json] | None = None
    ) -> None:
        """Write one line to stderr. A message that can't be written is dropped.

        Args:
            message: For people.
            level: ``info``, ``warning`` or ``error``.
            fields: For programs: added to the object that a line is with ``-json``.
        """
        if self.is_json:
            line = self._to_json({"level": level, "message": message, **(fields or {})}).encode()
        else:
            mark = "" if level == "info" else f"{level}: "
            line = raw(one_line(f"publish: {mark}{message}"))
        self.write_stderr(line + b"\n")

    def write_stderr(self, content: bytes) -> None:
        """Write to stderr unless that fails, or would block for long.

        Only the first of several messages waits for a reader that has stalled: a last look may
        have hundreds to say, and half a minute left.
        """
        time_out_ms = 0 if self._is_stalled else _STALLED_MS
        try:
            for start in range(0, len(content), _PIPE_BUF):
                self._is_stalled = not _wait_writable(_STDERR, time_out_ms)
                if self._is_stalled:
                    return
                os.write(_STDERR, content[start : start + _PIPE_BUF])
        except OSError:
            pass  # a full disk or a closed stream must never stop a watch


def one_line(text: str) -> str:
    """``text`` without anything that ends a line or moves a terminal's cursor."""
    return text.translate(_ESCAPES)


def raw(text: str) -> bytes:
    """``text`` as bytes, any path in it as the bytes that it has on disk, whatever the locale."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:  # a path never fails; an argument repeated in a message may
        return text.encode("ascii", "backslashreplace")


def json_text(path: str | bytes) -> str:
    """A path for a JSON document: UTF-8, any other byte as a lone surrogate (PEP 383)."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def _wait_writable(descriptor: int, time_out_ms: int | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(time_out_ms))


def _describe(error: OSError) -> str:
    code = error.errno or 0
    return f"{errno.errorcode.get(code, code)} ({os.strerror(code).lower()})"
