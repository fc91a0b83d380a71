"""Calls that other packages would log with the secrets in them.

At DEBUG botocore logs each request's body and each answer (a web identity token, temporary keys),
and a failed refresh as a warning with its traceback, whatever the traceback says. Nothing is
lost: each failure becomes an error of ours.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES = ("botocore", "hvac", "requests", "urllib3")
_is_quiet: ContextVar[bool] = ContextVar("_is_quiet", default=False)


class _Silence(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        del record
        return not _is_quiet.get()


_SILENCE = _Silence()


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, what botocore, hvac, requests and urllib3 log on this thread is dropped.

    Elsewhere, and on other threads, their loggers work as the program has set them up.
    """
    for logger in _loggers():
        logger.addFilter(_SILENCE)  # once: a second time does nothing
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def _loggers() -> Iterator[logging.Logger]:
    """Those there are: a filter of a parent isn't asked for a child's records."""
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if name.partition(".")[0] in _PACKAGES and isinstance(logger, logging.Logger):
            yield logger
