"""Logs ops that run on the CPU because a device with memory of its own has no kernel for them."""

from __future__ import annotations

import logging
from collections.abc import Iterable

_log = logging.getLogger("headrace.runtime")
_listed: set[str] = set()


def list_unplaced_ops(ops: Iterable[str], requested: bool, kinds: str) -> None:
    """Logs the ops that no earlier call of this process has logged, in one line.

    Args:
      ops: as "Cumsum (int32)".
      requested: whether device strings name a device for some of them; the line is a warning then.
      kinds: the types of the devices: "GPU".
    """
    new = sorted(set(ops) - _listed)
    if not new:
        return
    _listed.update(new)
    _log.log(
        logging.WARNING if requested else logging.INFO,
        "these ops have no %s kernel and run on the CPU: %s",
        kinds,
        ", ".join(new),
    )
