"""Time and memory of nodes over traced steps: many steps, GPUs, bodies of functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures.graphs_client import GraphsClient
from fixtures.traces import metadata_of, node_stats, write_log

from headrace.board.graph.run_costs import steps_to_read
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunMetadata


def costs_of(panel: GraphsClient, traces: list[int] | None = None) -> tuple[Any, dict[str, Any]]:
    """The header, and by name: how often it ran, and its median time."""
    number = next(iter(panel.graphs().values()))["id"]
    if traces is None:
        traces = [row["id"] for row in panel.get("traces")["traces"]]
    reply = panel.get(f"graph/{number}/costs?traces={','.join(map(str, traces))}")
    columns = reply["columns"]
    ran = [i for i, runs in enumerate(columns["runs"]) if runs]
    names = [panel.get(f"graph/{number}/node?index={i}")["name"] for i in ran]
    return reply, {
        name: (columns["runs"][i], columns["time_us_median"][i])
        for name, i in zip(names, ran, strict=True)
    }


def one_op(name: str = "a/MatMul", op: str = "MatMul") -> GraphDef:
    return GraphDef(node=[{"name": name, "op": op}])


def test_many_traced_steps_give_the_median_of_all(tmp_path: Path) -> None:
    traces = {
        step: metadata_of(
            w0_CPU_0=[node_stats("a/MatMul", 0, 1000 * (step + 1), "a/MatMul = MatMul(x)")]
        ).SerializeToString()
        for step in range(41)
    }
    write_log(tmp_path, traces, one_op())
    header, costs = costs_of(GraphsClient(tmp_path))
    assert (header["traces"], header["asked"], header["failed"]) == (41, 41, [])
    assert costs == {"a/MatMul": (41, 21.0)}


def test_of_many_steps_evenly_spaced_ones_are_read(tmp_path: Path) -> None:
    step = metadata_of(w0_CPU_0=[node_stats("a/MatMul", 0, 1000)]).SerializeToString()
    write_log(tmp_path, dict.fromkeys(range(100), step), one_op())
    header, costs = costs_of(GraphsClient(tmp_path))
    assert (header["traces"], header["asked"]) == (64, 100)
    assert costs == {"a/MatMul": (64, 1.0)}
    chosen = steps_to_read(10_000, 1000)
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 9999, 64)
    assert len(steps_to_read(10_000, 2_000_000)) * 2_000_000 * 16 <= 256 << 20


def test_a_corrupted_step_costs_only_itself_and_is_named(tmp_path: Path) -> None:
    step = metadata_of(w0_CPU_0=[node_stats("a/MatMul", 0, 1000)]).SerializeToString()
    write_log(tmp_path, {1: step, 2: step[:-3], 3: step}, one_op())
    panel = GraphsClient(tmp_path)
    header, costs = costs_of(panel)
    (failed,) = header["failed"]
    by_id = {row["id"]: row["step"] for row in panel.get("traces")["traces"]}
    assert by_id[failed["trace"]] == 2 and "corrupted" in failed["error"]
    assert costs == {"a/MatMul": (2, 1.0)}


def gpu_step() -> RunMetadata:
    """A launch on the GPU's own device, the kernel on a stream, and again on all of them."""
    result = RunMetadata()
    base = "/job:w/replica:0/task:0/device:GPU:0"
    for device, name, took in (
        (base, "a/MatMul", 7_000),
        (f"{base}/stream:all", "a/MatMul:MatMul", 100_000),
        (f"{base}/stream:14", "a/MatMul:MatMul", 100_000),
    ):
        nodes = [node_stats(name, 10_000, took, "a/MatMul = MatMul(x)")]
        result.step_stats.dev_stats.add(device=device, node_stats=nodes)
    launch_only = node_stats("b/NoOp", 0, 3000, "b/NoOp = NoOp()")
    result.step_stats.dev_stats[0].node_stats.append(launch_only)
    return result


def test_time_on_a_gpu_counts_once(tmp_path: Path) -> None:
    graph = one_op()
    graph.node.add(name="b/NoOp", op="NoOp")
    write_log(tmp_path, {1: gpu_step().SerializeToString()}, graph)
    panel = GraphsClient(tmp_path)
    _, costs = costs_of(panel)
    assert costs == {"a/MatMul": (1, 100.0), "b/NoOp": (1, 3.0)}
    compared = panel.get("trace/compare?ids=0")
    assert {row["op"]: row["totals_ns"] for row in compared["ops"]} == {
        "MatMul": [100_000],
        "NoOp": [3000],
    }
    totals = panel.get("trace/0/totals")["totals"]
    assert {row["op"]: row["total_ns"] for row in totals["by_op"]} == {
        "MatMul": 100_000,
        "NoOp": 3000,
    }


def with_functions(callers: bool = True) -> GraphDef:
    """Two bodies with nodes of one name; the first is never run."""
    graph = GraphDef()
    for name, op in (("idle", "Neg"), ("busy", "Relu")):
        function = graph.library.function.add()
        function.signature.name = name
        function.node_def.add(name="dense/out", op="Add")
        function.node_def.add(name="dense/act", op=op)
    inner = graph.library.function.add()
    inner.signature.name = "inner"
    inner.node_def.add(name="mul", op="Mul")
    node = graph.library.function[1].node_def.add(name="call", op="PartitionedCall")
    node.attr["f"].func.name = "inner"
    if callers:
        node = graph.node.add(name="StatefulPartitionedCall", op="StatefulPartitionedCall")
        node.attr["f"].func.name = "busy"
    return graph


@pytest.mark.parametrize(
    ("prefix", "inner"),
    [
        ("", "mul"),
        ("StatefulPartitionedCall/", "StatefulPartitionedCall/call/mul"),
        ("", "call/mul"),  # the body ran as a graph of its own, with the inner call inlined
    ],
)
def test_slices_of_a_body_count_for_the_function_that_ran(
    tmp_path: Path, prefix: str, inner: str
) -> None:
    slices = [(f"{prefix}dense/out", "Add"), (f"{prefix}dense/act", "Relu"), (inner, "Mul")]
    nodes = [
        node_stats(name, 10 * i, 2000, f"{name} = {op}()") for i, (name, op) in enumerate(slices)
    ]
    nodes.append(node_stats("nobody", 90, 10, "nobody = Add()"))
    write_log(tmp_path, {1: metadata_of(w0_CPU_0=nodes).SerializeToString()}, with_functions())
    header, costs = costs_of(GraphsClient(tmp_path))
    assert costs == {
        "functions/busy/dense/out": (1, 2.0),
        "functions/busy/dense/act": (1, 2.0),
        "functions/inner/mul": (1, 2.0),
    }
    assert header["unknown_slices"] == 1
