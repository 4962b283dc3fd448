"""Float tensors pass between tasks as bfloat16, with zeros for what was dropped (§5.5).

Modules: passes/task_edges.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from planned_graphs import trace_of
from worker_steps import CONFIG, DEVICES, Tasks, scattered

import headrace.graph as hr
from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto

HERE, THERE, ELSEWHERE = DEVICES[0], DEVICES[2], DEVICES[4]


def _lossy() -> bytes:
    options = ConfigProto.FromString(CONFIG)
    options.graph_options.enable_bfloat16_sendrecv = True
    return options.SerializeToString()


def _truncated(x: np.ndarray) -> np.ndarray:
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def _passed_on(lossy: bool = True) -> Tasks:
    with hr.Graph().as_default() as graph:
        with hr.device(HERE):
            x = hr.placeholder(hr.float32, [None], name="x")
            made = hr.identity(x, name="made")
        with hr.device(THERE):
            hr.identity(made, name="there")
        with hr.device(ELSEWHERE):
            hr.identity(made, name="elsewhere")
    return Tasks(graph.as_graph_def(), _lossy() if lossy else CONFIG)


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32)))
def test_what_arrives_is_truncated_exactly(value: np.ndarray) -> None:
    tasks = _passed_on()
    for got in tasks.run(["there:0", "elsewhere:0"], {"x:0": value}):
        assert got.dtype == np.float32
        numbers = ~np.isnan(value)
        np.testing.assert_array_equal(np.isnan(got), ~numbers)
        # Signs of zeros and denormals included: the bits are compared.
        np.testing.assert_array_equal(
            got.view(np.uint32)[numbers], _truncated(value).view(np.uint32)[numbers]
        )
    tasks.close()


def test_the_bytes_on_edges_between_tasks_are_halved() -> None:
    value = np.arange(1000, dtype=np.float32)
    sizes = {}
    for lossy in (False, True):
        tasks = _passed_on(lossy)
        plan, _ = tasks.plan(["x:0"], ["there:0", "elsewhere:0"])
        between = [edge for edge in plan.edge if edge.send_task and edge.recv_task]
        assert [edge.tensor for edge in between] == ["made:0", "made:0"]
        # A worker rejects a tensor of another dtype than its Recv's: this is what passes.
        sizes[lossy] = sum(as_dtype(edge.dtype).size * len(value) for edge in between)
        assert {as_dtype(e.dtype).name for e in between} == {"bfloat16" if lossy else "float32"}
        clients = [edge for edge in plan.edge if not (edge.send_task and edge.recv_task)]
        assert {as_dtype(edge.dtype).name for edge in clients} == {"float32"}
        tasks.run(["there:0", "elsewhere:0"], {"x:0": value})
        tasks.close()
    assert sizes[True] * 2 == sizes[False]


def test_a_tensor_is_narrowed_once_for_all_tasks() -> None:
    tasks = _passed_on()
    plan, _ = tasks.plan(["x:0"], ["there:0", "elsewhere:0"])
    casts: dict[str, int] = {}
    for part in plan.partition:
        nodes = GraphDef.FromString(part.graph_def).node
        casts[part.task] = sum(node.op == "Cast" for node in nodes)
    assert list(casts.values()) == [1, 1, 1]
    tasks.close()


@pytest.mark.parametrize("dtype", [hr.float64, hr.float16, hr.int32, hr.bool])
def test_other_types_pass_as_they_are(dtype: Any) -> None:
    with hr.Graph().as_default() as graph:
        with hr.device(HERE):
            x = hr.placeholder(dtype, [None], name="x")
            made = hr.identity(x, name="made")
        with hr.device(THERE):
            hr.identity(made, name="there")
    tasks = Tasks(graph.as_graph_def(), _lossy())
    value = np.array([0, 1, 3, 1001 / 3]).astype(dtype.as_numpy_dtype)
    np.testing.assert_array_equal(tasks.run(["there:0"], {"x:0": value})[0], value)
    tasks.close()


def test_variables_and_loops_pass_lossy_values() -> None:
    """What is read of a variable after its update is what the update made."""
    with hr.Graph().as_default() as graph:
        with hr.device(HERE):
            v = hr.get_variable("v", initializer=np.float32(1.2345678))
            add = hr.assign_add(v, 1.0)
        with hr.device(THERE), hr.control_dependencies([add]):
            read = hr.identity(v.read_value(), name="read")

        def body(i: Any, a: Any) -> tuple[Any, Any]:
            with hr.device(THERE):
                return i + 1, a * 1.5

        with hr.device(HERE):
            hr.identity(hr.while_loop(lambda i, _: i < 3, body, [0, v])[1], name="looped")
        init = hr.global_variables_initializer()
    tasks = Tasks(graph.as_graph_def(), _lossy())
    tasks.run([], {}, [init.name])
    one = np.float32(1.2345678)
    expected = _truncated(np.array([one]))
    for _ in range(3):
        expected = _truncated(_truncated(expected) * np.float32(1.5))
    assert tasks.run(["looped:0"], {})[0] == expected[0]
    assert tasks.run([read.name], {})[0] == _truncated(np.array([one + np.float32(1.0)]))[0]
    tasks.close()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31))
def test_gradients_across_tasks_are_close(placement: int) -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [8, 8], name="x")
        y = x
        for i in range(4):
            y = hr.tanh(hr.matmul(y, x) * 0.3, name=f"y{i}")
        gradient = hr.gradients(hr.reduce_sum(y), [x])[0]
        value = np.random.default_rng(placement).normal(size=[8, 8]).astype(np.float32)
        with hr.Session() as session:
            expected = session.run([y, gradient], {x: value})
    tasks = Tasks(scattered(graph, placement), _lossy())
    got = tasks.run([y.name, gradient.name], {"x:0": value})
    for one, other in zip(got, expected, strict=True):
        assert np.abs(one - other).max() < 0.1 * np.abs(other).max()
    tasks.close()


def test_a_plan_without_the_option_has_no_casts() -> None:
    tasks = _passed_on(lossy=False)
    wire = tasks.planner.plan(["x:0"], ["there:0"], [], DEVICES)
    for part in PartitionPlan.FromString(wire).partition:
        assert all(node.op != "Cast" for node in GraphDef.FromString(part.graph_def).node)
    tasks.close()


@settings(max_examples=int(os.environ.get("HEADRACE_PLACEMENTS", "20")), deadline=None)
@given(st.integers(0, 2**31))
def test_with_scheduled_receives_steps_end_and_are_close(seed: int) -> None:
    """Loops, conditionals, queues and gradients; what was measured makes many delays worth it."""
    rng = random.Random(seed)
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [8, 8], name="x")
        values, puts = [x], []
        for i in range(rng.randint(8, 30)):
            a, b = (rng.choice(values[-5:]) for _ in range(2))
            kind = rng.randrange(6)
            if kind == 0:
                y = hr.cond(hr.reduce_sum(a) > 0.0, lambda a=a: hr.tanh(a), lambda b=b: b * 0.5)
            elif kind == 1:
                y = hr.while_loop(
                    lambda j, _: j < 3, lambda j, c, b=b: (j + 1, hr.tanh(c + b)), [0, a]
                )[1]
            elif kind == 2:
                queue = hr.FIFOQueue(2, [hr.float32], [[8, 8]])
                puts.append(queue.enqueue(hr.tanh(a) * 0.5))
                y = hr.tanh(a + queue.dequeue())
            else:
                y = hr.tanh(hr.matmul(a, b) * 0.3, name=f"y{i}")
            values.append(y)
        out = hr.add_n(values[-3:], name="out")
        gradient = hr.gradients(hr.reduce_sum(hr.tanh(x) * out), [out])[0]
        everything = hr.group(*puts)
        fetches = [out, gradient]
        fed = np.random.default_rng(seed).normal(size=[8, 8]).astype(np.float32)
        with hr.Session() as session:
            expected = session.run([*fetches, everything], {x: fed})[:2]
    options = ConfigProto.FromString(_lossy())
    options.graph_options.enable_recv_scheduling = True
    tasks = Tasks(scattered(graph, seed), options.SerializeToString())
    names = [op.name for op in graph.get_operations()]
    tasks.planner.observe(
        trace_of(
            {name: rng.choice([1.0, 1e4, 1e6]) for name in names},
            {name: rng.choice([100, 10**7, 10**8]) for name in names},
        )
    )
    for _ in range(2):
        got = tasks.run([t.name for t in fetches], {"x:0": fed}, [everything.name])
        for one, other in zip(got, expected, strict=True):
            assert np.abs(one - other).max() <= 0.2 * np.abs(other).max() + 0.05
    tasks.close()
