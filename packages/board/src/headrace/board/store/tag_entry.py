"""What a log says of a tag when it comes up first."""

from __future__ import annotations

from typing import NamedTuple


class TagEntry(NamedTuple):
    """A tag as a file first told of it; its number is its place in the order of such news."""

    name: str
    kind: str
    plugin: str
    display: str
    description: str
    content: bytes
