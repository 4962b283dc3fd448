"""Ports that are kept free for a server that starts later."""

from __future__ import annotations

import socket

# Sockets live as long as the process.
_held: list[socket.socket] = []


def reserving_socket(host: str, port: int = 0) -> socket.socket:
    """Binds a socket that reserves a port without listening on it.

    The kernel gives the port to no other client or server that lets it choose. A server that names
    the port can listen on it meanwhile, if it sets SO_REUSEADDR, as gRPC and most servers do.

    Args:
      port: 0: the kernel chooses.
    Raises: OSError if the port is in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserving = socket.socket(family, socket.SOCK_STREAM)
    try:
        reserving.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserving.bind((host, port))
    except OSError:
        reserving.close()
        raise
    return reserving


def reserve_port(host: str = "0.0.0.0") -> int:
    """Reserves a port of this host for as long as this process lives, also through `exec`.

    Raises: OSError if there is no free port.
    """
    reserving = reserving_socket(host)
    reserving.set_inheritable(True)
    _held.append(reserving)
    port: int = reserving.getsockname()[1]
    return port
