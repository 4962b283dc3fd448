"""Traces with odd names, clocks and sizes are read or rejected, in bounded time."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.traces import metadata_of, node_stats

from headrace.board.trace.analysis import critical_path as walking
from headrace.board.trace.analysis.critical_path import critical_path
from headrace.board.trace.reading.clock_skew import clock_shifts
from headrace.board.trace.reading.device_name import in_reading_order, read_device
from headrace.board.trace.reading.graph_edges import read_edges
from headrace.board.trace.reading.read_step import read_step
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.trace.reading.timeline_label import TimelineLabel, read_label
from headrace.formats.proto import graph_pb2, run_pb2


@pytest.mark.parametrize(
    "name", ["GPU:1\u00b23", "GPU:" + "7" * 5000, "task:\u0663", "", "\u00b2", "1" * 10**6]
)
def test_any_digits_in_a_device_are_put_in_order(name: str) -> None:
    names = [name, "GPU:2", "GPU:10", ""]
    assert sorted(names, key=in_reading_order).index("GPU:2") < sorted(
        names, key=in_reading_order
    ).index("GPU:10")
    result = run_pb2.RunMetadata()
    for device in (f"/job:w/task:0/device:{name}", f"/job:{name}/replica:0/task:1/cpu:0"):
        result.step_stats.dev_stats.add(device=device, node_stats=[node_stats("a", 0, 5)])
        assert read_device(device).title_of_task
    assert len(read_step(result.SerializeToString())) == 2


def test_clocks_that_are_decades_apart_are_rejected_with_a_message() -> None:
    first = "/job:w/replica:0/task:0/device:CPU:0"
    second = "/job:w/replica:0/task:1/device:CPU:0"
    result = metadata_of(
        w0_CPU_0=[node_stats("s", 0, 9, f"s = _Send(e @{second})")],
        w1_CPU_0=[node_stats("r", 0, 9, f"r = _Recv(e @{first})")],
    )
    receive = result.step_stats.dev_stats[1].node_stats[0]
    receive.all_start_nanos = receive.scheduled_nanos = 1
    result.step_stats.dev_stats[0].node_stats[0].all_start_nanos = 2**62 - 10
    with pytest.raises(TraceError, match="decades apart"):
        read_step(result.SerializeToString())


def test_shifts_of_very_many_tasks_are_found_outwards() -> None:
    tasks = 3000  # a ring in which each is 10 behind the one before
    source = np.arange(tasks - 1)
    cause = np.full(tasks - 1, 100)
    assert clock_shifts(tasks, source, source + 1, cause, cause - 10)[-1] == 10 * (tasks - 1)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("r = _Recv(edge_1_a @/job:w/cpu:0)", ("edge_1_a", "/job:w/cpu:0")),
        ("r = _Recv(edge_1_a@/job:w/cpu:0)", ("edge_1_a", "/job:w/cpu:0")),
        ("r = _Recv(a b @ dev)", ("a b", "dev")),
        ("r = _Recv(a@b@c)", ("a", "b@c")),
        ("r = _Recv(nothing here)", ("", "")),
        ("r = _Recv(a@)", ("", "")),
    ],
)
def test_a_transfer_label_names_tensor_and_device(label: str, expected: tuple[str, str]) -> None:
    read = read_label("r", label, False)
    assert (read.tensor, read.source) == expected


@pytest.mark.parametrize(
    ("label", "tensor"),
    [
        ("[0.2MB] [4.5Gb/s] t from a to b", "t"),
        ("[0.2MB]t from a to b", "t"),
        ("t from a to b", "t"),
        ("t from a", ""),
        ("[0.2MB t from a to b", ""),
    ],
)
def test_a_recv_tensor_label_names_its_tensor(label: str, tensor: str) -> None:
    assert read_label("RecvTensor", label, False).tensor == tensor


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("RecvTensor", "[]" * 10**6),
        ("r", "r = _Recv(" + "@" * 10**6 + " )"),
        ("r", "r = _Recv(" + " " * 10**6 + "x )"),
        ("r", "[x]" + " " * 10**6),
    ],
)
def test_hostile_labels_are_read_in_one_go(name: str, label: str) -> None:
    assert isinstance(read_label(name, label, False), TimelineLabel)


def test_a_loop_of_very_many_turns_has_a_critical_path() -> None:
    turns = 30_000
    nodes = []
    for i in range(turns):
        nodes.append(node_stats("body", 20 * i, 8, "body = Add(next)", thread=i % 2))
        nodes.append(node_stats("next", 20 * i + 10, 8, "next = Mul(body)", thread=i % 2))
    path = critical_path(read_step(metadata_of(w0_CPU_0=nodes).SerializeToString()))
    assert len(path) == 2 * turns and set(path.why) == {"end", "input"}


def test_an_arrival_of_each_turn_of_a_loop_finds_the_turn_that_made_it() -> None:
    turns = 5000
    first = "/job:w/replica:0/task:0/device:CPU:0"
    second = "/job:w/replica:0/task:1/device:CPU:0"
    label = f"edge_1_body from {first} to {second}"
    result = metadata_of(
        w0_CPU_0=[node_stats("body", 20 * i, 8, "body = Add()") for i in range(turns)],
        w1_CPU_0=[node_stats("RecvTensor", 20 * i + 9, 5, label) for i in range(turns)],
    )
    trace = read_step(result.SerializeToString())
    moves = trace.transfers
    assert len(moves) == turns
    assert (trace.start[moves.target] - trace.start[moves.source] == 9).all()


def test_a_search_for_inputs_through_a_whole_graph_stops_with_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walking, "_MAX_BETWEEN", 50)
    graph = graph_pb2.GraphDef()
    graph.node.add(name="root", op="Const")
    silent = [
        graph.node.add(name=f"silent{i}", op="Identity", input=["root"]).name for i in range(200)
    ]
    graph.node.add(name="out", op="AddN", input=silent)
    result = metadata_of(w0_CPU_0=[node_stats("out", 10, 5, "plain label")])
    trace = read_step(result.SerializeToString())
    assert critical_path(trace, read_edges([graph])).cut_short == 1
    graph.node[-1].input[:] = silent[:10]
    assert critical_path(trace, read_edges([graph])).cut_short == 0


def test_very_many_allocators_have_a_curve_each() -> None:
    from headrace.board.trace.analysis.memory_curve import memory_curves

    node = node_stats("a", 0, 5)
    for i in range(5000):
        node.memory.add(allocator_name=f"pool {i}", allocator_bytes_in_use=i + 1)
    curves = memory_curves(read_step(metadata_of(w0_CPU_0=[node]).SerializeToString()))
    assert [curve.peak for curve in curves] == list(range(1, 5001))
