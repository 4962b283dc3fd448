"""Checkpoint bundles by URL: their files, and how a new bundle replaces an older one.

The data files are uploaded under their final names, which the bundle that is replaced does not
have, and the index last. Readers therefore see the older bundle or the new one, whenever the writer
is killed. There are no locks: two writers must not write one prefix at the same time.
"""

from __future__ import annotations

import contextlib
import re

from headrace.formats import file_systems
from headrace.formats.errors import NotFoundError, OpError
from headrace.formats.remote_file import write_bytes


def data_files(prefix: str) -> list[str]:
    """Returns the URLs of a bundle's data files, sorted, also of those that no index refers to."""
    folder, _, stem = prefix.rpartition("/")
    pattern = re.compile(re.escape(stem) + r"\.data-\d{5,}-of-\d{5,}\Z")
    try:
        names = file_systems.list_directory(folder)
    except NotFoundError:
        return []
    return [f"{folder}/{name}" for name in names if pattern.match(name)]


def publish(prefix: str, shards: list[str], names: list[str], index: bytes) -> None:
    """Gives the data files their names, writes the index, and removes the older bundle.

    Args:
      prefix: URL of the bundle.
      shards: URLs of the data files so far.
      names: their final URLs; those beyond `shards` become empty files.
      index: contents of the index file.
    """
    older = data_files(prefix)
    try:
        for number, name in enumerate(names):
            if number >= len(shards):
                write_bytes(name, b"")
            elif shards[number] != name:
                file_systems.rename(shards[number], name)
        write_bytes(f"{prefix}.index", index)
    except BaseException:
        for name in names:  # the older bundle has none of them
            with contextlib.suppress(OpError):
                file_systems.discard(name)
        raise
    for name in set(older) - set(names):
        file_systems.discard(name)
