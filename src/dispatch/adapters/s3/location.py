"""Where a root is in a bucket: ``s3://BUCKET/PREFIX``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dispatch.errors import InvalidInputError
from dispatch.model.shown import shown

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")  # S3's own rule for names
_PREFIX_BYTES_MAX = 1024 - 1 - 255 - len("runs/")  # a key has 1,024 bytes, a name in it 255


@dataclass(frozen=True, slots=True)
class Location:
    """A bucket and the keys below a prefix in it.

    Attributes:
        bucket: The bucket's name.
        prefix: What every key of the root begins with: empty, or with a slash at its end.
    """

    bucket: str
    prefix: str

    def key(self, path: bytes) -> str:
        r"""The key of a path relative to the root.

        Raises:
            InvalidInputError: The path is not UTF-8, which keys are, or holds a backslash:
                SeaweedFS takes it for a slash, so that a prune of ``a\b`` would delete ``a/b``.
        """
        return self.prefix + self.text(path)

    def text(self, part: bytes) -> str:
        """A part of a path as it stands in keys.

        Raises:
            InvalidInputError: See `key`.
        """
        try:
            text = part.decode()
        except UnicodeDecodeError:
            text = "\\"
        if "\\" in text:
            message = (
                f"{part!r} can't be on S3: keys are UTF-8, and not every store has backslashes"
            )
            raise InvalidInputError(message)
        return text

    def url(self, path: bytes) -> bytes:
        """The ``s3://`` URL of a path relative to the root; of the root itself when empty."""
        whole = f"s3://{self.bucket}/{self.prefix}".encode() + path
        return whole if path else whole.rstrip(b"/")


def parse_location(root: str) -> Location:
    """The location that ``root`` names. A slash at its end means nothing.

    Raises:
        InvalidInputError: It is no ``s3://BUCKET/PREFIX``, or not every store would keep the
            prefix as it is.
    """
    scheme, _, rest = root.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not _BUCKET.fullmatch(bucket):
        message = f"checkpoint root {shown(root)} is not s3://BUCKET/PREFIX"
        raise InvalidInputError(message, hint="A bucket's name has 3 to 63 of a-z, 0-9, '.', '-'.")
    prefix = prefix.rstrip("/")
    if prefix and not {"", ".", ".."}.isdisjoint(prefix.split("/")):
        message = f"checkpoint root {root!r}: its prefix has an empty element, '.' or '..'"
        raise InvalidInputError(message)
    if not prefix.isprintable() or "\\" in prefix:
        message = f"checkpoint root {root!r}: its prefix has a character that not every store keeps"
        raise InvalidInputError(message)
    size = len(prefix.encode())
    if size > _PREFIX_BYTES_MAX:
        message = f"the prefix of the checkpoint root has {size} bytes, over {_PREFIX_BYTES_MAX}"
        raise InvalidInputError(message)
    return Location(bucket, f"{prefix}/" if prefix else "")
