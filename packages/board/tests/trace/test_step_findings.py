"""Critical path, stalls, totals, memory and comparison of steps."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.traces import STALL_NS, metadata_of, node_stats, planted_trace, two_tasks

from headrace.board.trace.analysis.critical_path import critical_path
from headrace.board.trace.analysis.memory_curve import MemoryCurve, memory_curves, reduce_curve
from headrace.board.trace.analysis.stalls import find_stalls
from headrace.board.trace.analysis.step_comparison import compare_steps
from headrace.board.trace.analysis.totals import totals_of
from headrace.board.trace.reading.graph_edges import read_edges
from headrace.board.trace.reading.read_step import read_step
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.formats.proto import graph_pb2, run_pb2


def read(metadata: run_pb2.RunMetadata) -> StepTrace:
    return read_step(metadata.SerializeToString())


def path_of(trace: StepTrace, **arguments) -> list[str]:
    return [trace.names[i] for i in trace.name[critical_path(trace, **arguments).slices]]


def test_the_planted_stall_is_the_one_stall_and_on_the_critical_path() -> None:
    planted = planted_trace(400_000)
    trace = read_step(planted.metadata)
    (stall,) = find_stalls(trace)
    assert trace.names[trace.name[stall.target]] == planted.stall_name
    assert trace.names[trace.name[stall.source]] == planted.stall_sender
    assert (stall.wait_ns, stall.kind) == (STALL_NS, "receive")
    path = critical_path(trace)
    assert stall.target in path.slices
    assert int(path.self_ns.sum() + path.gap_ns.sum()) == trace.duration_ns


def test_the_critical_path_goes_through_inputs_and_transfers() -> None:
    trace = read(two_tasks())
    assert path_of(trace) == [
        "a/MatMul",
        "a/send",
        "a/recv",
        "b/Conv2D",
        "b/send",
        "b/recv",
        "c/Add",
    ]
    path = critical_path(trace)
    assert path.why == ["lane", "sent", "input", "lane", "sent", "input", "end"]
    assert int(path.self_ns.sum() + path.gap_ns.sum()) == trace.duration_ns - int(
        trace.start[path.slices[0]]
    )


def test_inputs_come_from_the_graph_if_labels_lack_them() -> None:
    trace = read(
        metadata_of(
            w0_CPU_0=[node_stats("a", 0, 100, "a = A"), node_stats("c", 200, 10, "c = C")],
            w0_CPU_1=[node_stats("x", 0, 180, "x = X")],
        )
    )
    graph = graph_pb2.GraphDef()
    graph.node.add(name="a", op="A")
    graph.node.add(name="x", op="X")
    graph.node.add(name="between", op="Identity", input=["x:0"])
    graph.node.add(name="c", op="C", input=["a", "^between"])
    assert path_of(trace) == ["a", "c"]
    assert path_of(trace, graph_edges=read_edges([graph])) == ["x", "c"]


def test_what_ran_as_one_has_the_inputs_of_all_its_nodes() -> None:
    trace = read(
        metadata_of(
            w0_CPU_0=[
                node_stats("z", 0, 10, "z = Z"),
                node_stats("r", 100, 9, "s = Add; r = Relu"),
            ],
            w0_CPU_1=[node_stats("x", 0, 95, "x = X")],
        )
    )
    graph = graph_pb2.GraphDef()
    for name, feeds in (("x", []), ("z", []), ("s", ["x", "z"]), ("r", ["s"])):
        graph.node.add(name=name, op="A", input=feeds)
    assert path_of(trace, graph_edges=read_edges([graph])) == ["x", "r"]


def test_a_slice_scheduled_after_its_lane_was_free_did_not_wait_for_the_lane() -> None:
    nodes = [
        node_stats("first", 0, 50, "first = A()"),
        node_stats("second", 60, 10, "second = B()", scheduled=55),
    ]
    other = [node_stats("x", 0, 54, "x = X()")]
    assert path_of(read(metadata_of(w0_CPU_0=nodes, w0_CPU_1=other)))[-2:] != ["x", "second"]
    wired = graph_pb2.GraphDef()
    wired.node.add(name="second", op="B", input=["x"])
    trace = read(metadata_of(w0_CPU_0=nodes, w0_CPU_1=other))
    assert path_of(trace, graph_edges=read_edges([wired])) == ["x", "second"]


@pytest.mark.parametrize("seed", range(10))
def test_the_path_never_goes_back_in_time(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes: dict[str, list] = {"w0_CPU_0": [], "w0_CPU_1": []}
    for i in range(200):
        feeds = ", ".join(f"n{int(j)}" for j in rng.integers(0, 200, 2))
        nodes[f"w0_CPU_{i % 2}"].append(
            node_stats(
                f"n{i}", int(rng.integers(0, 5000)), int(rng.integers(0, 90)), f"n{i} = A({feeds})"
            )
        )
    trace = read(metadata_of(**nodes))
    path = critical_path(trace)
    ends = trace.end[path.slices]
    assert (np.diff(ends) >= 0).all()
    assert len(set(path.slices.tolist())) == len(path)
    assert (path.self_ns >= 0).all() and (path.gap_ns >= 0).all()


def test_a_wait_for_a_busy_thread_is_a_stall_of_its_own_kind() -> None:
    nodes = [node_stats("long", 0, 5000), node_stats("late", 5000, 100, scheduled=10)]
    nodes += [node_stats(f"n{i}", 5200 + 100 * i, 50, scheduled=5199 + 100 * i) for i in range(20)]
    trace = read(metadata_of(w0_CPU_0=nodes))
    (stall,) = find_stalls(trace)
    assert (stall.kind, stall.wait_ns) == ("queue", 4990)
    assert trace.names[trace.name[stall.source]] == "long"


def test_a_wait_for_a_tensor_whose_transfer_has_no_slice_is_a_stall() -> None:
    """Between devices of one task TensorFlow writes no _Recv: the gap is all that there is."""
    result = metadata_of(
        w0_CPU_0=[node_stats("made", 0, 1000, "made = MatMul()")],
        w0_GPU_0=[
            node_stats("before", 0, 3000, "before = Relu()"),
            node_stats("reader", 9000, 1000, "reader = Add()"),
            node_stats("late", 10_000, 50, "late = Neg()"),
        ],
    )
    graphs = []
    for op, name in (("_Send", "send"), ("_Recv", "recv")):
        graph = graph_pb2.GraphDef()
        node = graph.node.add(name=name, op=op)
        node.attr["tensor_name"].s = b"edge_1_made"
        node.attr["send_device"].s = b"/job:w/replica:0/task:0/device:CPU:0"
        node.attr["recv_device"].s = b"/job:w/replica:0/task:0/device:GPU:0"
        graphs.append(graph)
    graphs[0].node[0].input.append("made")
    for name in ("reader", "late"):
        graphs[1].node.add(name=name, op="Add", input=["recv"])
    trace = read_step(result.SerializeToString(), read_edges(graphs))
    (stall,) = find_stalls(trace)
    names = [trace.names[trace.name[i]] for i in (stall.source, stall.target)]
    assert (names, stall.kind) == (["made", "reader"], "receive")
    assert (stall.begin_ns, stall.wait_ns) == (3000, 6000)  # the lane was busy until then


def test_totals_of_a_window_are_what_a_loop_adds_up() -> None:
    trace = read_step(planted_trace(40_000).metadata)
    t0, t1 = trace.duration_ns // 5, trace.duration_ns // 2
    sums = totals_of(trace, t0, t1, [1, 6])
    by_op: dict[str, int] = {}
    for lane in (trace.lanes[1], trace.lanes[6]):
        for i in range(lane.first, lane.last):
            part = min(int(trace.end[i]), t1) - max(int(trace.start[i]), t0)
            if part > 0:
                op = trace.ops[trace.op[i]]
                by_op[op] = by_op.get(op, 0) + part
    assert {row["op"]: row["total_ns"] for row in sums.by_op} == by_op
    assert sums.total_ns == sum(by_op.values())
    assert sum(row["total_ns"] for row in sums.by_lane) == sums.total_ns


def test_totals_of_everything_are_the_sums_of_the_input() -> None:
    planted = planted_trace(40_000)
    sums = totals_of(read_step(planted.metadata))
    assert {row["lane"]: row["total_ns"] for row in sums.by_lane} == dict(
        enumerate(planted.lane_totals)
    )
    assert sum(row["total_ns"] for row in sums.by_op) == sum(planted.lane_totals)


def test_a_stream_of_all_streams_does_not_count_twice() -> None:
    result = run_pb2.RunMetadata()
    for stream in ("all", "7"):
        device = f"/job:w/replica:0/task:0/device:GPU:0/stream:{stream}"
        result.step_stats.dev_stats.add(device=device, node_stats=[node_stats("mm:MatMul", 0, 90)])
    sums = totals_of(read(result))
    assert [(row["op"], row["count"], row["total_ns"]) for row in sums.by_op] == [("MatMul", 1, 90)]
    assert sums.total_ns == 180


def test_memory_follows_allocations_and_releases() -> None:
    first, second = node_stats("a_A", 0, 4000), node_stats("b_B", 5000, 4000)
    base = first.all_start_micros
    for node, records in ((first, [(1, 100), (3, -40)]), (second, [(6, 500), (8, -560)])):
        used = node.memory.add(allocator_name="cpu")
        for micros, count in records:
            used.allocation_records.add(alloc_micros=base + micros, alloc_bytes=count)
    (curve,) = memory_curves(read(metadata_of(w0_CPU_0=[first, second])))
    assert (curve.allocator, curve.source) == ("cpu", "records")
    assert curve.time.tolist() == [1000, 3000, 6000, 8000]
    assert curve.bytes.tolist() == [100, 60, 560, 0]
    assert (curve.peak, curve.peak_ns) == (560, 6000)


def test_memory_that_was_there_before_lies_under_the_curve() -> None:
    node = node_stats("a_A", 0, 4000)
    used = node.memory.add(allocator_name="cpu")
    used.allocation_records.add(alloc_micros=node.all_start_micros, alloc_bytes=-300)
    (curve,) = memory_curves(read(metadata_of(w0_CPU_0=[node])))
    assert curve.bytes.tolist() == [0]


def test_without_records_memory_is_what_the_allocator_reported() -> None:
    node = node_stats("a_A", 0, 4000)
    node.memory.add(allocator_name="gpu", allocator_bytes_in_use=700)
    (curve,) = memory_curves(read(metadata_of(w0_CPU_0=[node])))
    assert (curve.source, curve.time.tolist(), curve.bytes.tolist()) == ("in_use", [4000], [700])


def test_without_allocators_memory_is_estimated_from_readers() -> None:
    nodes = [
        node_stats("a", 0, 10, "a = A()", output_bytes=100),
        node_stats("b", 20, 10, "b = B(a)", output_bytes=50),
        node_stats("c", 40, 10, "c = C(b)"),
    ]
    (curve,) = memory_curves(read(metadata_of(w0_CPU_0=nodes)))
    assert curve.source == "outputs"
    assert dict(zip(curve.time.tolist(), curve.bytes.tolist(), strict=True)) == {
        0: 100,
        20: 150,
        30: 50,
        50: 0,
    }


def test_a_reduced_curve_keeps_every_extreme() -> None:
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.integers(1, 9, 5000))
    held = rng.integers(0, 1000, 5000)
    held[1234] = 10_000
    curve = MemoryCurve("cpu", "", "records", time, held)
    t0, t1 = 0.0, float(time[-1])
    few, kept = reduce_curve(curve, t0, t1, 100)
    assert len(few) <= 4 * 101
    assert 10_000 in kept
    pixel = np.floor((time - t0) * (100 / (t1 - t0))).astype(int)
    of_kept = np.floor((few - t0) * (100 / (t1 - t0))).astype(int)
    for p in range(100):
        if (pixel == p).any():
            assert kept[of_kept == p].max() == held[pixel == p].max()
            assert kept[of_kept == p].min() == held[pixel == p].min()


def test_steps_are_compared_by_op_and_by_the_node_that_changed_most() -> None:
    one = read(metadata_of(w0_CPU_0=[node_stats("a_A", 0, 100), node_stats("b_B", 200, 10)]))
    two = read(metadata_of(w0_CPU_0=[node_stats("a_A", 0, 110), node_stats("b_B", 200, 90)]))
    compared = compare_steps([one, two])
    assert compared["ops"][0] == {"op": "A", "totals_ns": [100, 110]}
    assert compared["nodes"][0] == {"name": "b_B", "durations": [10, 90]}
