"""The masters of this process, by the addresses of their servers."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.distributed.master.master import Master

_lock = threading.Lock()
_masters: dict[str, Master] = {}
_LOOPBACK = ("localhost", "127.0.0.1")  # names of one interface


def add(address: str, master: Master) -> None:
    """Makes a master known."""
    with _lock:
        _masters[address] = master


def remove(address: str) -> None:
    """Forgets the master of an address."""
    with _lock:
        _masters.pop(address, None)


def find(address: str) -> Master | None:
    """Returns the master of an address, if its server runs in this process."""
    with _lock:
        found = _masters.get(address)
        host, _, port = address.rpartition(":")
        if found is None and host in _LOOPBACK:
            for name in _LOOPBACK:
                found = found or _masters.get(f"{name}:{port}")
        return found


def _after_fork() -> None:
    """The threads of the parent's servers are not in the child."""
    global _lock
    _lock = threading.Lock()
    _masters.clear()


os.register_at_fork(after_in_child=_after_fork)
