"""Simulated tasks: their executors, their sessions of masters, and the cluster that they form."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from simulation.costs import Costs
from simulation.events import Clock, Resource
from simulation.kernels import WAITS, run_kernel
from simulation.network import Kind, Message, Network, Port
from simulation.partitions import Partition, Signature

from headrace.distributed.machines import worker_sessions
from headrace.distributed.machines.leases import Leases

StepKey = tuple[int, int]  # session, step


class SimulatedCluster:
    """Tasks by name, on one clock and network.

    Args:
      seed: of the times that vary.
      compute_s: draws the time of a worker's training step.
    """

    def __init__(
        self,
        costs: Costs = Costs(),  # noqa: B008 - it is frozen
        seed: int = 0,
        compute_s: Callable[[random.Random], float] = lambda _: 0.0,
    ) -> None:
        self.costs, self.seed, self.compute_s = costs, seed, compute_s
        self.clock = Clock()
        self.network = Network(self.clock, costs)
        self.tasks: dict[str, SimulatedTask] = {}
        self.sessions = itertools.count(1)

    def task(self, name: str) -> SimulatedTask:
        """Returns a task, which is made when first asked for."""
        if name not in self.tasks:
            self.tasks[name] = SimulatedTask(name, self)
        return self.tasks[name]


class SimulatedTask:
    """A server: a worker with state, and perhaps a master.

    Attributes:
      masters: by session, what takes the frames of its steps.
      sessions: the state machine of the package.
    """

    def __init__(self, name: str, cluster: SimulatedCluster) -> None:
        self.name, self.cluster = name, cluster
        self.port = Port(name, cluster.clock, self.handle)
        self.cores = Resource(cluster.clock, cluster.costs.cores)
        # Drawn per task, so that the order of events between tasks does not change them.
        self.random = random.Random(f"{cluster.seed} {name}")
        self.incarnation = self.random.getrandbits(62) + 1
        self.masters: dict[int, Any] = {}
        self.state: dict[str, Any] = {}
        self.sessions = worker_sessions.WorkerSessions(Leases(grace_s=60.0))
        self.partitions: dict[int, tuple[Partition, Signature]] = {}
        self._runs: dict[StepKey, _Run] = {}
        self._early: defaultdict[StepKey, dict[int, Any]] = defaultdict(dict)

    def send(self, kind: Kind, target: str, content: Any, size: int = 0) -> None:
        message = Message(kind, self.port, self.cluster.task(target).port, content, size)
        self.cluster.network.send(message)

    def handle(self, message: Message) -> None:
        """Takes a message that has come."""
        if message.kind is Kind.RUN:
            self._on_run(message)
        elif message.kind is Kind.TENSOR:
            self._on_tensor(*message.content)
        elif message.kind is Kind.ABORT:
            self._early.pop(message.content, None)
            if self._runs.pop(message.content, None):
                self.send(Kind.DONE, message.source.name, (message.content, self.name))
        elif message.kind is Kind.DONE:
            key, task = message.content
            self.masters[key[0]].on_done(key, task)
        elif message.kind is Kind.CALL:
            event, reply, signature = message.content
            answer = self._on_call(event, signature)
            self.send(Kind.REPLY, message.source.name, (reply, answer))
        elif message.kind is Kind.PING:
            self.send(Kind.PONG, message.source.name, None)
        elif message.kind is Kind.REPLY:
            reply, answer = message.content
            reply(answer)

    # ---- steps

    def _on_run(self, message: Message) -> None:
        key, number = message.content
        partition, signature = self.partitions[number]
        costs = self.cluster.costs
        start = self.port.io.use(costs.run_s + costs.node_s * len(partition.nodes))
        run = _Run(self, key, message.source.name, partition, signature)
        self._runs[key] = run
        self.cluster.clock.at(start, run.begin, self._early.pop(key, {}))

    def _on_tensor(self, key: StepKey, edge: int, value: Any, is_fetch: bool) -> None:
        if is_fetch:
            return  # its master counts ends, not values
        run = self._runs.get(key)
        if run is None:
            self._early[key][edge] = value
        elif run.begun:
            run.arrive(edge, value)
        else:
            run.early[edge] = value

    def ended(self, run: _Run) -> None:
        """Reports a run that is over, unless it was aborted."""
        if self._runs.pop(run.key, None):
            self.send(Kind.DONE, run.master, (run.key, self.name))

    # ---- calls

    def _on_call(self, event: worker_sessions.Event, signature: Signature | None) -> Any:
        """Does what the state machine says. Returns: its answer, Accept or Reject."""
        answer: Any = None
        for instruction in self.sessions.handle(event):
            if isinstance(instruction, worker_sessions.Open):
                answer = worker_sessions.Accept()
            elif isinstance(instruction, worker_sessions.Register):
                assert signature is not None
                number = len(self.partitions)
                self.partitions[number] = signature.partitions[self.name], signature
                registered = worker_sessions.Registered(
                    instruction.session, instruction.signature, number
                )
                answer = self.sessions.handle(registered)[0]
            elif isinstance(instruction, worker_sessions.Accept | worker_sessions.Reject):
                answer = instruction
        return answer


class _Run:
    """A partition in a step: each node runs when its inputs are there."""

    def __init__(
        self, task: SimulatedTask, key: StepKey, master: str, partition: Partition, of: Signature
    ) -> None:
        self.key, self.master = key, master
        self.begun = False
        self.early: dict[int, Any] = {}
        self._task, self._partition, self._signature = task, partition, of
        self._pending = partition.pending.copy()
        self._values: list[Any] = [None] * len(self._pending)
        self._left = len(self._pending)
        self._compute_s = -1.0  # not drawn yet

    def begin(self, values: dict[int, Any]) -> None:
        self.begun = True
        if not self._left:
            self._task.ended(self)
        for i, pending in enumerate(self._partition.pending):
            if not pending:
                self._ready(i)
        for edge, value in {**values, **self.early}.items():
            self.arrive(edge, value)

    def arrive(self, edge: int, value: Any) -> None:
        self._done(self._partition.recvs[edge], value)

    def _ready(self, i: int) -> None:
        node = self._partition.nodes[i]
        cluster = self._task.cluster
        seconds = node.work_bytes * cluster.costs.touched_byte_s
        if node.share:
            if self._compute_s < 0:
                self._compute_s = cluster.compute_s(self._task.random)
            seconds += node.share * self._compute_s
        if seconds > cluster.costs.node_s:  # shorter ones are in the time of the partition
            cluster.clock.at(self._task.cores.use(seconds), self._run, i)
        else:
            self._run(i)

    def _run(self, i: int) -> None:
        node = self._partition.nodes[i]
        args = [self._values[source] for source in node.inputs]
        if node.op == "_Send":
            edge = self._signature.edges[node.edge]
            content = self.key, node.edge, args[0], not edge.target
            self._task.send(Kind.TENSOR, edge.target or self.master, content, edge.size)
            self._done(i, None)
            return
        value = run_kernel(node, args, self._task.state, lambda value: self._done(i, value))
        if value is not WAITS:
            self._done(i, value)

    def _done(self, i: int, value: Any) -> None:
        self._values[i] = value
        self._left -= 1
        for consumer in self._partition.consumers[i]:
            self._pending[consumer] -= 1
            if not self._pending[consumer]:
                self._ready(consumer)
        if not self._left:
            self._task.ended(self)
