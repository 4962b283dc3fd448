from __future__ import annotations

import numpy as np
import pytest
from fixtures.traces import (
    LATENCY_NS,
    SKEW_NS,
    TASKS,
    metadata_of,
    node_stats,
    planted_trace,
    two_tasks,
)

from headrace.board.trace.reading.clock_skew import clock_shifts
from headrace.board.trace.reading.read_step import read_step
from headrace.board.trace.reading.step_trace import OP, RECV, SEND, TRANSFER, StepTrace
from headrace.formats.proto import run_pb2


def read(metadata: run_pb2.RunMetadata) -> StepTrace:
    return read_step(metadata.SerializeToString())


def slice_of(trace: StepTrace, name: str) -> int:
    (found,) = trace.slices_of(trace.name_ids[name])
    return int(found)


def test_lane_totals_are_the_sums_of_the_input_to_the_nanosecond() -> None:
    planted = planted_trace(40_000)
    trace = read_step(planted.metadata)
    assert [lane.busy_ns for lane in trace.lanes] == planted.lane_totals
    assert [lane.last - lane.first for lane in trace.lanes] == [len(s) for s in planted.starts]
    assert len(trace) == planted.slices


def test_the_order_of_nanoseconds_is_kept() -> None:
    planted = planted_trace(40_000)
    trace = read_step(planted.metadata)
    for lane, start, end in zip(trace.lanes, planted.starts, planted.ends, strict=True):
        span = slice(lane.first, lane.last)
        np.testing.assert_array_equal(np.diff(trace.start[span]), np.diff(start))
        np.testing.assert_array_equal(trace.duration[span], end - start)


def test_skew_of_clocks_is_found_within_the_latency() -> None:
    trace = read_step(planted_trace(40_000).metadata)
    first, second = (trace.skew_ns[task] for task in TASKS)
    assert first == 0
    assert abs(second + SKEW_NS) <= LATENCY_NS
    moves = trace.transfers
    assert (trace.end[moves.target] >= trace.start[moves.source]).all()


def test_every_transfer_is_matched() -> None:
    planted = planted_trace(40_000)
    trace = read_step(planted.metadata)
    moves = trace.transfers
    assert len(moves) == planted.transfers
    for source, target in zip(moves.source, moves.target, strict=True):
        sent, received = trace.names[trace.name[source]], trace.names[trace.name[target]]
        assert sent.replace("send", "recv") == received
        assert (trace.kind[source], trace.kind[target]) == (SEND, RECV)
    assert set(moves.bytes.tolist()) == {4096}


def test_clocks_that_could_be_right_are_left_alone() -> None:
    assert set(read(two_tasks()).skew_ns.values()) == {0}


@pytest.mark.parametrize("skew", [1_000_000, -1_000_000, 17])
def test_slices_of_skewed_tasks_are_in_causal_order(skew: int) -> None:
    trace = read(two_tasks(skew))
    moves = trace.transfers
    assert len(moves) == 2
    assert (trace.end[moves.target] >= trace.start[moves.source]).all()
    if abs(skew) > 5000:
        shift = trace.skew_ns["/job:w/replica:0/task:1"]
        assert abs(shift + skew) < 2500


def test_a_chain_of_tasks_is_aligned_one_after_the_other() -> None:
    # task 1 is 100 ahead of 0, task 2 is 1000 behind 1; each pair has traffic both ways
    source = np.array([0, 1, 1, 2])
    target = np.array([1, 0, 2, 1])
    cause = np.array([0, 150, 200, -750])
    effect = np.array([110, 60, -790, 260])
    assert clock_shifts(3, source, target, cause, effect) == [0, -100, 900]


def test_traffic_one_way_moves_a_clock_only_as_far_as_it_must() -> None:
    one = np.array([0]), np.array([1])
    assert clock_shifts(2, *one, np.array([500]), np.array([100])) == [0, 400]
    assert clock_shifts(2, *one, np.array([100]), np.array([500])) == [0, 0]


def test_overlapping_slices_of_a_thread_get_rows_of_their_own() -> None:
    trace = read(
        metadata_of(
            w0_CPU_0=[
                node_stats("outer_Call", 0, 1000),
                node_stats("inner_A", 100, 200),
                node_stats("inner_B", 400, 200),
                node_stats("later_C", 1000, 100),
            ]
        )
    )
    assert [(lane.row, lane.last - lane.first) for lane in trace.lanes] == [(0, 2), (1, 2)]
    assert trace.lanes[0].thread == "thread 0"


