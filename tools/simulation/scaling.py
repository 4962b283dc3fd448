"""One client with n tasks: what planning, registering and a step cost its master.

Planner, requests and state machines are the real ones, and their CPU time is measured here; the
time of a step and its messages come from the simulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simulation.heartbeats import Heartbeats
from simulation.masters import SimulatedMaster, SimulatedStep
from simulation.network import Kind, Port
from simulation.partitions import Signature, bytes_of_tensors, signature_of
from simulation.programs import null_steps, task
from simulation.tasks import SimulatedCluster

from headrace.distributed.machines import master_session
from headrace.distributed.master.planned_signature import Names, PlannedSignature
from headrace.distributed.native.step_machine import StepMachine
from headrace.formats import errors
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.worker_service_pb2 import TaskInstance
from headrace.formats.services import RUNTIMES, find_service

N_STEPS = 3
MASTER = task("master", 0)


@dataclass(frozen=True)
class Row:
    """Numbers of a cluster of n tasks; seconds unless said. What is measured is CPU time."""

    n_tasks: int
    n_ps: int
    n_nodes: int
    n_edges: int
    plan_s: float  # measured
    plan_bytes: int
    requests_s: float  # measured: to make what each task is asked to register
    session_machine_s: float  # measured: the machine of the session, until the signature is ready
    step_machine_s: float  # measured: the machine of a step
    master_cpu_s: float  # of frames and the client's call, per step
    frames: float  # per step, of the whole cluster
    master_frames: float  # per step, to and from the master
    step_s: float
    prepare_s: float  # from the plan to the first step
    killed_s: float  # from the death of a task's process to the end of the step on the others
    cut_off_s: float  # likewise, where a machine falls silent


def scale_row(n_tasks: int, n_ps: int) -> Row:
    """Plans and runs null steps of n_ps parameter servers and the workers that are left."""
    names = [
        *(task("worker", i) for i in range(n_tasks - n_ps)),
        *(task("ps", i) for i in range(n_ps)),
    ]
    program = null_steps(n_ps, n_tasks - n_ps)
    planner = find_service(RUNTIMES, "local")().open_planner(ConfigProto().SerializeToString())
    planner.extend(program.graph.as_graph_def().SerializeToString())
    devices = [f"{name}/device:CPU:0" for name in names]
    plan_s, wire = _timed(lambda: planner.plan([], [], [program.train], devices))
    plan = PartitionPlan.FromString(wire)
    signature = signature_of(wire, bytes_of_tensors(program.graph), {})

    cluster, master, number = prepared(signature)
    network, prepare_s = cluster.network, cluster.clock.now
    busy_before, sent_before = master.task.port.io.busy_s, sum(network.sent.values())
    master_before = _frames_of(master.task.port, cluster)
    for _ in range(N_STEPS):
        run_to_end(cluster, master, number)
    step_s = (cluster.clock.now - prepare_s) / N_STEPS
    killed_s = lose(signature, names[-1], is_cut_off=False)
    cut_off_s = lose(signature, names[-1], is_cut_off=True)
    return Row(
        n_tasks, n_ps, len(program.graph.get_operations()), len(plan.edge), plan_s, len(wire),
        requests_s=_requests_s(plan),
        session_machine_s=_timed(lambda: _open_session(names))[0],
        step_machine_s=min(_timed(lambda: _run_step(n_tasks))[0] for _ in range(5)),
        master_cpu_s=(master.task.port.io.busy_s - busy_before) / N_STEPS,
        frames=(sum(network.sent.values()) - sent_before) / N_STEPS,
        master_frames=(_frames_of(master.task.port, cluster) - master_before) / N_STEPS,
        step_s=step_s,
        prepare_s=prepare_s,
        killed_s=killed_s,
        cut_off_s=cut_off_s,
    )  # fmt: skip


def prepared(signature: Signature) -> tuple[SimulatedCluster, SimulatedMaster, int]:
    """Returns a cluster with a master that is ready to run a signature, whose number comes last."""
    cluster = SimulatedCluster()
    master = SimulatedMaster(cluster.task(MASTER))
    ready: list[int] = []
    master.prepare(signature, ready.append)
    cluster.clock.run()
    return cluster, master, ready[0]


def _frames_of(port: Port, cluster: SimulatedCluster) -> int:
    """Returns the messages that a task has sent, or others to it."""
    others = sum(task.port.n_sent[port] for task in cluster.tasks.values())
    return sum(port.n_sent.values()) + others


def run_to_end(cluster: SimulatedCluster, master: SimulatedMaster, number: int) -> SimulatedStep:
    """Runs a step. Returns: the step, after its end."""
    ended: list[SimulatedStep] = []
    master.run(number, ended.append)
    cluster.clock.run(until=lambda: bool(ended))
    return ended[0]


def lose(signature: Signature, name: str, is_cut_off: bool) -> float:
    """Loses a task during a step.

    Args:
      is_cut_off: the task falls silent; otherwise its process ends, and the connections with it.
    Returns: the seconds until the step has ended on all other tasks.
    Raises: RuntimeError if it ends otherwise than with UNAVAILABLE.
    """
    cluster, master, number = prepared(signature)
    ended: list[SimulatedStep] = []

    def lost(task: str, peer: str) -> None:
        if task == MASTER:
            master.lose(peer)

    master.run(number, ended.append)
    received = cluster.network.delivered
    cluster.clock.run(until=lambda: received[Kind.RUN] > 0)
    cluster.task(name).port.alive = False
    lost_at = cluster.clock.now
    if is_cut_off:
        links = [(MASTER, task) for task in signature.partitions]
        Heartbeats(cluster, links, lost)
    else:
        cluster.clock.at(lost_at + cluster.costs.latency_s, master.lose, name)
    cluster.clock.run(until=lambda: bool(ended))
    if not ended or ended[0].code != errors.UNAVAILABLE:
        raise RuntimeError(f"a step that lost {name} did not end with UNAVAILABLE")
    return cluster.clock.now - lost_at


def _requests_s(plan: PartitionPlan) -> float:
    signature = PlannedSignature(1, Names((), (), ()), plan, feed_dtypes=(), devices=())
    instances = {
        name: TaskInstance(task=name, address="10.0.0.1:2222", incarnation=i + 1)
        for i, name in enumerate(signature.tasks)
    }
    requests = lambda: [signature.register_request(1, name, instances) for name in signature.tasks]  # noqa: E731
    return _timed(requests)[0]


def _open_session(names: list[str]) -> None:
    """The events of a session's first signature; the shell asks after each if it is settled."""
    machine = master_session.MasterSession()

    def tell(event: master_session.Event) -> bool:
        machine.handle(event)
        return machine.settled

    tell(master_session.Prepare(1, tuple(names)))
    for i, name in enumerate(names):
        tell(master_session.Opened(name, i + 1))
    for i, name in enumerate(names):
        tell(master_session.Registered(1, name, i))
    if not machine.signatures[1].ready:
        raise RuntimeError("the signature is not ready")


def _run_step(n: int) -> None:
    machine = StepMachine(n)
    machine.started()
    for i in range(n):
        machine.ended(i, 0)
    if not machine.finished:
        raise RuntimeError("the step has not ended")


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Returns the seconds of CPU time of a call, and what it returns."""
    begin = time.process_time()
    result = action()
    return time.process_time() - begin, result
