"""Traces and shapes that make no sense give no crash and no absurd cost.

Modules: passes/step_costs, passes/static_shapes, passes/known_values, passes/op_flops.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from planned_graphs import ONE_EACH, planner, report, trace_of
from worker_steps import TASKS

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata

LARGEST = 2**63 - 1
MANY = tuple(f"{task}/device:CPU:{i}" for task in TASKS for i in range(100))


def _two_branches() -> hr.Graph:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [None, None], name="x")
        hr.add(hr.matmul(x, x, name="b0"), hr.matmul(x, hr.tanh(x), name="b1"), name="out")
    return graph


def _check(placement: PlacementReport) -> None:
    """All numbers of a report are finite, and none is below 0 without a meaning."""
    assert math.isfinite(placement.step_us) and placement.step_us >= 0
    for node in placement.node:
        assert math.isfinite(node.expected_us) and node.expected_us >= 0
        assert math.isfinite(node.measured_us) and node.measured_us >= -1
        assert math.isfinite(node.start_us) and node.start_us >= 0
        assert node.output_bytes >= 0
    for transfer in placement.transfer:
        assert transfer.bytes >= 0
        assert math.isfinite(transfer.expected_us) and transfer.expected_us >= 0


# ---- traces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"no trace at all"])
def test_bytes_that_are_no_trace_are_an_error(wire: bytes) -> None:
    plans = planner(_two_branches())
    with pytest.raises(errors.InvalidArgumentError, match="RunMetadata"):
        plans.observe(wire)


def test_random_changes_of_a_trace_give_an_error_or_a_plan() -> None:
    plans = planner(_two_branches())
    good = trace_of({"b0": 1e5, "b1": 1e4, "out": 3.0}, {"b0": 400, "b1": 400})
    rng = random.Random(0)
    for _ in range(2000):
        wire = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            how, at = rng.randrange(3), rng.randrange(len(wire))
            if how == 0:
                wire[at] = rng.randrange(256)
            elif how == 1:
                del wire[at]
            else:
                wire.insert(at, rng.randrange(256))
        try:
            plans.observe(bytes(wire))
        except errors.InvalidArgumentError:
            continue
    _check(report(plans, ["x"], ["out"]))


def test_times_and_sizes_without_a_meaning_are_bounded() -> None:
    for start, end, size in (
        (5, -5, -1),
        (-(2**63), LARGEST, LARGEST),
        (LARGEST, -(2**63), -(2**63)),
        (0, 0, 0),
    ):
        plans = planner(_two_branches())
        metadata = RunMetadata()
        stats = metadata.step_stats.dev_stats.add(device="")
        for name in ("b0", "b1", "out"):
            node = stats.node_stats.add(node_name=name, timeline_label=f"{name} = Op")
            node.op_start_rel_nanos, node.op_end_rel_nanos = start, end
            for slot in (0, 0, -7, 5):
                output = node.output.add(slot=slot).tensor_description
                output.allocation_description.requested_bytes = size
        for _ in range(3):
            plans.observe(metadata.SerializeToString())
        _check(report(plans, ["x"], ["out"]))
        plans.plan(["x"], ["out"], [], ONE_EACH)


def test_an_output_with_a_huge_number_takes_no_memory() -> None:
    plans = planner(_two_branches())
    metadata = RunMetadata()
    stats = metadata.step_stats.dev_stats.add(device="")
    node = stats.node_stats.add(node_name="b0", timeline_label="b0 = Op", op_end_rel_nanos=7)
    for slot in (2**31 - 1, 0):
        output = node.output.add(slot=slot).tensor_description
        output.allocation_description.requested_bytes = 64
    plans.observe(metadata.SerializeToString())
    (b0,) = [n for n in report(plans, ["x"], ["out"]).node if n.name == "b0"]
    assert b0.output_bytes == 64


# ---- shapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62, LARGEST])
def test_absurd_sizes_are_bounded(size: int) -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [size, size], name="x")
        y = hr.matmul(x, x, name="y")
        z = hr.add_n([y, y * 2.0, hr.tanh(y)], name="z")
        w = hr.reduce_sum(hr.reshape(z, [-1]), name="w")
        n = hr.size(y, out_type=hr.int64, name="n")
        counted = hr.cast(hr.stack([n * n, n - 1, n + n]), hr.float32, name="counted")
        hr.add(hr.reduce_sum(counted), w, name="out")
    plans = planner(graph)
    _check(report(plans, ["x"], ["out"]))
    plans.plan(["x"], ["out"], [], ONE_EACH)
    (found,) = [node for node in report(plans, ["x"], ["out"]).node if node.name == "y"]
    assert found.output_bytes > 2**40


def test_unknown_ranks_and_empty_tensors() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, name="x")
        e = hr.placeholder(hr.float32, [0, 2**62], name="e")
        hr.add(hr.reduce_sum(hr.matmul(x, x)), hr.reduce_sum(hr.tanh(e)), name="out")
    plans = planner(graph)
    _check(report(plans, ["x", "e"], ["out"]))
    plans.plan(["x", "e"], ["out"], [], ONE_EACH)


def test_a_division_of_sizes_rounds_down() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [8], name="x")
        below = hr.floordiv(hr.constant([-3]), [2])  # -2
        hr.identity(hr.fill(below + [4] + hr.shape(x) * [0], 1.0), name="out")
    (out,) = [node for node in report(planner(graph), ["x"], ["out"]).node if node.name == "out"]
    assert out.output_bytes == 8


@pytest.mark.parametrize("count", [1, 2, 17, 299, 300])
def test_plans_of_one_to_many_devices(count: int) -> None:
    rng = np.random.default_rng(count)
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [256, 256], name="x")
        values = [x]
        for i in range(60):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            values.append(hr.matmul(a, b, name=f"n{i}"))
        hr.add_n(values, name="out")
    plans = planner(graph)
    plans.observe(trace_of({f"n{i}": 1e4 for i in range(60)}))
    placement = report(plans, ["x"], ["out"], MANY[:count])
    _check(placement)
    used = {node.device for node in placement.node}
    assert used <= set(MANY[:count])
    assert len(used) > 1 or count == 1
    plans.plan(["x"], ["out"], [], MANY[:count])


def _types(count: int) -> list[str]:
    return [f"{TASKS[0]}/device:T{i}:0" for i in range(count)]


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([], "has 0 devices"),
        (["garbage"], "is not the full name of a device"),
        (["/job:worker/task:0"], "is not the full name of a device"),
        (["/job:worker/task:0/CPU:0"], "is not the full name of a device"),
        (_types(65), "may have 1 to 64 types"),
        (_types(64), "no T0 or T1"),
    ],
)
def test_lists_of_devices_that_nothing_can_run_on_are_an_error(
    devices: list[str], message: str
) -> None:
    plans = planner(_two_branches())
    for call in (plans.plan, plans.placement):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            call(["x"], ["out"], [], devices)
