"""Hosts in network namespaces of this machine, on one switch, whose cables tests pull and plug.

Needs root and Debian's iproute2; `can_make_hosts` says whether they work here.
"""

from __future__ import annotations

import itertools
import os
import subprocess

_numbers = itertools.count()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


class Hosts:
    """Hosts by name, "ps:0"; each has an address, a loopback interface, a cable to the switch."""

    def __init__(self) -> None:
        self._prefix = f"hr{os.getpid()}x{next(_numbers)}"
        self._names: list[str] = []
        self._namespaces = [f"{self._prefix}s"]
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "switch", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "switch", "up")

    @property
    def _switch(self) -> str:
        return self._namespaces[0]

    def add(self, name: str) -> str:
        """Adds a host. Returns: its address."""
        number = len(self._namespaces)
        namespace, cable = f"{self._prefix}h{number}", f"cable{number}"
        self._names.append(name)
        self._namespaces.append(namespace)
        _ip("netns", "add", namespace)
        _ip(
            "-n", self._switch, "link", "add", cable, "type", "veth",
            "peer", "name", "eth0", "netns", namespace,
        )  # fmt: skip
        _ip("-n", self._switch, "link", "set", cable, "master", "switch", "up")
        _ip("-n", namespace, "addr", "add", f"10.201.0.{number}/24", "dev", "eth0")
        for interface in ("eth0", "lo"):
            _ip("-n", namespace, "link", "set", interface, "up")
        return f"10.201.0.{number}"

    def command(self, name: str) -> list[str]:
        """The words before a command that make it run on a host."""
        return ["ip", "netns", "exec", self._namespaces[1 + self._names.index(name)]]

    def pull(self, name: str) -> None:
        """Pulls the cable of a host: what was sent is lost, and nobody is told."""
        self._set_cable(name, "down")

    def plug(self, name: str) -> None:
        """Plugs it in again."""
        self._set_cable(name, "up")

    def _set_cable(self, name: str, state: str) -> None:
        cable = f"cable{1 + self._names.index(name)}"
        _ip("-n", self._switch, "link", "set", cable, state)

    def close(self) -> None:
        """Removes all of them; their processes have ended."""
        for namespace in self._namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, timeout=30)


def can_make_hosts() -> bool:
    """Whether this machine allows it."""
    hosts = None
    try:
        hosts = Hosts()
        hosts.add("one")
        subprocess.run([*hosts.command("one"), "true"], check=True, timeout=30)
        return True
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        if hosts is not None:
            hosts.close()
