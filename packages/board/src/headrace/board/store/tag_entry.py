"""What a log records about a tag when it first appears."""

from __future__ import annotations

from typing import NamedTuple


class TagEntry(NamedTuple):
    """A tag as first seen in a file; tags are numbered in order of appearance."""

    name: str
    kind: str
    plugin: str
    display: str
    description: str
    content: bytes
