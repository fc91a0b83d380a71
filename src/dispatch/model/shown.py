"""What a message repeats of a value that should not be there, and may hold a secret."""

from __future__ import annotations


def shown(text: str) -> str:
    """``text`` in quotes: all of a path or a word, and of a URL what comes before any secret.

    A user and a password stand before an ``@``, and queries hold tokens and signatures.
    """
    scheme, separator, _ = text.partition("://")
    if text.startswith("/"):
        return repr(text)
    if "@" in text:
        return repr(f"{scheme}://…" if separator else "…")
    harmless = text.partition("?")[0].partition("#")[0]
    return repr(text if harmless == text else f"{harmless}…")
