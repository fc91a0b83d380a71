"""Where a root is in a bucket: ``s3://BUCKET/PREFIX``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dispatch.errors import InvalidInputError

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")  # S3's own rule for names


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
        """The key of a path relative to the root.

        Raises:
            InvalidInputError: The path is not UTF-8, which keys are.
        """
        try:
            return self.prefix + path.decode()
        except UnicodeDecodeError as error:
            message = f"{path!r} is not UTF-8, and keys on S3 are"
            raise InvalidInputError(message) from error

    def url(self, path: bytes) -> bytes:
        """The ``s3://`` URL of a path relative to the root; of the root itself when empty."""
        whole = f"s3://{self.bucket}/{self.prefix}".encode() + path
        return whole.rstrip(b"/") if not path else whole


def parse_location(root: str) -> Location:
    """The location that ``root`` names. A slash at its end means nothing.

    Raises:
        InvalidInputError: It is no ``s3://BUCKET/PREFIX``, or its prefix has an empty element,
            ``.`` or ``..``.
    """
    scheme, _, rest = root.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not _BUCKET.fullmatch(bucket):
        message = f"checkpoint root {root!r} is not s3://BUCKET/PREFIX"
        raise InvalidInputError(message, hint="A bucket's name has 3 to 63 of a-z, 0-9, '.', '-'.")
    prefix = prefix.rstrip("/")
    if prefix and {"", ".", ".."} & set(prefix.split("/")):
        message = f"checkpoint root {root!r}: its prefix has an empty element, '.' or '..'"
        raise InvalidInputError(message)
    return Location(bucket, f"{prefix}/" if prefix else "")
