"""A signature that is planned: what each of its tasks registers, and the step of its master."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from headrace.distributed.native.endpoint import Endpoint
from headrace.distributed.native.step import Step
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.worker_service_pb2 import RegisterGraphRequest, TaskInstance


@dataclass(frozen=True)
class Names:
    """Feeds, fetches and targets of a signature, by name."""

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]


@dataclass
class _Part:
    """What one task has of a plan."""

    graph_def: bytes
    sends: list[tuple[int, str]] = field(default_factory=list)  # edge, receiver ("": the master)
    peers: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class PlannedSignature:
    """The plan of one signature.

    Attributes:
      number: unique in its session.
      feed_dtypes: DataType by feed.
      devices: of all tasks, as they were known when it was planned.
    """

    number: int
    names: Names
    plan: PartitionPlan
    feed_dtypes: tuple[int, ...]
    devices: tuple[str, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that take part, in the order of the plan."""
        return tuple(part.task for part in self.plan.partition)

    @property
    def may_move(self) -> bool:
        """Whether some node might run on several devices."""
        return self.plan.HasField("placement")

    def places(self) -> dict[str, str]:
        """Returns the device of each node by name; _Send and _Recv have names of their own."""
        return {
            node.name: node.device
            for part in self.plan.partition
            for node in GraphDef.FromString(part.graph_def).node
        }

    @cached_property
    def _parts(self) -> dict[str, _Part]:
        parts = {part.task: _Part(part.graph_def) for part in self.plan.partition}
        for edge in self.plan.edge:
            source, target = edge.send_task, edge.recv_task
            if source:
                parts[source].sends.append((edge.id, target))
            if source and target:
                parts[source].peers.add(target)
                parts[target].peers.add(source)
        return parts

    def peers_of(self, task: str) -> list[str]:
        """Returns the tasks that a task sends to or receives from."""
        return sorted(self._parts[task].peers)

    def register_request(
        self, session: int, task: str, instances: Mapping[str, TaskInstance]
    ) -> RegisterGraphRequest:
        """Returns what a task is asked to register.

        Args:
          instances: by name, of all tasks that take part.
        """
        part = self._parts[task]
        request = RegisterGraphRequest(
            session=session, signature=self.number, graph_def=part.graph_def
        )
        for edge, receiver in part.sends:
            incarnation = instances[receiver].incarnation if receiver else 0
            request.destination.add(edge=edge, incarnation=incarnation)
        request.peer.extend(instances[peer] for peer in self.peers_of(task))
        return request

    def step(
        self,
        endpoint: Endpoint,
        session: int,
        instances: Mapping[str, TaskInstance],
        partitions: Mapping[str, int],
    ) -> Step:
        """Returns the step, whose results are the fetches that are not fed.

        Args:
          partitions: by task, the numbers that registering gave.
        """
        place = {task: i for i, task in enumerate(self.tasks)}
        return endpoint.make_step(
            session,
            [(instances[task].incarnation, task, partitions[task]) for task in self.tasks],
            [
                (edge.id, edge.feed, place[edge.recv_task])
                for edge in self.plan.edge
                if not edge.send_task
            ],
            [edge for edge in self.plan.fetch if edge >= 0],
            list(self.feed_dtypes),
        )

    @property
    def fed_fetches(self) -> list[tuple[int, int]]:
        """Pairs (place in the fetches, number of the feed) of fetches that are fed."""
        return [(i, -1 - edge) for i, edge in enumerate(self.plan.fetch) if edge < 0]

    def fetch_dtypes(self) -> Sequence[int]:
        """Returns the DataType of each fetch."""
        by_edge = {edge.id: edge.dtype for edge in self.plan.edge}
        return [by_edge[e] if e >= 0 else self.feed_dtypes[-1 - e] for e in self.plan.fetch]
