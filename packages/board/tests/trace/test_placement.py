"""Placements: what a node took, orders and searches, odd reports."""

from __future__ import annotations

import math

import pytest
from fixtures.placements import CPU, GPU, OTHER, large_placed_step, placed_step
from fixtures.traces import metadata_of, node_stats

from headrace.board.trace.placement.node_times import node_times
from headrace.board.trace.placement.placement import Placement, device_titles
from headrace.board.trace.placement.placement_response import (
    ORDERS,
    chosen_nodes,
    node_row,
    placement_summary,
)
from headrace.board.trace.reading.read_step import read_step
from headrace.formats.proto.run_pb2 import RunMetadata


def placement_of(metadata: RunMetadata) -> Placement:
    trace = read_step(metadata.SerializeToString())
    return Placement(metadata.placement, trace, [""] * len(metadata.placement.node))


def names(placement: Placement, order: str, text: str = "", device: int | None = None) -> list[str]:
    return [placement.names[i] for i in chosen_nodes(placement, order, text, device).tolist()]


def test_the_time_of_a_fused_node_is_divided_and_the_turns_of_a_loop_are_added() -> None:
    nodes = [node_stats("b", 1000 * i, 600, "a = Mul; b = Add") for i in range(3)]
    nodes += [node_stats("a", 9000, 100, "a = Mul")]
    times = node_times(read_step(metadata_of(w0_CPU_0=nodes).SerializeToString()))
    assert times == pytest.approx({"a": 1.0, "b": 0.9})


def test_kernels_of_a_gpu_are_counted_once_and_copies_not_at_all() -> None:
    stats = [node_stats("a", 0, 5000, "a = MatMul")]
    metadata = metadata_of(w0_GPU_0=stats)
    for stream, name in (("stream:0", "a:MatMul"), ("stream:all", "a:MatMul"), ("memcpy", "a:x")):
        metadata.step_stats.dev_stats.add(
            device=f"{GPU}/{stream}", node_stats=[node_stats(name, 100, 2000)]
        )
    assert node_times(read_step(metadata.SerializeToString())) == pytest.approx({"a": 2.0})


def test_measured_times_are_those_of_the_trace_then_those_of_the_report() -> None:
    placement = placement_of(placed_step())
    rows = {row["node"]: row for row in (node_row(placement, i) for i in range(len(placement)))}
    measured = {name: (row["measured_us"], row["of_trace"]) for name, row in rows.items()}
    assert measured == {
        "layer/weights": (None, False),
        "images": (4.0, True),
        "layer/read": (0.5, True),
        "layer/MatMul": (32.0, True),
        "layer/Relu": (3.0, True),
        "loss": (3.0, False),
    }
    assert rows["layer/MatMul"]["ratio"] == pytest.approx(3.2)
    assert rows["layer/weights"]["ratio"] is None


def test_devices_have_the_sums_of_their_nodes_and_short_names() -> None:
    placement = placement_of(placed_step())
    summary = placement_summary(placement)
    rows = {row["title"]: row for row in summary["devices"]}
    assert list(rows) == ["w 0 · CPU:0", "w 0 · GPU:0", "w 1 · CPU:0"]
    assert (rows["w 0 · GPU:0"]["expected_us"], rows["w 0 · GPU:0"]["measured_us"]) == (22.0, 35.0)
    assert (rows["w 1 · CPU:0"]["nodes"], rows["w 1 · CPU:0"]["measured_nodes"]) == (2, 1)
    assert (summary["unused_devices"], summary["transfer_bytes"]) == (1, 3 << 20)
    assert device_titles([CPU, GPU]) == ["CPU:0", "GPU:0"]
    assert device_titles(["/cpu:0", "/device:CPU:0"]) == ["/cpu:0", "/device:CPU:0"]
    assert device_titles([CPU, OTHER]) == ["w 0 · CPU:0", "w 1 · CPU:0"]


def test_nodes_are_sorted_and_those_without_a_figure_are_last() -> None:
    placement = placement_of(placed_step())
    assert names(placement, "measured")[-1] == names(placement, "-measured")[-1] == "layer/weights"
    assert names(placement, "-ratio")[0] == "layer/MatMul"
    assert names(placement, "-bytes")[0] == "layer/read"
    assert names(placement, "name") == sorted(placement.names)
    assert names(placement, "-name") == sorted(placement.names, reverse=True)
    for order in ORDERS:
        assert sorted(names(placement, order)) == sorted(names(placement, f"-{order}"))


def test_a_search_finds_names_and_ops_in_any_case_on_one_device() -> None:
    placement = placement_of(placed_step())
    assert names(placement, "start", "LAYER/r") == ["layer/read", "layer/Relu"]
    assert names(placement, "start", "identity") == ["layer/read"]
    assert names(placement, "start", "", placement.devices.index(OTHER)) == [
        "layer/weights",
        "layer/read",
    ]
    assert names(placement, "start", "nothing") == []


def test_odd_figures_devices_and_reasons_are_shown_as_unknown() -> None:
    metadata = placed_step()
    node = metadata.placement.node[3]
    node.expected_us, node.start_us, node.output_bytes = math.nan, math.inf, -5
    node.device, node.reason, node.estimate[0].end_us = "nowhere", 77, -1.0
    metadata.placement.step_us = math.inf
    placement = placement_of(metadata)
    row = node_row(placement, 3)
    assert (row["expected_us"], row["start_us"], row["ratio"]) == (None, None, None)
    assert (row["output_bytes"], row["why"], row["title"]) == (0, "77", "nowhere")
    assert row["estimates"][0]["end_us"] is None
    summary = placement_summary(placement)
    assert summary["expected_us"] is None
    assert "nowhere" in [device["name"] for device in summary["devices"]]


def test_an_empty_placement_has_no_rows() -> None:
    metadata = metadata_of(w0_CPU_0=[])
    metadata.placement.SetInParent()
    placement = placement_of(metadata)
    summary = placement_summary(placement)
    assert (summary["nodes"], summary["devices"], summary["receives"]) == (0, [], None)
    assert names(placement, "-ratio", "x") == []


def test_a_large_placement_is_sorted_by_figures_of_its_nodes() -> None:
    placement = placement_of(large_placed_step())
    assert names(placement, "-expected")[:2] == ["n19999", "n19998"]
    assert names(placement, "-measured", "mul")[0] == "n19999"
    assert node_row(placement, 0)["measured_us"] == 1.0
