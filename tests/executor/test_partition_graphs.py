"""RunOptions.output_partition_graphs returns the graph of each device.

Modules: passes/partition_graphs.
"""

from __future__ import annotations

import pytest

import headrace.graph as hr


@pytest.mark.parametrize("traced", [False, True])
def test_each_device_has_its_graph(traced: bool) -> None:
    x = hr.placeholder(hr.float32, [])
    with hr.device("/cpu:0"):
        a = hr.add(x, 2.0, name="a")
        hr.add(x, 9.0, name="unused")
    with hr.device("/cpu:1"):
        b = hr.multiply(a, 3.0, name="b")
    options = hr.RunOptions(output_partition_graphs=True)
    if traced:
        options.trace_level = hr.RunOptions.FULL_TRACE
    metadata = hr.RunMetadata()
    with hr.Session(config=hr.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(b, {x: 1.0}, options=options, run_metadata=metadata) == 9.0
    first, second = metadata.partition_graphs
    assert {node.op for node in first.node} >= {"AddV2", "_Send"}
    assert {node.op for node in second.node} >= {"Mul", "_Recv"}
    assert "unused" not in {node.name for node in first.node}
    (send,) = (node for node in first.node if node.op == "_Send")
    (receive,) = (node for node in second.node if node.op == "_Recv")
    assert send.input == ["a"] and send.device.endswith("CPU:0")
    assert send.attr["tensor_name"].s == receive.attr["tensor_name"].s
    assert bool(metadata.step_stats.dev_stats) == traced


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_a_kernel_schedule_has_one_graph_that_can_be_imported() -> None:
    x = hr.placeholder(hr.float32, [2], name="x")
    y = hr.identity(hr.tanh(x) * hr.get_variable("w", [2]), name="y")
    metadata = hr.RunMetadata()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(
            y,
            {x: [1.0, 2.0]},
            options=hr.RunOptions(output_partition_graphs=True),
            run_metadata=metadata,
        )
    (graph,) = metadata.partition_graphs
    names = [node.name for node in graph.node]
    assert len(set(names)) == len(names) and {"x", "Tanh", "y"} <= set(names)
