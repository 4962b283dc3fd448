"""The placement of traced steps over HTTP: pages of nodes, damaged reports, the node of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures.panel_client import PanelClient
from fixtures.placements import large_placed_step, placed_graph, placed_step
from fixtures.traces import two_tasks, write_log

from headrace.board.trace.placement import placement_cache
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto import event_pb2, graph_pb2

PLACED, LARGE, WITHOUT, DAMAGED, NOT_TEXT = 1, 2, 3, 4, 5


def damaged(content: bytes) -> bytes:
    """A step trace whose field 10001 has this content."""
    assert len(content) < 128
    return two_tasks().SerializeToString() + b"\x8a\xf1\x04" + bytes([len(content)]) + content


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    folder = tmp_path_factory.mktemp("placements")
    steps = {
        PLACED: placed_step().SerializeToString(),
        LARGE: large_placed_step().SerializeToString(),
        WITHOUT: two_tasks().SerializeToString(),
        DAMAGED: damaged(b"\x0a\x7f"),  # a node that is longer than the report
        NOT_TEXT: damaged(b"\x0a\x03\x0a\x01\xff"),  # a name that is not UTF-8
    }
    write_log(folder / "run", steps, placed_graph())
    return PanelClient(folder)


def ids(client: PanelClient) -> dict[int, int]:
    return {row["step"]: row["id"] for row in client.get("/traces")["traces"]}


def of_step(client: PanelClient, step: int, rest: str = "", status: int = 200) -> Any:
    return client.get(f"/trace/{ids(client)[step]}/placement{rest}", status)


def test_a_placement_has_sums_transfers_and_receives(client: PanelClient) -> None:
    found = of_step(client, PLACED)["placement"]
    assert (found["nodes"], found["simulated"]) == (6, True)
    assert (found["expected_us"], found["first_devices_us"]) == (31.5, 78.25)
    assert found["measured_us"] == 50.0
    (move,) = found["transfers"]
    assert (move["from"], move["to"], move["bytes"]) == ("w 1 · CPU:0", "w 0 · GPU:0", 3 << 20)
    assert found["receives"]["peak_bytes_before"] == 7 << 20


def test_a_trace_without_a_placement_says_so(client: PanelClient) -> None:
    assert of_step(client, WITHOUT)["placement"] is None
    assert "no placement" in of_step(client, WITHOUT, "/nodes", 404)["error"]


def test_nodes_come_in_parts_and_say_how_many_there_are(client: PanelClient) -> None:
    reply = of_step(client, LARGE, "/nodes?order=-expected&from=2&count=3&find=add")
    assert (reply["n"], reply["from"]) == (10_000, 2)
    assert [row["node"] for row in reply["nodes"]] == ["n19994", "n19992", "n19990"]
    assert len(of_step(client, LARGE, "/nodes")["nodes"]) == 100
    assert of_step(client, LARGE, "/nodes?from=20000")["nodes"] == []


def test_a_node_says_why_it_is_where_it_is(client: PanelClient) -> None:
    rows = {row["node"]: row for row in of_step(client, PLACED, "/nodes")["nodes"]}
    assert rows["images"]["why"] == "kernels" and rows["images"]["request_ignored"]
    assert rows["images"]["requested"] == "/device:GPU:0"
    assert (rows["layer/Relu"]["why"], rows["layer/Relu"]["with"]) == ("colocated", "layer/MatMul")
    assert rows["layer/MatMul"]["graph_node"] == "layer/MatMul"
    ends = [(e["title"], e["end_us"]) for e in rows["layer/MatMul"]["estimates"]]
    assert ends == [("w 0 · GPU:0", 15.0), ("w 0 · CPU:0", 48.5)]


@pytest.mark.parametrize("step", [DAMAGED, NOT_TEXT])
def test_a_damaged_placement_is_an_error_and_its_trace_is_still_shown(
    client: PanelClient, step: int
) -> None:
    for rest in ("", "/nodes"):
        error = of_step(client, step, rest, 422)["error"]
        assert error == "the placement cannot be read: its bytes are not a PlacementReport"
    assert client.get(f"/trace/{ids(client)[step]}?px=100", 200)["slices"] == 8


def test_a_record_that_is_cut_short_is_an_error(tmp_path: Path) -> None:
    write_log(tmp_path, {1: placed_step().SerializeToString()[:-3], 2: b"\xff" * 9})
    client = PanelClient(tmp_path)
    for number in (0, 1):
        assert "is corrupted" in client.get(f"/trace/{number}/placement", 422)["error"]


def test_a_placement_that_tensorflow_s_writer_has_logged_is_read(tmp_path: Path) -> None:
    event = event_pb2.Event(step=4, wall_time=1.0)
    value = event.summary.value.add(tag="batch")
    value.metadata.plugin_data.plugin_name = "graph_run_metadata"
    value.tensor.dtype = 7
    value.tensor.string_val.append(placed_step().SerializeToString())
    with EventFileWriter(tmp_path) as writer:
        writer.write(event)
    assert PanelClient(tmp_path).get("/trace/0/placement")["placement"]["nodes"] == 6


def test_no_request_but_those_for_placements_reads_them(
    client: PanelClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the placement was read")

    monkeypatch.setattr(placement_cache, "read_report", fail)
    number = ids(client)[LARGE]
    for rest in ("?px=100", "/summary", "/names", "/memory", "/totals", "/slice?slice=0"):
        client.get(f"/trace/{number}{rest}")


def test_the_node_of_a_graph_has_its_placement_in_the_nearest_step(client: PanelClient) -> None:
    graph = client.get("/graphs")["graphs"][0]["id"]
    reply = client.get(f"/graph/{graph}/placement?name=layer/MatMul")
    assert (reply["step"], reply["node"]["why"]) == (PLACED, "simulated")
    assert client.get(f"/graph/{graph}/placement?name=n5&step=1")["step"] == LARGE
    assert client.get(f"/graph/{graph}/placement?name=nowhere")["node"] is None
    client.get(f"/graph/{graph}/placement", 400)
    client.get("/graph/99/placement?name=a", 404)


def test_a_node_in_a_function_s_body_is_found_by_its_name_in_the_graph(tmp_path: Path) -> None:
    graph = graph_pb2.GraphDef()
    function = graph.library.function.add()
    function.signature.name = "step"
    for name, op in (("layer/MatMul", "MatMul"), ("layer/Relu", "Relu")):
        function.node_def.add(name=name, op=op)
    write_log(tmp_path, {1: placed_step().SerializeToString()}, graph)
    client = PanelClient(tmp_path)
    number = client.get("/graphs")["graphs"][0]["id"]
    reply = client.get(f"/graph/{number}/placement?name=functions/step/layer/MatMul")
    assert reply["node"]["node"] == "layer/MatMul"
    assert reply["node"]["graph_node"] == "functions/step/layer/MatMul"


@pytest.mark.parametrize(
    "rest", ["order=size", "order=--name", "from=-1", "count=0", "count=1001", "device=9"]
)
def test_invalid_arguments_are_rejected_with_a_message(client: PanelClient, rest: str) -> None:
    assert len(of_step(client, PLACED, f"/nodes?{rest}", 400)["error"]) > 10
    client.get("/trace/999/placement", 404)
