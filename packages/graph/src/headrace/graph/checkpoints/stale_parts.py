"""Removes the parts of sharded checkpoints that killed writers left."""

from __future__ import annotations

import contextlib
import os
import re
import time

from headrace.formats import file_systems
from headrace.formats.errors import OpError
from headrace.graph.platform import gfile

# save_nodes.py names the folders of parts.
_PART = re.compile(r"_temp_[0-9a-f]{32}/part-\d+-of-\d+\.(index|data-\d+-of-\d+)\Z")
# Longer than writing a checkpoint takes: another saver may be writing to the folder.
STALE_AFTER_S = 3600.0


def remove_stale_parts(folder: str) -> None:
    """Removes parts in a folder whose checkpoint was not completed for an hour.

    What cannot be read or removed is left.
    """
    now = time.time()
    with contextlib.suppress(OpError):
        found = gfile.Glob(os.path.join(folder or ".", "*_temp_*", "part-*"))
        for path in found:
            if not _PART.search(path):
                continue
            with contextlib.suppress(OpError):  # another process removed it first
                if now - gfile.Stat(path).mtime_nsec / 1e9 > STALE_AFTER_S:
                    gfile.Remove(path)
                    _remove_empty(os.path.dirname(path))


def _remove_empty(folder: str) -> None:
    if file_systems.is_remote(folder):
        file_systems.remove_empty_directory(folder)
        return
    with contextlib.suppress(OSError):
        os.rmdir(folder)
