"""Signs of life on links, by the rules of native/byte_link.hpp and endpoint_links.hpp."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulation.network import Kind
from simulation.tasks import SimulatedCluster, SimulatedTask


class Heartbeats:
    """Keeps links alive, and reports those whose peer has been silent for too long.

    Args:
      links: pairs of names of tasks.
      lost: called with the name of a task and of the peer that it does not hear.
    """

    def __init__(
        self,
        cluster: SimulatedCluster,
        links: Iterable[tuple[str, str]],
        lost: Callable[[str, str], None],
    ) -> None:
        self._cluster, self._lost = cluster, lost
        self._beat_s = min(cluster.costs.heartbeat_s, cluster.costs.dead_after_s / 4)
        peers: dict[str, list[SimulatedTask]] = {}
        for one, other in links:
            peers.setdefault(one, []).append(cluster.task(other))
            peers.setdefault(other, []).append(cluster.task(one))
        self._heard_before = cluster.clock.now  # at the latest
        for name, found in peers.items():
            first = cluster.clock.now + self._beat_s * cluster.task(name).random.random()
            cluster.clock.at(first, self._beat, cluster.task(name), found, {})

    def _beat(
        self, task: SimulatedTask, peers: list[SimulatedTask], sent_before: dict[str, int]
    ) -> None:
        clock, dead_after_s = self._cluster.clock, self._cluster.costs.dead_after_s
        if not task.port.alive:
            return
        for peer in list(peers):
            silence = clock.now - task.port.heard.get(peer.port, self._heard_before)
            if silence > dead_after_s:
                peers.remove(peer)
                self._lost(task.name, peer.name)
                continue
            asks = silence > dead_after_s / 2
            if asks or task.port.n_sent[peer.port] == sent_before.get(peer.name, 0):
                task.send(Kind.PING if asks else Kind.PONG, peer.name, None)
            sent_before[peer.name] = task.port.n_sent[peer.port]
        clock.at(clock.now + self._beat_s, self._beat, task, peers, sent_before)
