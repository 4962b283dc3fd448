"""A traced step reports which nodes ran, when, where, and their outputs (white paper §9.2).

Modules: executor/trace.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr


def _traced(session: hr.Session, fetch: Any, feed: dict[Any, Any] | None = None) -> Any:
    metadata = hr.RunMetadata()
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    session.run(fetch, feed, options=options, run_metadata=metadata)
    return metadata.step_stats


def _executor(kind: str) -> hr.ConfigProto:
    config = hr.ConfigProto()
    config.experimental.executor_type = kind
    return config


@pytest.mark.parametrize("kind", ["", "dynamic"], ids=["kernel schedule", "dynamic executor"])
@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_a_trace_has_every_node_its_time_its_thread_and_its_outputs(kind: str) -> None:
    x = hr.placeholder(hr.float32, [None, 4])
    y = hr.nn.relu(hr.matmul(x, hr.get_variable("w", [4, 3])), name="out")
    with hr.Session(config=_executor(kind)) as session:
        session.run(hr.global_variables_initializer())
        before = time.time()
        stats = _traced(session, y, {x: np.ones([5, 4])})
        after = time.time()
    (device,) = stats.dev_stats
    assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    nodes = {node.node_name: node for node in device.node_stats}
    assert {"MatMul", "out", "w"} <= set(nodes)
    for node in nodes.values():
        started = node.all_start_nanos / 1e9
        assert before - 1e-3 <= started <= started + node.all_end_rel_nanos / 1e9 <= after + 1e-3
        assert node.all_start_micros == node.all_start_nanos // 1000
    assert nodes["MatMul"].all_start_nanos <= nodes["out"].all_start_nanos
    (output,) = nodes["out"].output
    description = output.tensor_description
    assert [dim.size for dim in description.shape.dim] == [5, 3]
    assert description.dtype == hr.float32.as_datatype_enum
    assert description.allocation_description.requested_bytes == 60
    assert len({node.thread_id for node in nodes.values()}) == 1


def test_a_trace_names_the_device_of_each_node() -> None:
    x = hr.placeholder(hr.float32, [])
    with hr.device("/cpu:0"):
        a = hr.add(x, 2.0, name="a")
    with hr.device("/cpu:1"):
        b = hr.multiply(a, 3.0, name="b")
    with hr.Session(config=hr.ConfigProto(device_count={"CPU": 2})) as session:
        stats = _traced(session, b, {x: 1.0})
    where = {
        node.node_name: device.device[-5:]
        for device in stats.dev_stats
        for node in device.node_stats
        if node.node_name in ("a", "b") and "_" not in node.timeline_label.split(" = ")[1]
    }
    assert where == {"a": "CPU:0", "b": "CPU:1"}


def test_heavy_branches_of_one_step_run_on_several_threads() -> None:
    queue = hr.FIFOQueue(9, [hr.float32], shapes=[[]])
    scale = queue.dequeue()
    ends = []
    for _ in range(2):
        h = hr.random_uniform([300, 300])
        for _ in range(8):
            h = hr.matmul(h, h) * 1e-2
        # Each branch waits for a value of its own, so that they are two segments.
        ends.append(hr.reduce_sum(h) * queue.dequeue() * scale)
    with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=2)) as session:
        put = queue.enqueue_many([[1.0, 1.0, 1.0]])
        for _ in range(200):  # the first plan; on a busy machine, one thread may run all branches
            session.run(put)
            stats = _traced(session, ends)
            threads = {node.thread_id for device in stats.dev_stats for node in device.node_stats}
            if len(threads) >= 2:
                return
    raise AssertionError("no run used a second thread")


def test_a_cost_model_comes_with_the_metadata_of_a_run():
    with hr.Graph().as_default():
        x = hr.placeholder(hr.float32, [2, 2], name="x")
        y = hr.matmul(x, x, name="y")
        config = hr.ConfigProto(graph_options=hr.GraphOptions(build_cost_model=2))
        with hr.Session(config=config) as sess:
            found = []
            for _ in range(4):
                metadata = hr.RunMetadata()
                sess.run(y, {x: [[1.0, 2.0], [3.0, 4.0]]}, run_metadata=metadata)
                found.append({node.name: node for node in metadata.cost_graph.node})
    assert [len(nodes) for nodes in found] == [0, 2, 0, 2]
    node = found[1]["y"]
    assert [info.preceding_node for info in node.input_info] == [found[1]["x"].id] * 2
    assert node.output_info[0].size == 16
