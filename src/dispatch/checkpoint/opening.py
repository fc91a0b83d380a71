"""`open_store`: the public door, and the one place where the core names an adapter."""

from __future__ import annotations

import os

from dispatch.checkpoint.log import Log
from dispatch.errors import InvalidInputError


def open_store(root: str | bytes | os.PathLike[str], **options: object) -> Log:
    """The log of a checkpoint root.

    Args:
        root: The absolute path of a folder that exists. (``s3://BUCKET/PREFIX`` is refused until
            it is built.)
        **options: None is known on POSIX.

    Raises:
        InvalidInputError: The root is not absolute, or an option is unknown.
        NotFoundError: There is no such folder. Nothing was created.
    """
    location = os.fsencode(root)
    if location.startswith(b"s3:"):
        message = f"checkpoint root {os.fsdecode(location)!r}: S3 roots aren't built yet"
        raise InvalidInputError(message, kind="not-built", hint="Use a shared directory.")
    if options:
        message = f"unknown options of a POSIX root: {', '.join(sorted(options))}"
        raise InvalidInputError(message)
    from dispatch.adapters.posix import open_root
    from dispatch.adapters.system.clock import wall_ns
    from dispatch.adapters.system.entropy import token
    from dispatch.adapters.system.patience import ThreadPatience

    return Log(open_root(location, now_ns=wall_ns, token=token), ThreadPatience())
