"""The devices of this machine."""

from __future__ import annotations

from typing import Any

from headrace.graph.client.session import Session
from headrace.graph.framework.graph import Graph
from headrace.graph.typing.aliases import Proto


def list_local_devices(session_config: Proto | None = None) -> list[Any]:
    """Returns the DeviceAttributes messages of the devices of a new session.

    Args:
      session_config: its ConfigProto.
    """
    with Session(graph=Graph(), config=session_config) as session:
        return session.list_devices()
