"""Rejects results that this machine's memory cannot hold, before a list of them grows."""

from __future__ import annotations

import os

from headrace.formats.errors import ResourceExhaustedError


def need_memory(count: int, size: int, what: str) -> None:
    """Raises: ResourceExhaustedError if count things of `size` bytes exceed the memory."""
    if count * size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise ResourceExhaustedError(
            None, None, f"no memory for {what}: {count} of about {size} bytes each"
        )
