"""`open_store`: the public door, and the one place where the core names an adapter."""

from __future__ import annotations

import os

from dispatch.checkpoint.log import Log
from dispatch.errors import InvalidInputError

TYPE_CHECKING = False  # typing itself costs 8 ms at start
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dispatch.adapters.s3 import Connection
    from dispatch.ports.credentials import Keys

_NO_PACKAGE = ("botocore", "urllib3", "jmespath", "dateutil")  # what the extra brings


def open_store(root: str | bytes | os.PathLike[str], **options: object) -> Log:
    """The log of a checkpoint root.

    Args:
        root: The absolute path of a folder that exists, or ``s3://BUCKET/PREFIX``.
        **options: None is known on POSIX. On S3: ``endpoint`` (a URL; without it AWS),
            ``region``, ``addressing`` (``auto``, ``path`` or ``virtual``), ``ca_file`` (PEM
            certificates to trust), ``proxy`` (a URL), ``insecure_http`` (True lets plain http
            leave this machine), ``creds`` (a list of sources of keys, as ``-creds`` takes them)
            and ``environment`` (a mapping, as the process's own is, that those sources may read:
            nothing else is read from it, and without it they see no variable).

    Raises:
        InvalidInputError: The root is malformed, an option is unknown or malformed, or (kind
            ``not-built``) the package's extra ``s3`` isn't installed.
        NotFoundError: There is no such folder. Nothing was created. On S3 nothing is asked yet:
            a bucket that is missing shows when it is listed or written to.
    """
    location = os.fsencode(root)
    if location.startswith(b"s3:"):
        return _open_s3(os.fsdecode(location), options)
    if options:
        message = f"unknown options of a POSIX root: {', '.join(sorted(options))}"
        raise InvalidInputError(message)
    from dispatch.adapters.posix import open_root
    from dispatch.adapters.system.clock import pause, wall_ns
    from dispatch.adapters.system.entropy import token
    from dispatch.adapters.system.patience import ThreadPatience

    return Log(open_root(location, now_ns=wall_ns, token=token, pause=pause), ThreadPatience())


def _open_s3(root: str, options: dict[str, object]) -> Log:
    try:
        from dispatch.adapters.s3 import Surroundings, open_bucket
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NO_PACKAGE:
            raise
        message = f"checkpoint root {root!r} needs the package {error.name}, which isn't installed"
        hint = "Install the extra s3, in a clone of dispatch: pip install '.[s3]'."
        raise InvalidInputError(message, kind="not-built", hint=hint) from error
    from dispatch.adapters.credentials import quiet
    from dispatch.adapters.system.clock import SystemClock, wall_ns
    from dispatch.adapters.system.entropy import fraction
    from dispatch.adapters.system.patience import ThreadPatience
    from dispatch.checkpoint.completion import FRAMEWORKS

    connection, keys = _connect(_Options(options))
    markers = sorted({marker for framework in FRAMEWORKS for marker in framework.markers})
    around = Surroundings(
        clock=SystemClock(), now=lambda: wall_ns() / 1e9, fraction=fraction, quiet=quiet.quiet
    )
    return Log(open_bucket(root, connection, keys, around, markers=markers), ThreadPatience())


def _connect(given: _Options) -> tuple[Connection, Keys]:
    """How to reach the store, and who asks."""
    from dispatch.adapters import credentials
    from dispatch.adapters.s3 import Connection
    from dispatch.adapters.system.clock import SystemClock, wall_ns
    from dispatch.model.proxy import parse_proxy

    proxy = given.text("proxy")
    connection = Connection(
        endpoint=given.text("endpoint"),
        region=given.text("region"),
        addressing=given.text("addressing") or "auto",
        ca_file=given.text("ca_file"),
        proxy=None if proxy is None else parse_proxy(proxy, "proxy"),
        allow_http=given.switch("insecure_http"),
    )
    around = credentials.Surroundings(
        variables=given.variables("environment"),
        now_ns=wall_ns,
        monotonic=SystemClock().monotonic,
        region=connection.region,
        proxy=connection.proxy,
        ca_file=connection.ca_file,
        allow_http=connection.allow_http,
    )
    keys = credentials.open_keys(credentials.parse_places(given.texts("creds")), around)
    given.refuse_others()
    return connection, keys


class _Options:
    """Options of a caller, whose types nobody has checked."""

    __slots__ = ("_rest",)

    def __init__(self, options: dict[str, object]) -> None:
        self._rest = dict(options)

    def text(self, name: str) -> str | None:
        value = self._rest.pop(name, None)
        if value is None or isinstance(value, str):
            return value
        raise _wrong(name, "text", value)

    def switch(self, name: str) -> bool:
        value = self._rest.pop(name, False)
        if isinstance(value, bool):
            return value
        raise _wrong(name, "True or False", value)

    def texts(self, name: str) -> Sequence[str]:
        value = self._rest.pop(name, None)
        if value is None:
            return ()
        if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
            return value
        raise _wrong(name, "a list of texts", value)

    def variables(self, name: str) -> Mapping[str, str]:
        from collections.abc import Mapping

        value = self._rest.pop(name, None)
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        raise _wrong(name, "a mapping", value)

    def refuse_others(self) -> None:
        if self._rest:
            message = f"unknown options of an S3 root: {', '.join(sorted(self._rest))}"
            raise InvalidInputError(message)


def _wrong(name: str, expected: str, value: object) -> InvalidInputError:
    """What is wrong with an option, without its value: it may hold a secret."""
    message = f"option {name} is of type {type(value).__name__}, not {expected}"
    return InvalidInputError(message)
