"""Workers of several tasks in this process, whose endpoints are linked by a chosen plane."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.distributed.native.endpoint import Endpoint, Stream
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.services import RUNTIMES, find_service

PLANES = ("local", "shm", "uds", "tcp", "stream")
TASKS = tuple(f"/job:worker/replica:0/task:{i}" for i in range(3))
DEVICES = tuple(f"{task}/device:CPU:{i}" for task in TASKS for i in range(2))
CONFIG = ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True).SerializeToString()
SESSION = 77


def connect(a: Endpoint, b: Endpoint, plane: str) -> None:
    """Links two endpoints of this process."""
    if plane == "local":
        a.add_local(b)
    elif plane == "stream":
        here, there = a.add_stream(b.incarnation, b.name), b.add_stream(a.incarnation, a.name)
        for one, other in ((here, there), (there, here)):
            threading.Thread(target=_carry, args=(one, other), daemon=True).start()
    else:
        if plane == "tcp":
            with socket.create_server(("127.0.0.1", 0)) as listener:
                one = socket.create_connection(listener.getsockname())
                other, _ = listener.accept()
        else:
            one, other = socket.socketpair()
        a.add_socket(one.detach(), b.incarnation, b.name, plane == "shm")
        b.add_socket(other.detach(), a.incarnation, a.name, plane == "shm")


def _carry(source: Stream, sink: Stream) -> None:
    try:
        while True:
            data = source.next(0.2)
            if data:
                sink.feed(data)
    except (errors.UnavailableError, MemoryError):
        source.close("its bytes are not carried any more")
        sink.close("the other side has closed")


class LinkedTasks:
    """A session over workers of this process, each with two devices; task 0 is the master."""

    def __init__(self, graph_def: GraphDef, plane: str) -> None:
        self.runtime = find_service(RUNTIMES, "local")()
        self.planner = self.runtime.open_planner(CONFIG)
        self.planner.extend(graph_def.SerializeToString())
        self.workers = {task: self.runtime.open_worker(task, CONFIG) for task in TASKS}
        self.endpoints = {
            task: Endpoint(task, 1000 + i, worker)
            for i, (task, worker) in enumerate(self.workers.items())
        }
        self.plane = plane
        for i, one in enumerate(TASKS):
            for other in TASKS[i + 1 :]:
                self.link(one, other)
        for worker in self.workers.values():
            worker.open_session("session", CONFIG, False)
        self.steps: dict[Any, Any] = {}
        self.numbers: dict[Any, dict[str, int]] = {}  # step -> task -> partition

    def link(self, one: str, other: str) -> None:
        """Makes a link between two tasks."""
        connect(self.endpoints[one], self.endpoints[other], self.plane)

    def cut(self, one: str, other: str, reason: str) -> None:
        """Ends the links between two tasks."""
        self.endpoints[one].close_link(self.endpoints[other].incarnation, reason)

    @property
    def master(self) -> Endpoint:
        return self.endpoints[TASKS[0]]

    def step(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str] = ()
    ) -> Any:
        """Returns the step of a signature."""
        key = tuple(feeds), tuple(fetches), tuple(targets)
        if key not in self.steps:
            self.steps[key] = self._make(key)
        return self.steps[key]

    def _make(self, key: Any) -> Any:
        plan = PartitionPlan.FromString(self.planner.plan(*key, DEVICES))
        number_of = {task: e.incarnation for task, e in self.endpoints.items()}
        participants, place = [], {}
        for part in plan.partition:
            number = self.workers[part.task].register("session", part.graph_def)
            here = [e for e in plan.edge if part.task in (e.send_task, e.recv_task)]
            peers = {t for e in here for t in (e.send_task, e.recv_task)} - {"", part.task}
            self.endpoints[part.task].bind(
                SESSION,
                number,
                [(e.id, number_of.get(e.recv_task, 0)) for e in here if e.send_task == part.task],
                [(number_of[t], t) for t in sorted(peers)],
            )
            place[part.task] = len(participants)
            participants.append((number_of[part.task], part.task, number))
        fed = [e for e in plan.edge if not e.send_task]
        dtypes = [self.planner.tensor_spec(name)[1] for name in key[0]]
        for edge in fed:
            dtypes[edge.feed] = edge.dtype
        step = self.master.make_step(
            SESSION, participants, [(e.id, e.feed, place[e.recv_task]) for e in fed],
            list(plan.fetch), dtypes,
        )  # fmt: skip
        self.numbers[step] = {task: number for _, task, number in participants}
        return step

    def run(
        self, fetches: Sequence[str], feeds: Mapping[str, Any], targets: Sequence[str] = ()
    ) -> list[Any]:
        """Runs one step; the values of the fetches."""
        step = self.step(list(feeds), fetches, targets)
        result: list[Any] = step([np.asarray(value) for value in feeds.values()])
        return result

    def close(self) -> None:
        for endpoint in self.endpoints.values():
            endpoint.close()
        for worker in self.workers.values():
            worker.close()
