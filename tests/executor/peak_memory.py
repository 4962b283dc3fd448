"""The peak memory of a process that runs a step over two tasks, by when tensors are sent.

`python tests/executor/peak_memory.py` prints both, and the times of the step.

Task 1 makes large matrices from small vectors, faster than task 0 multiplies with one after
another. Nothing but the schedule keeps them from existing all at once.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import headrace.graph as hr
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.services import RUNTIMES, find_service

TASKS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1")
DEVICES = tuple(f"{task}/device:CPU:0" for task in TASKS)
COUNT, SIZE = 24, 1000  # 4 MB each


def chain_of_received(count: int = COUNT, size: int = SIZE, held: bool = False) -> hr.Graph:
    """A graph with feed `seed` and fetch `out`.

    Args:
      held: whether the large tensors are variables of task 1, initialised by `init`.
    """
    with hr.Graph().as_default() as graph:
        seed = hr.placeholder(hr.float32, [size], name="seed")
        with hr.device(TASKS[1]):
            if held:
                made = [
                    hr.get_variable(f"v{i}", [size, size], initializer=hr.ones_initializer())
                    for i in range(count)
                ]
                hr.group(*[v.initializer for v in made], name="init")
            else:
                made = [
                    hr.reshape(seed, [size, 1]) * hr.add(seed, float(i), name=f"shifted{i}")
                    for i in range(count)
                ]
        with hr.device(TASKS[0]):
            y = hr.reshape(seed, [size, 1]) * seed
            for i in range(count):
                y = hr.tanh(hr.matmul(y, made[i], name=f"read{i}"), name=f"y{i}")
            hr.identity(y, name="out")
    return graph


def config(scheduled: bool) -> bytes:
    made = ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=1)
    made.graph_options.enable_recv_scheduling = scheduled
    made.experimental.placement_simulation = "none"
    return made.SerializeToString()


def peak_kb() -> int:
    """The most memory that the process has had, in KiB."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])


class TwoTasks:
    """Two workers of this process; what passes between them is copied, as between processes."""

    def __init__(self, graph: hr.Graph, options: bytes) -> None:
        self.runtime = find_service(RUNTIMES, "local")()
        self.planner = self.runtime.open_planner(options)
        self.planner.extend(graph.as_graph_def().SerializeToString())
        self.workers = {task: self.runtime.open_worker(task, options) for task in TASKS}
        for worker in self.workers.values():
            worker.open_session("session", options, False)

    def prepare(self, feeds: list[str], fetches: list[str], targets: list[str]) -> Any:
        """A function that runs a step and returns its seconds and results."""
        plan = PartitionPlan.FromString(self.planner.plan(feeds, fetches, targets, DEVICES))
        parts = {
            p.task: self.workers[p.task].register("session", p.graph_def) for p in plan.partition
        }

        def run(*values: np.ndarray) -> tuple[float, list[np.ndarray]]:
            started = time.perf_counter()
            meet = {task: self.runtime.open_rendezvous() for task in TASKS}
            for edge in plan.edge:
                if not edge.send_task:
                    meet[edge.recv_task].send(edge.id, values[edge.feed])
            ends = [meet[task].run(self.workers[task], n, 1) for task, n in parts.items()]
            between = [edge for edge in plan.edge if edge.send_task and edge.recv_task]
            with ThreadPoolExecutor(max(1, len(between))) as pool:
                list(pool.map(lambda edge: self._pass_on(meet, edge), between))
            senders = {edge.id: edge.send_task for edge in plan.edge}
            found = [meet[senders[edge]].recv(edge, 300.0) for edge in plan.fetch]
            for end in ends:
                end(300.0)
            return time.perf_counter() - started, found

        return run

    def _pass_on(self, meet: Mapping[str, Any], edge: PartitionPlan.Edge) -> None:
        value = meet[edge.send_task].recv(edge.id, 300.0)
        meet[edge.recv_task].send(edge.id, value)


def measure(scheduled: bool, held: bool) -> None:
    """Runs a step three times, and prints how it went."""
    tasks = TwoTasks(chain_of_received(held=held), config(scheduled))
    if held:
        tasks.prepare([], [], ["init"])()
    run = tasks.prepare(["seed"], ["out"], [])
    before = peak_kb()
    took = []
    for _ in range(3):
        seconds, (out,) = run(np.full(SIZE, 1e-3, np.float32))
        took.append(seconds)
    peak = (peak_kb() - before) / 1024
    print(f"peak_mb={peak:.0f} seconds={min(took):.3f} sum={float(out.sum()):.6f}")


def in_a_process(scheduled: bool, held: bool = False) -> tuple[float, float, str]:
    """Measures in a process of its own: megabytes above what it had before, seconds, the result."""
    run = subprocess.run(
        [sys.executable, __file__, str(int(scheduled)), str(int(held))],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    found = re.findall(r"peak_mb=(\S+) seconds=(\S+) sum=(\S+)", run.stdout)
    assert found, run.stdout + run.stderr
    return float(found[0][0]), float(found[0][1]), found[0][2]


def main() -> None:
    if len(sys.argv) == 3:
        measure(sys.argv[1] == "1", sys.argv[2] == "1")
        return
    print(f"{COUNT} tensors of {4 * SIZE * SIZE / 1e6:.0f} MB pass from one task to another")
    for held, what in ((False, "made in the step"), (True, "variables")):
        for scheduled, how in ((False, "at once"), (True, "scheduled")):
            peak, seconds, _ = in_a_process(scheduled, held)
            print(f"{what}, {how}: {peak:.0f} MB more at the peak, fastest step {seconds:.3f} s")


if __name__ == "__main__":
    main()
