"""Runs a graph as partitions on workers of several tasks in this process."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.services import RUNTIMES, find_service

TASKS = tuple(f"/job:worker/replica:0/task:{i}" for i in range(3))
DEVICES = tuple(f"{task}/device:CPU:{i}" for task in TASKS for i in range(2))
CONFIG = ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True).SerializeToString()


class Tasks:
    """A session over workers of this process, each a task with two devices.

    Args:
      devices: of all workers, as the config makes them.
    """

    def __init__(
        self, graph_def: GraphDef, config: bytes = CONFIG, devices: Sequence[str] = DEVICES
    ) -> None:
        self.devices = list(devices)
        self.runtime = find_service(RUNTIMES, "local")()
        self.planner = self.runtime.open_planner(config)
        self.planner.extend(graph_def.SerializeToString())
        self.workers = {task: self.runtime.open_worker(task, config) for task in TASKS}
        for worker in self.workers.values():
            worker.open_session("session", config, False)
        self.plans: dict[Any, tuple[PartitionPlan, dict[str, int]]] = {}
        self.steps = 0

    def plan(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str] = ()
    ) -> tuple[PartitionPlan, dict[str, int]]:
        """Returns the plan of a signature, and the numbers of its partitions by task."""
        key = tuple(feeds), tuple(fetches), tuple(targets)
        if key not in self.plans:
            plan = PartitionPlan.FromString(
                self.planner.plan(feeds, fetches, targets, self.devices)
            )
            numbers = {
                part.task: self.workers[part.task].register("session", part.graph_def)
                for part in plan.partition
            }
            self.plans[key] = plan, numbers
        return self.plans[key]

    def run(
        self,
        fetches: Sequence[str],
        feeds: Mapping[str, Any],
        targets: Sequence[str] = (),
        traces: list[bytes] | None = None,
    ) -> list[Any]:
        """Runs one step; the values of the fetches. traces: gets the RunMetadata of each task."""
        plan, numbers = self.plan(list(feeds), fetches, targets)
        values = list(feeds.values())
        rendezvous = self.runtime.open_rendezvous()
        self.steps += 1
        for edge in plan.edge:
            if not edge.send_task:
                rendezvous.send(edge.id, np.asarray(values[edge.feed]))
        ends = [
            rendezvous.run(self.workers[task], number, self.steps, traces is not None)
            for task, number in numbers.items()
        ]
        try:
            found = {e: rendezvous.recv(e) for e in set(plan.fetch) if e >= 0}
        finally:
            failed: list[errors.OpError] = []
            for end in ends:  # all of them, so that the next step meets nothing of this one
                try:
                    metadata = end(30.0)
                except errors.OpError as error:
                    failed.append(error)
                    continue
                if traces is not None:
                    traces.append(metadata)
            if failed:
                raise failed[0]
        return [found[e] if e >= 0 else values[-1 - e] for e in plan.fetch]

    def close(self) -> None:
        for worker in self.workers.values():
            worker.close()


def scattered(graph: hr.Graph, seed: int, devices: Sequence[str] = DEVICES) -> GraphDef:
    """A graph with each node on a random device of all tasks."""
    rng = random.Random(seed)
    graph_def: GraphDef = graph.as_graph_def()
    for node in graph_def.node:
        node.device = rng.choice(devices)
    return graph_def
