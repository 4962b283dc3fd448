"""File names as text."""

from __future__ import annotations


def path_text(path: str) -> str:
    """Returns a path as text for JSON: bytes that are not UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