def test_nanoseconds_win_over_microseconds_which_stand_in_for_them() -> None:
    both = node_stats("a_A", 1234, 789)
    micros = node_stats("b_B", 5000, 3000)
    for field in ("all_start_nanos", "all_end_rel_nanos", "scheduled_nanos"):
        micros.ClearField(field)
    trace = read(metadata_of(w0_CPU_0=[both, micros]))
    assert trace.start.tolist() == [0, 5000 - 1234]
    assert trace.duration.tolist() == [789, 3000]
    assert trace.scheduled.tolist() == trace.start.tolist()


def test_nodes_without_a_time_are_left_out_and_counted() -> None:
    nowhere = node_stats("x_X", 0, 0)
    for field in ("all_start_nanos", "all_start_micros"):
        nowhere.ClearField(field)
    trace = read(metadata_of(w0_CPU_0=[nowhere, node_stats("a_A", 5, 5)]))
    assert (trace.untimed, len(trace), trace.duration_ns) == (1, 1, 5)


def test_streams_and_copies_of_a_gpu_are_lanes_of_their_own() -> None:
    result = run_pb2.RunMetadata()
    task = "/job:localhost/replica:0/task:0/device:"
    for device, name, label in (
        ("GPU:0/stream:all", "mm:MatMul", "sgemm"),
        ("GPU:0/memcpy", "in:MEMCPYHtoD", "MEMCPYHtoD"),
        ("GPU:0/stream:14", "mm:MatMul", "sgemm"),
        ("GPU:0", "mm", "mm = MatMul(a, b)"),
        ("CPU:0", "a", "a = Const()"),
    ):
        result.step_stats.dev_stats.add(
            device=task + device, node_stats=[node_stats(name, 1, 9, label)]
        )
    trace = read(result)
    titles = [lane.device_title for lane in trace.lanes]
    assert titles == ["CPU:0", "GPU:0", "GPU:0 stream all", "GPU:0 stream 14", "GPU:0 memcpy"]
    assert trace.kind.tolist() == [OP, OP, OP, OP, TRANSFER]
    assert len(trace.slices_of(trace.name_ids["mm"])) == 3


def test_tensors_that_no_slice_sent_are_found_by_the_partition_graphs() -> None:
    metadata = metadata_of(
        w0_CPU_0=[node_stats("a", 0, 100, "a = Relu(x)", output_bytes=64)],
        w0_CPU_1=[node_stats("b", 150, 100, "b = MatMul(a/_1, w)")],
    )
    devices = ["/job:w/replica:0/task:0/device:CPU:0", "/job:w/replica:0/task:0/device:CPU:1"]
    for op, name, feeds in (("_Send", "a/_0", ["a"]), ("_Recv", "a/_1", [])):
        graph = metadata.partition_graphs.add()
        node = graph.node.add(name=name, op=op, input=feeds)
        node.attr["tensor_name"].s = b"edge_3_a"
        node.attr["send_device"].s = devices[0].encode()
        node.attr["recv_device"].s = devices[1].encode()
        if op == "_Recv":
            graph.node.add(name="b", op="MatMul", input=["a/_1", "w"])
    trace = read(metadata)
    moves = trace.transfers
    assert moves.tensor == ["edge_3_a"]
    assert (moves.source.tolist(), moves.target.tolist()) == (
        [slice_of(trace, "a")],
        [slice_of(trace, "b")],
    )
    assert not moves.direct.any()
    assert moves.bytes.tolist() == [64]


def test_copies_lead_from_the_thread_to_the_stream_and_back() -> None:
    metadata = metadata_of(
        w0_GPU_0=[
            node_stats("x", 0, 10, "x = _CopyToDevice"),
            node_stats("y", 20, 10, "y = MatMul"),
            node_stats("y", 40, 200, "y = _CopyToHost"),
        ]
    )
    metadata.step_stats.dev_stats.add(
        device="/job:w/replica:0/task:0/device:GPU:0/stream:all",
        node_stats=[
            node_stats("x:_CopyToDevice", 15, 30, "copy to device", output_bytes=64),
            node_stats("y:MatMul", 45, 100, "matmul"),
            node_stats("y:_CopyToHost", 145, 40, "copy to host", output_bytes=128),
        ],
    )
    trace = read(metadata)
    moves = trace.transfers
    ends = [(trace.names[trace.name[i]], int(trace.end[i])) for i in moves.source.tolist()]
    assert ends == [("x", 10), ("y", 185)]
    ends = [(trace.names[trace.name[i]], int(trace.end[i])) for i in moves.target.tolist()]
    assert ends == [("x", 45), ("y", 240)]
    assert moves.tensor == ["x", "y"]
    assert trace.skew_ns == {"/job:w/replica:0/task:0": 0}


def test_an_empty_trace_is_a_trace() -> None:
    trace = read_step(b"")
    assert (len(trace), trace.lanes, trace.duration_ns) == (0, [], 0)
