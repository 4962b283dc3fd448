"""What the sessions of a process share: channels, and an endpoint for links to masters."""

from __future__ import annotations

import atexit
import os
import secrets
import socket

from headrace.distributed.native.endpoint import Endpoint
from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.links import Links
from headrace.distributed.rpc.settings import Settings, settings_from_environment
from headrace.formats.fork_lock import ForkLock


class ClientProcess:
    """This process as a client, with one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self.channels = Channels(settings)
        name = f"client {os.getpid()} on {socket.gethostname()}"
        self.endpoint = Endpoint(
            name,
            secrets.randbits(62) + 1,
            None,
            settings.heartbeat_s,
            settings.dead_after_s,
        )
        self.links = Links(self.endpoint, self.channels, None)
        self.threads = DaemonThreads("headrace_client")

    def close(self) -> None:
        self.links.close()
        self.channels.close()


_making = ForkLock()
_clients: dict[Settings, ClientProcess] = {}


def client_process() -> ClientProcess:
    """Returns the client of this process for the settings that the environment has now."""
    settings = settings_from_environment()
    with _making.current:
        found = _clients.get(settings)
        if found is None:
            found = _clients[settings] = ClientProcess(settings)
        return found


def _end() -> None:
    for client in list(_clients.values()):
        client.close()
    _clients.clear()


atexit.register(_end)
# A child cannot use the threads and sockets of its parent.
_parents: list[ClientProcess] = []


def _after_fork() -> None:
    _parents.extend(_clients.values())  # not destroyed, since their threads are not there
    _clients.clear()


os.register_at_fork(after_in_child=_after_fork)
