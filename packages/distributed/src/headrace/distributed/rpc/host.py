"""What tells whether two processes are on one machine, and can share a UNIX socket."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HostIdentity:
    """Equal in two processes that can share a UNIX socket of the abstract namespace."""

    boot_id: str
    user: int
    network_namespace: int


def host_identity() -> HostIdentity:
    """Returns that of this process; an empty boot_id where the system does not tell."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return HostIdentity("", os.getuid(), 0)
    return HostIdentity(boot_id, os.getuid(), namespace)


def is_loopback(host: str) -> bool:
    """Whether a host, as in an address, is the loopback interface."""
    if host == "localhost":
        return True
    try:
        packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    except OSError:
        return False
    return (
        packed[0] == 127 if len(packed) == 4 else packed == socket.inet_pton(socket.AF_INET6, "::1")
    )
