"""Names of files as texts."""

from __future__ import annotations


def path_text(path: str) -> str:
    """Returns a path as a text that JSON can carry: bytes that are no UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
