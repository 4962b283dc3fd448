"""tools/simulate_cluster.py: simulated tasks send what real ones send, and nothing is lost."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

import pytest

from headrace.distributed.native.endpoint import Endpoint
from headrace.formats import errors
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.services import RUNTIMES, find_service

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.append(str(TOOLS))

from simulation.costs import Costs  # noqa: E402
from simulation.events import Clock, Resource  # noqa: E402
from simulation.line_chart import line_chart  # noqa: E402
from simulation.programs import (  # noqa: E402
    dense_model,
    layered_model,
    null_steps,
    plan,
    sparse_model,
    task,
)
from simulation.scaling import lose, prepared, run_to_end  # noqa: E402
from simulation.tasks import SimulatedCluster  # noqa: E402
from simulation.training import Training  # noqa: E402

N_PS, N_WORKERS = 2, 3
NAMES = [*(task("worker", i) for i in range(N_WORKERS)), *(task("ps", i) for i in range(N_PS))]


def sometimes_slow(draw: random.Random) -> float:
    return 5.0 if draw.random() < 0.15 else 1.0 + 0.01 * draw.random()


def trained(model: object, n_workers: int, n_averaged: int, seed: int = 0) -> Training:
    cluster = SimulatedCluster(seed=seed, compute_s=sometimes_slow)
    training = Training(cluster, model, N_PS, n_workers, n_averaged)  # type: ignore[arg-type]
    training.run(12)
    return training


def test_events_run_in_order_and_resources_serve_in_turn() -> None:
    clock, seen = Clock(), []
    for time, name in ((2.0, "c"), (1.0, "a"), (1.0, "b")):
        clock.at(time, seen.append, name)
    clock.run()
    assert seen == ["a", "b", "c"] and clock.now == 2.0
    with pytest.raises(ValueError, match="past"):
        clock.at(1.0, seen.append, "d")
    one, two = Resource(clock), Resource(clock, capacity=2)
    assert [one.use(1.0), one.use(0.5), one.use(1.0, not_before=9.0)] == [3.0, 3.5, 10.0]
    assert [two.use(1.0), two.use(3.0), two.use(1.0)] == [3.0, 5.0, 4.0]


def test_a_seed_decides_all_times() -> None:
    times = [trained(layered_model, 4, 4, seed).step_times(0) for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]


@pytest.mark.parametrize("a_server_dies", [False, True])
@pytest.mark.parametrize("n_averaged", [0, 3])
def test_no_message_is_lost_or_made_up(n_averaged: int, a_server_dies: bool) -> None:
    training = trained(dense_model(1000), 3, n_averaged)
    network = training.cluster.network
    training.cluster.tasks[task("ps", 1)].port.alive = not a_server_dies
    training.is_stopping = True
    training.cluster.clock.run()
    assert sum(network.sent.values()) > 500
    assert network.sent == network.delivered + network.dropped
    assert bool(network.dropped) == a_server_dies


@pytest.mark.parametrize("model", [dense_model(N_PS), dense_model(1000), sparse_model(10**6)])
def test_each_average_has_one_gradient_of_each_worker(model: object) -> None:
    training = trained(model, 3, 3)
    servers = [training.cluster.tasks[task("ps", i)].state for i in range(N_PS)]
    steps = [state["global_step"] for state in servers if "global_step" in state]
    accumulators = [s for state in servers for s in state.values() if hasattr(s, "n_dropped")]
    assert steps == [12] and len(accumulators) >= N_PS
    assert {a.n_dropped for a in accumulators} == {0}
    assert {a.global_step for a in accumulators} == {12}
    assert 3 * 11 <= len(training.steps) <= 3 * 12


def test_backup_workers_shorten_steps_where_there_are_stragglers() -> None:
    alone, backed = trained(layered_model, 6, 6), trained(layered_model, 8, 6)
    assert mean(backed.step_times()) < mean(alone.step_times())
    states = [t.state for t in backed.cluster.tasks.values()]
    dropped = [s.n_dropped for state in states for s in state.values() if hasattr(s, "n_dropped")]
    assert sum(dropped) > 0


@pytest.mark.parametrize("n_averaged", [0, 4])
def test_a_step_carries_the_model_to_each_worker_and_its_gradients_back(n_averaged: int) -> None:
    training = trained(dense_model(1_000_000), 4, n_averaged)
    carried = training.cluster.network.bytes / (2 * 4_000_000 * len(training.steps))
    assert 1 <= carried < 1.2  # the last steps are not over


def test_asynchronous_workers_do_not_wait_for_stragglers() -> None:
    asynchronous, synchronous = trained(layered_model, 6, 0), trained(layered_model, 6, 6)
    assert mean(asynchronous.step_times()) < mean(synchronous.step_times())


def test_a_step_sends_the_frames_that_real_tasks_send() -> None:
    program = null_steps(N_PS, N_WORKERS)
    (signature,) = plan(program, [program.train], NAMES)
    cluster, master, number = prepared(signature)
    before = sum(cluster.network.sent.values())
    assert run_to_end(cluster, master, number).code == 0
    simulated = sum(cluster.network.sent.values()) - before
    assert simulated == 2 * len(signature.partitions) + len(signature.edges)
    assert simulated == _frames_of_real_tasks()


def _frames_of_real_tasks() -> int:
    """Runs the program on workers of this process, and returns the frames of its second step."""
    program = null_steps(N_PS, N_WORKERS)
    config = ConfigProto().SerializeToString()
    runtime = find_service(RUNTIMES, "local")()
    planner = runtime.open_planner(config)
    planner.extend(program.graph.as_graph_def().SerializeToString())
    devices = [f"{name}/device:CPU:0" for name in NAMES]
    init = [op.name for op in program.graph.get_operations() if op.type == "Assign"]
    workers = {name: runtime.open_worker(name, config) for name in NAMES}
    master = Endpoint("/job:master/replica:0/task:0", 100, None, 1000.0, 1000.0)
    number_of = {name: i + 1 for i, name in enumerate(NAMES)} | {"": 0}
    endpoints = {
        name: Endpoint(name, number_of[name], worker, 1000.0, 1000.0)
        for name, worker in workers.items()
    }
    everyone = [master, *endpoints.values()]
    try:
        for i, one in enumerate(everyone):
            for other in everyone[i + 1 :]:
                here, there = socket.socketpair()
                one.add_socket(here.detach(), other.incarnation, other.name, False)
                other.add_socket(there.detach(), one.incarnation, one.name, False)
        for worker in workers.values():
            worker.open_session("session", config, False)
        steps = []
        for targets in (init, [program.train]):
            found = PartitionPlan.FromString(planner.plan([], [], targets, devices))
            participants = []
            for part in found.partition:
                partition = workers[part.task].register("session", part.graph_def)
                here_edges = [e for e in found.edge if part.task in (e.send_task, e.recv_task)]
                peers = {t for e in here_edges for t in (e.send_task, e.recv_task)} - {part.task}
                endpoints[part.task].bind(
                    1,
                    partition,
                    [
                        (e.id, number_of[e.recv_task])
                        for e in here_edges
                        if e.send_task == part.task
                    ],
                    [(number_of[t], t) for t in sorted(peers)],
                )
                participants.append((number_of[part.task], part.task, partition))
            steps.append(master.make_step(1, participants, [], [], []))
        steps[0]([])
        steps[1]([])
        before = _frames(everyone)
        steps[1]([])
        return _frames(everyone) - before
    finally:
        for endpoint in everyone:
            endpoint.close()
        for worker in workers.values():
            worker.close()


def _frames(endpoints: list[Endpoint]) -> int:
    return sum(link["frames_sent"] for endpoint in endpoints for link in endpoint.links())


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_a_lost_task_ends_the_step_on_all_others_in_time(is_cut_off: bool) -> None:
    program = null_steps(N_PS, N_WORKERS)
    (signature,) = plan(program, [program.train], NAMES)
    costs = Costs()
    seconds = lose(signature, task("ps", 1), is_cut_off)
    if is_cut_off:
        assert costs.dead_after_s < seconds < costs.dead_after_s + 2 * costs.heartbeat_s
    else:
        assert 0 < seconds < 0.01


def test_after_a_loss_the_machine_of_the_session_asks_for_the_task() -> None:
    program = null_steps(N_PS, N_WORKERS)
    (signature,) = plan(program, [program.train], NAMES)
    cluster, master, number = prepared(signature)
    master.lose(task("ps", 0))
    assert not master.machine.settled
    step = run_to_end(cluster, master, number)  # the task lives, and says so
    assert step.code == errors.OK and master.machine.settled


def test_a_chart_has_a_line_within_its_frame_for_each_series(tmp_path: Path) -> None:
    series = {"a < b": [(1, 0.5), (10, 20), (100, 300)], "c": [(1, 3), (100, 4)]}
    for log in (False, True):
        path = tmp_path / "chart.svg"
        line_chart(path, "Title", "x", "y", series, log_x=log, log_y=log)
        root = ElementTree.parse(path).getroot()
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        lines = root.findall("{*}polyline")
        assert [len(line.attrib["points"].split()) for line in lines] == [3, 2]
        for line in lines:
            for point in line.attrib["points"].split():
                x, y = map(float, point.split(","))
                assert 0 < x < width and 0 < y < height
        assert "a < b" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_command_prints_tables_and_draws(tmp_path: Path) -> None:
    command = [sys.executable, TOOLS / "simulate_cluster.py", "scale", "--tasks", "5,10"]
    command += ["--figures", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("|")]
    assert [row[0].strip() for row in rows if row[0].strip().isdigit()] == ["5", "10"]
    assert {path.name for path in tmp_path.iterdir()} == {"scale_prepare.svg", "scale_step.svg"}
