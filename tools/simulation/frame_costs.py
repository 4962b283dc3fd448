"""Measures what the simulator assumes of a task: the CPU time of frames and of partitions.

A master here and the workers of many tasks in a child process run real steps over TCP on the
loopback. CPU time is per process, so that waiting and other programs do not count.
"""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import headrace.graph as hr
from headrace.distributed.native.endpoint import Endpoint
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.services import RUNTIMES, find_service

SESSION = 1
N_VALUES, N_ELEMENTS = 200, 25_000_000  # of the steps that send scalars, and 100 MB
N_CHAINED = 1000


def frame_costs(n_tasks: int = 60, repeat: int = 200) -> dict[str, float]:
    """Returns the seconds of CPU of each kind of work, by name.

    Args:
      n_tasks: that take part in the step without tensors.
      repeat: number of steps.
    """
    costs: dict[str, float] = {}
    with _Tasks(n_tasks) as tasks:
        null, one = tasks.step([f"nop{i}:0" for i in range(n_tasks)]), tasks.step(["nop0:0"])
        many, few = tasks.cpu(null, repeat), tasks.cpu(one, repeat)
        wall = time.perf_counter()
        for _ in range(repeat):
            one([])
        costs["null step, wall time"] = (time.perf_counter() - wall) / repeat
        share = 1 / (n_tasks - 1)
        costs["master: RUN, value and DONE of a task"] = (many[0] - few[0]) * share
        costs["worker: RUN, value and DONE"] = (many[1] - few[1]) * share
        costs["client and master: a step of one task"] = few[0]
        chain = tasks.cpu(tasks.step(["chain:0"]), repeat)
        costs["a node behind another"] = (chain[1] - few[1]) / N_CHAINED
        values = tasks.cpu(tasks.step([f"value{i}:0" for i in range(N_VALUES)]), repeat)
        costs["a value received"] = (values[0] - few[0]) / N_VALUES
        costs["a value sent"] = (values[1] - few[1]) / N_VALUES
        dense = tasks.step(["dense:0"])
        tasks.cpu(dense, 3)
        large = tasks.cpu(dense, 10)
        costs["a byte received"] = (large[0] - few[0]) / (4 * N_ELEMENTS)
        costs["a byte sent"] = (large[1] - few[1]) / (4 * N_ELEMENTS)
    return costs


def link_bytes(n: int = 400) -> float:
    """Returns by how much a link makes a process grow, without the buffers of the kernel."""
    one, other = Endpoint("one", 1), Endpoint("other", 2)
    before = _resident_bytes()
    for _ in range(n):
        here, there = socket.socketpair()
        one.add_socket(here.detach(), 2, "other", False)
        other.add_socket(there.detach(), 1, "one", False)
    grown = _resident_bytes() - before
    one.close()
    other.close()
    return grown / (2 * n)


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class _Tasks:
    """A master here and tasks in a child, linked over TCP."""

    def __init__(self, n: int) -> None:
        self.master = Endpoint("/job:master/replica:0/task:0", 1)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            command = [sys.executable, __file__, str(n), str(listener.getsockname()[1])]
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for i in range(n):
                connection, _ = listener.accept()
                self.master.add_socket(connection.detach(), 2 + i, _task(i), False)

    def ask(self, *question: Any) -> Any:
        assert self.child.stdin and self.child.stdout
        print(json.dumps(question), file=self.child.stdin, flush=True)
        return json.loads(self.child.stdout.readline())

    def step(self, fetches: list[str]) -> Any:
        """Returns the step of some fetches, whose partitions are registered."""
        participants, edges = self.ask("register", fetches)
        return self.master.make_step(SESSION, participants, [], edges, [])

    def cpu(self, step: Callable[[list[Any]], Any], repeat: int) -> tuple[float, float]:
        """Returns the seconds of CPU per step of the master and of the tasks."""
        step([])
        here, there = time.process_time(), self.ask("cpu")
        for _ in range(repeat):
            step([])
        return (
            (time.process_time() - here) / repeat,
            (self.ask("cpu") - there) / repeat,
        )

    def __enter__(self) -> _Tasks:
        return self

    def __exit__(self, *error: object) -> None:
        self.child.communicate()
        self.master.close()


def _task(i: int) -> str:
    return f"/job:worker/replica:0/task:{i}"


def _serve(n: int, port: int) -> None:
    """The child: registers and measures what its parent asks for, until there is no more."""
    graph = hr.Graph()
    with graph.as_default():
        for i in range(n):
            with hr.device(_task(i)):
                hr.constant(1.0, name=f"nop{i}")
        with hr.device(_task(0)):
            for i in range(N_VALUES):
                hr.identity(hr.placeholder_with_default(float(i), []), name=f"value{i}")
            hr.identity(hr.zeros([N_ELEMENTS]), name="dense")
            chain = hr.random_uniform([])
            for i in range(N_CHAINED):
                chain = hr.tanh(chain) if i % 2 else hr.add(chain, chain)
            hr.identity(chain, name="chain")
    runtime = find_service(RUNTIMES, "local")()
    planner = runtime.open_planner(ConfigProto().SerializeToString())
    planner.extend(graph.as_graph_def().SerializeToString())
    config = ConfigProto(intra_op_parallelism_threads=1).SerializeToString()
    workers, endpoints = {}, {}
    for i in range(n):
        workers[_task(i)] = runtime.open_worker(_task(i), config)
        workers[_task(i)].open_session("session", config, False)
        endpoints[_task(i)] = Endpoint(_task(i), 2 + i, workers[_task(i)])
        connection = socket.create_connection(("127.0.0.1", port))
        endpoints[_task(i)].add_socket(connection.detach(), 1, "the master", False)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        if what == "cpu":
            print(json.dumps(time.process_time()), flush=True)
            continue
        devices = [f"{task}/device:CPU:0" for task in endpoints]
        plan = PartitionPlan.FromString(planner.plan([], arguments[0], [], devices))
        participants = []
        for part in plan.partition:
            number = workers[part.task].register("session", part.graph_def)
            sent = [(edge.id, 0) for edge in plan.edge if edge.send_task == part.task]
            endpoints[part.task].bind(SESSION, number, sent, [])
            participants.append((endpoints[part.task].incarnation, part.task, number))
        print(json.dumps([participants, list(plan.fetch)]), flush=True)
    for endpoint in endpoints.values():
        endpoint.close()
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
