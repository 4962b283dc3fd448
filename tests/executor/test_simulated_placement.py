"""Nodes that may run on several devices are placed by the simulation of a step (§3.2.1).

Modules: passes/place, passes/colocation, passes/device_sets, passes/device_table,
passes/placement_config, passes/simulate_placement, passes/simulated_step, passes/state_devices.

`HEADRACE_PLACEMENTS=1000 pytest tests/executor/test_simulated_placement.py` tries many.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_graphs import (
    NONE,
    ONE,
    ONE_EACH,
    TASKS,
    config,
    devices_of,
    planner,
    report,
    trace_of,
)
from programs_over_tasks import compare_with_one_device
from random_programs import Program, programs
from worker_steps import DEVICES, Tasks

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import ConfigProto

COUNT = int(os.environ.get("HEADRACE_PLACEMENTS", "40"))


def _branches(size: int, count: int = 2, length: int = 4) -> hr.Graph:
    """Chains of matrix products on one input, and their sum `out`."""
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [size, size], name="x")
        ends = []
        for b in range(count):
            y = x
            for k in range(length):
                y = hr.matmul(y, x, name=f"b{b}_{k}")
            ends.append(y)
        hr.add_n(ends, name="out")
    return graph


def _of_branch(devices: dict[str, str], branch: int) -> set[str]:
    return {device for name, device in devices.items() if name.startswith(f"b{branch}_")}


# ---- what the simulation decides ---------------------------------------------------------------


def test_two_heavy_branches_go_to_two_devices() -> None:
    placement = report(planner(_branches(1024)), ["x"], ["out"])
    devices = devices_of(placement)
    assert len(_of_branch(devices, 0)) == len(_of_branch(devices, 1)) == 1
    assert _of_branch(devices, 0) != _of_branch(devices, 1)
    assert placement.simulated and placement.step_us < 0.6 * placement.first_devices_us


def test_a_chain_stays_on_one_device_however_heavy() -> None:
    placement = report(planner(_branches(1024, count=1, length=8)), ["x"], ["out"])
    assert set(devices_of(placement).values()) == {ONE_EACH[0]}
    assert not placement.simulated


@pytest.mark.parametrize("shape", [(16, 2, 4), (4, 40, 10)], ids=["narrow", "wide"])
def test_small_nodes_stay_together(shape: tuple[int, int, int]) -> None:
    size, count, length = shape
    placement = report(planner(_branches(size, count, length)), ["x"], ["out"])
    assert set(devices_of(placement).values()) == {ONE_EACH[0]}


def test_a_slow_link_keeps_what_a_fast_one_spreads() -> None:
    graph = _branches(256)
    fast = report(planner(graph, config(gigabytes_per_second=10.0)), ["x"], ["out"])
    slow = report(planner(graph, config(latency_us=50_000.0)), ["x"], ["out"])
    assert len(set(devices_of(fast).values())) == 2
    assert set(devices_of(slow).values()) == {ONE_EACH[0]}


def test_by_default_the_devices_of_one_task_share_what_is_not_placed() -> None:
    graph = _branches(1024)
    four = [f"{task}/device:CPU:{i}" for task in TASKS[:2] for i in range(2)]
    default = ConfigProto(intra_op_parallelism_threads=1)
    within = devices_of(report(planner(graph, default), ["x"], ["out"], four))
    assert within == devices_of(report(planner(graph, config(ONE)), ["x"], ["out"], four))
    assert set(within.values()) == set(four[:2])
    one = devices_of(report(planner(graph, config(ONE)), ["x"], ["out"]))
    assert set(one.values()) == {ONE_EACH[0]}
    off = devices_of(report(planner(graph, config(NONE)), ["x"], ["out"], four))
    assert set(off.values()) == {four[0]}


def test_devices_that_share_cores_gain_nothing_from_what_takes_them_all() -> None:
    """A heavy node of a session with a team of threads takes all cores of its task."""
    two = [f"{TASKS[0]}/device:CPU:{i}" for i in range(2)]
    graph = _branches(1024)
    team = devices_of(report(planner(graph, config(ONE, threads=8)), ["x"], ["out"], two))
    assert set(team.values()) == {two[0]}


def test_a_constant_stays_beside_its_consumer() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [512, 512], name="x")
        ends = []
        for b in range(2):
            y = x
            for k in range(4):
                y = hr.matmul(y, x, name=f"b{b}_{k}") * hr.constant(0.5 + b, name=f"b{b}_{k}/c")
            ends.append(y)
        hr.add_n(ends, name="out")
    placement = report(planner(graph), ["x"], ["out"])
    devices = devices_of(placement)
    assert len(set(devices.values())) == 2
    for b in range(2):
        assert len(_of_branch(devices, b)) == 1
    assert [t.tensor for t in placement.transfer if "/c" in t.tensor] == []


def test_a_loop_is_not_torn_apart() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [512, 512], name="x")

        def body(i: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
            return i + 1, hr.matmul(a, x), hr.matmul(b, x)

        _, a, b = hr.while_loop(lambda i, *_: i < 9, body, [0, x, x])
        hr.add(a, hr.matmul(b, x), name="out")
    devices = devices_of(report(planner(graph), ["x"], ["out"]))
    inside = {device for name, device in devices.items() if name.startswith("while/")}
    assert len(inside) == 1


def test_a_thousand_devices_can_be_planned_for() -> None:
    devices = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(1000)]
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [512, 512], name="x")
        ends = []
        for i in range(0, 1000, 100):
            with hr.device(f"/job:worker/task:{i}"):
                ends.append(hr.matmul(x, x, name=f"pinned{i}"))
        ends += [hr.matmul(x, x * float(i), name=f"free{i}") for i in range(50)]
        hr.add_n(ends, name="out")
    placement = report(planner(graph), ["x"], ["out"], devices)
    found = devices_of(placement)
    for i in range(0, 1000, 100):
        assert found[f"pinned{i}"] == devices[i]
    assert len({found[f"free{i}"] for i in range(50)}) > 10


# ---- what it must leave alone ------------------------------------------------------------------


@settings(max_examples=COUNT, deadline=None)
@given(st.integers(0, 2**31))
def test_requests_and_colocation_hold_under_any_costs(seed: int) -> None:
    rng = random.Random(seed)
    requests = ["", "", "", "/job:worker", "/job:worker/task:1", "/task:2", "/device:CPU:1"]
    requests += ["/job:worker/task:2/device:CPU:0", "/cpu:0"]
    with hr.Graph().as_default() as graph:
        values = [hr.placeholder(hr.float32, [8, 8], name="x")]
        nodes: list[hr.Operation] = []
        requested: dict[str, str] = {}
        beside: list[tuple[str, str]] = []
        for i in range(rng.randint(5, 40)):
            request = rng.choice(requests)
            a, b = rng.choice(values), rng.choice(values)
            if nodes and rng.random() < 0.25:
                partner = rng.choice(nodes)
                with hr.colocate_with(partner):
                    y = hr.add(a, b, name=f"n{i}")
                beside.append((f"n{i}", partner.name))
            else:
                with hr.device(request):
                    y = hr.matmul(a, b, name=f"n{i}")
                requested[f"n{i}"] = request
            values.append(y)
            nodes.append(y.op)
        hr.add_n(values[1:], name="out")
    plans = planner(graph)
    plans.observe(trace_of({node.name: rng.choice([1.0, 100.0, 1e4]) for node in nodes}))
    placement = report(plans, ["x"], ["out"], DEVICES)
    devices = devices_of(placement)
    for name, request in requested.items():
        for part in request.replace("/cpu:", "/device:CPU:").split("/")[1:]:
            assert f"/{part}" in devices[name]
    for name, partner in beside:
        assert devices[name] == devices[partner]
    # The plan is the same as the report.
    assert plans.placement(["x"], ["out"], [], DEVICES) == placement.SerializeToString()
    everywhere = [node for node in placement.node if node.reason == PlacementReport.SIMULATED]
    assert placement.simulated == bool(everywhere)


def test_nodes_that_cannot_share_a_device_are_named() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device("/task:0"):
            a = hr.placeholder_with_default(1.0, [], name="a")
        hr.add(a, 1.0, name="b")
    graph_def = graph.as_graph_def()
    b = next(node for node in graph_def.node if node.name == "b")
    b.device = "/task:1"
    b.attr["_class"].list.s.append(b"loc:@a")
    options = config()
    options.allow_soft_placement = False
    plans = planner(hr.Graph(), options)
    plans.extend(graph_def.SerializeToString())
    with pytest.raises(errors.InvalidArgumentError, match="must share a device cannot: 'a'.*'b'"):
        plans.plan([], ["b"], [], DEVICES)


def test_soft_placement_stays_on_the_requested_task() -> None:
    with hr.Graph().as_default() as graph:
        with hr.device("/job:worker/task:2/device:GPU:0"):
            a = hr.placeholder_with_default(1.0, [], name="a")
        with hr.device("/job:elsewhere/task:1"):
            hr.add(a, 1.0, name="b")
    placement = report(planner(graph), [], ["b"])
    assert devices_of(placement)["a"] == ONE_EACH[2]
    assert devices_of(placement)["b"] == ONE_EACH[0]
    assert all(node.request_ignored for node in placement.node if node.name in ("a", "b"))


def test_state_stays_where_it_is_when_costs_change() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [64, 64], name="x")
        ends = []
        for b in range(2):
            w = hr.get_variable(f"w{b}", [64, 64], use_resource=b == 1)
            noise = hr.random_uniform([64, 64], name=f"noise{b}")
            ends.append(hr.matmul(hr.matmul(x, w) + noise, x, name=f"heavy{b}"))
        hr.add_n(ends, name="out")
        init = hr.global_variables_initializer()
    plans = planner(graph)
    plans.plan([], [], [init.name], ONE_EACH)
    before = devices_of(report(plans, ["x"], ["out"]))
    plans.observe(trace_of({"heavy0": 1e5, "heavy1": 1e5, "noise1/RandomUniform": 1e5}))
    after = devices_of(report(plans, ["x"], ["out"]))
    assert len({after["heavy0"], after["heavy1"]}) == 2
    for name in ("w0", "w1", "noise0/RandomUniform", "noise1/RandomUniform"):
        assert before[name] == after[name]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("placement_simulation", "both", "placement_simulation is 'both', must be one of"),
        ("transfer_latency_us", -1.0, "transfer_latency_us is -1.0, must be 0 or more"),
        ("transfer_gigabytes_per_second", float("nan"), "transfer_gigabytes_per_second is nan"),
    ],
)
def test_options_that_mean_nothing_are_rejected(field: str, value: Any, message: str) -> None:
    options = ConfigProto()
    setattr(options.experimental, field, value)
    with pytest.raises(errors.InvalidArgumentError, match=message):
        planner(hr.Graph(), options)


# ---- costs that were measured ------------------------------------------------------------------


def _unknown_sizes() -> hr.Graph:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [None, None], name="x")
        hr.add(hr.matmul(x, x, name="b0"), hr.matmul(x, hr.tanh(x), name="b1"), name="out")
    return graph


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_measured_costs_change_a_placement_that_static_costs_got_wrong() -> None:
    """Unknown sizes count as 1: nothing is spread before a step has been measured."""
    graph = _unknown_sizes()
    tasks = Tasks(graph.as_graph_def(), config().SerializeToString())
    value = np.random.default_rng(0).normal(size=[700, 700]).astype(np.float32)
    expected = value @ value + value @ np.tanh(value)
    before = report(tasks.planner, ["x"], ["out"])
    assert set(devices_of(before).values()) == {ONE_EACH[0]}
    traces: list[bytes] = []
    for _ in range(3):
        tasks.run(["out:0"], {"x:0": value}, traces=traces)
    for trace in traces:
        tasks.planner.observe(trace)
    after = report(tasks.planner, ["x"], ["out"])
    devices = devices_of(after)
    assert devices["b0"] != devices["b1"]
    (node,) = [node for node in after.node if node.name == "b0"]
    assert node.measured_us > 10 * node.expected_us
    assert node.output_bytes == 4 * 700 * 700
    tasks.plans.clear()
    got = tasks.run(["out:0"], {"x:0": value})[0]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
    tasks.close()


def test_what_took_long_once_is_forgotten_after_fast_steps() -> None:
    plans = planner(_unknown_sizes())
    plans.observe(trace_of({"b0": 1e5, "b1": 1e5}))
    assert report(plans, ["x"], ["out"]).simulated
    plans.observe(trace_of({"b0": 1.0, "b1": 1.0}))
    assert not report(plans, ["x"], ["out"]).simulated


# ---- results -----------------------------------------------------------------------------------


@settings(max_examples=COUNT, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_random_programs_under_partial_requests_and_simulated_placement(
    program: Program, seed: int
) -> None:
    chosen = random.Random(seed)

    def open_tasks(graph: hr.Graph) -> Tasks:
        graph_def = graph.as_graph_def()
        for node in graph_def.node:
            node.device = chosen.choice(["", "", "", "/task:1", "/device:CPU:1", DEVICES[4]])
        options = config(latency_us=0.001, gigabytes_per_second=1e6)
        options.device_count["CPU"] = 2
        tasks = Tasks(graph_def, options.SerializeToString())
        tasks.planner.observe(
            trace_of({node.name: chosen.choice([1.0, 1e4]) for node in graph_def.node})
        )
        return tasks

    compare_with_one_device(program, open_tasks)
