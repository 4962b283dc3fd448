from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.graphs_client import GraphsClient
from fixtures.traces import metadata_of, node_stats, planted_trace, two_tasks, write_log
from flask import Flask

from headrace.board.board import Board
from headrace.board.errors import BadRequest, NotFound
from headrace.board.panels.traces import TracesPanel
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto import event_pb2, graph_pb2
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.run_pb2 import RunMetadata
from headrace.formats.proto.summary_pb2 import Summary


def client_of(logdir: Path) -> Any:
    board = Board(logdir).load()
    app = Flask(__name__)
    app.register_blueprint(TracesPanel(board).blueprint())
    app.register_error_handler(BadRequest, lambda error: (str(error), 400))
    app.register_error_handler(NotFound, lambda error: (str(error), 404))
    return app.test_client()


def get(client: Any, path: str, status: int = 200) -> Any:
    reply = client.get(f"/api/v1/{path}", headers={"Accept": "application/json"})
    assert reply.status_code == status, reply.data
    return json.loads(reply.data) if reply.is_json else reply.data.decode()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logs")
    graph = graph_pb2.GraphDef()
    graph.node.add(name="a/MatMul", op="MatMul")
    small = two_tasks().SerializeToString()
    slower = metadata_of(w0_CPU_0=[node_stats("a/MatMul", 0, 9000, "a/MatMul = MatMul")])
    write_log(logdir / "small", {5: small, 9: slower.SerializeToString()}, graph, losses=10)
    write_log(logdir / "big", {3: planted_trace(40_000).metadata})
    write_log(logdir / "corrupted", {1: small[:-3]})
    return client_of(logdir)


def by_run(client: Any) -> dict[tuple[int, int], int]:
    return {(t["run"], t["step"]): t["id"] for t in get(client, "traces")["traces"]}


def trace_of(client: Any, step: int) -> int:
    return next(number for (_, s), number in by_run(client).items() if s == step)


def test_all_traces_are_listed_with_their_steps(client: Any) -> None:
    """That of step 2 times no node."""
    rows = get(client, "traces")["traces"]
    assert sorted(row["step"] for row in rows) == [1, 3, 5, 9]
    assert all(row["bytes"] > 0 for row in rows)


def test_a_trace_is_columns_with_lanes_and_names(client: Any) -> None:
    number = trace_of(client, 5)
    reply = get(client, f"trace/{number}?px=1000")
    assert [lane["task_title"] for lane in reply["lanes"]] == ["w 0", "w 1"]
    columns = reply["columns"]
    names = [reply["names"][i] for i in columns["name"]]
    assert set(names) >= {"a/MatMul", "c/Add", "b/Conv2D"}
    assert sum(columns["count"]) == reply["n"] == 8
    at = names.index("c/Add")
    assert columns["wait"][at] == 100
    assert reply["ops"][columns["op"][at]] == "Add"


def test_the_summary_has_what_delayed_the_step(client: Any) -> None:
    number = trace_of(client, 3)
    before = get(client, f"trace/{number}?px=100")
    summary = get(client, f"trace/{number}/summary")
    (stall,) = summary["stalls"]
    assert (stall["wait_ns"], stall["kind"]) == (5_000_000, "receive")
    assert stall["to"]["node"].startswith("recv_edge")
    assert stall["from"]["node"].startswith("send_edge")
    assert stall["to"]["slice"] in [row["slice"] for row in summary["critical_path"]]
    assert summary["critical"]["self_ns"] + summary["critical"]["gap_ns"] == before["duration_ns"]
    after = get(client, f"trace/{number}?px=100")
    assert (before["analysed"], after["analysed"]) == (False, True)
    assert max(before["columns"]["critical"]) == 0 < max(after["columns"]["critical"])


def test_totals_of_a_selection_are_of_what_lies_in_it(client: Any) -> None:
    number = trace_of(client, 5)
    totals = get(client, f"trace/{number}/totals?t0=500&t1=1050&lanes=0")["totals"]
    assert {row["op"]: row["total_ns"] for row in totals["by_op"]} == {"MatMul": 500, "_Send": 50}
    assert totals["by_device"] == [
        {"device": "/job:w/replica:0/task:0/CPU:0", "count": 2, "total_ns": 550, "max_ns": 500}
    ]


def test_a_slice_has_all_that_the_trace_records(client: Any) -> None:
    number = trace_of(client, 5)
    details = get(client, f"trace/{number}/slice?slice=0")
    assert (details["node"], details["op"], details["start"], details["end"]) == (
        "a/MatMul",
        "MatMul",
        0,
        1000,
    )
    assert details["inputs"] == ["x", "y"]
    (output,) = details["outputs"]
    assert (output["shape"], output["dtype"], output["requested_bytes"]) == (
        [1024],
        "float32",
        4096,
    )
    assert details["wall_start_ns"] == "1795000000000000000"


def test_a_node_is_found_in_every_step(client: Any) -> None:
    number = trace_of(client, 5)
    rows = get(client, f"trace/{number}/slice?name=a/MatMul")["slices"]
    assert [(row["step"], row["dur"]) for row in rows] == [(5, 1000), (9, 9000)]


def test_a_search_over_steps_lists_unreadable_traces(tmp_path: Path) -> None:
    step = two_tasks().SerializeToString()
    write_log(tmp_path, {1: step, 2: step[:-3], 3: step})
    client = client_of(tmp_path)
    reply = get(client, f"trace/{trace_of(client, 1)}/slice?name=a/MatMul")
    assert [row["step"] for row in reply["slices"]] == [1, 3]
    (skipped,) = reply["skipped"]
    assert skipped["step"] == 2 and "corrupted" in skipped["error"]


def test_a_record_that_is_no_longer_an_event_is_rejected_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = event_pb2.Event(step=4, wall_time=1.0)
    value = event.summary.value.add(tag="batch")
    value.metadata.plugin_data.plugin_name = "graph_run_metadata"
    value.tensor.dtype = 7
    value.tensor.string_val.append(two_tasks().SerializeToString())
    with EventFileWriter(tmp_path) as writer:
        writer.write(event)
    client = client_of(tmp_path)
    (row,) = get(client, "traces")["traces"]
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[-event.ByteSize() :] = b"\xff" * event.ByteSize()
    path.write_bytes(data)
    assert "cannot be read" in get(client, f"trace/{row['id']}", 422)["error"]


def test_traces_have_keys_that_last(tmp_path: Path) -> None:
    step = two_tasks().SerializeToString()
    for suffix in (".a", ".b"):
        with EventFileWriter(tmp_path / "run", suffix) as writer:
            for tag in ("step 5", "train/5"):
                event = event_pb2.Event(wall_time=1.0, step=5)
                event.tagged_run_metadata.tag = tag
                event.tagged_run_metadata.run_metadata = step
                writer.write(event)
    keys = [row["key"] for row in get(client_of(tmp_path), "traces")["traces"]]
    assert sorted(keys) == [
        "5.2/step%205/run",
        "5.2/train%2F5/run",
        "5/step%205/run",
        "5/train%2F5/run",
    ]


def test_slices_of_a_body_carry_the_name_that_the_graph_knows(tmp_path: Path) -> None:
    graph = graph_pb2.GraphDef()
    function = graph.library.function.add()
    function.signature.name = "step"
    function.node_def.add(name="dense/MatMul", op="MatMul")
    graph.node.add(name="plain", op="Add")
    nodes = [
        node_stats("dense/MatMul", 0, 100, "dense/MatMul = MatMul()"),
        node_stats("plain", 200, 100, "plain = Add()"),
        node_stats("nobody", 400, 100, "nobody = Add()"),
    ]
    write_log(tmp_path, {1: metadata_of(w0_CPU_0=nodes).SerializeToString()}, graph)
    client = client_of(tmp_path)
    names = get(client, "trace/0/names")
    body = names["names"].index("dense/MatMul")
    assert names["graph_nodes"] == {str(body): "functions/step/dense/MatMul"}
    details = [get(client, f"trace/0/slice?slice={i}")["graph_node"] for i in range(3)]
    assert details == ["functions/step/dense/MatMul", "plain", ""]
    path = get(client, "trace/0/summary")["critical_path"]
    assert {row["node"]: row["graph_node"] for row in path}["plain"] == "plain"
    assert get(client, "trace/0/slices?prefix=dense")["columns"]["slice"] == [0]
    assert get(client, "trace/0/slices?prefix=den")["n"] == 0


def test_names_can_be_searched_and_their_slices_found(client: Any) -> None:
    number = trace_of(client, 5)
    listed = get(client, f"trace/{number}/names")
    at = listed["names"].index("b/Conv2D")
    found = get(client, f"trace/{number}/slices?names={at}")
    assert (found["n"], found["columns"]["dur"]) == (1, [2400])
    same = get(client, f"trace/{number}/slices?name=b/Conv2D")
    assert same["columns"] == found["columns"]
    assert get(client, f"trace/{number}/slices?name=nowhere")["n"] == 0


def test_steps_are_compared(client: Any) -> None:
    ids = f"{trace_of(client, 5)},{trace_of(client, 9)}"
    reply = get(client, f"trace/compare?ids={ids}")
    assert {"op": "MatMul", "totals_ns": [1000, 9000]} in reply["ops"]
    assert reply["nodes"][0] == {"name": "a/MatMul", "durations": [1000, 9000]}


def test_memory_and_export_return_data(client: Any) -> None:
    number = trace_of(client, 3)
    memory = get(client, f"trace/{number}/memory?px=200")
    assert {row["name"] for row in memory["allocators"]} == {"cpu"}
    for i in range(len(memory["allocators"])):
        assert len(memory["columns"][f"time_{i}"]) <= 4 * 201
    reply = client.get(f"/api/v1/trace/{number}/chrome.json")
    assert "attachment" in reply.headers["Content-Disposition"]
    events = json.loads(reply.data)["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == get(client, f"trace/{number}?px=1")["slices"]


def test_binary_and_json_replies_have_the_same_contents(client: Any) -> None:
    number = trace_of(client, 5)
    reply = client.get(f"/api/v1/trace/{number}?px=50")
    size = int.from_bytes(reply.data[:4], "little")
    header = json.loads(reply.data[4 : 4 + size])
    placed = next(c for c in header["columns"] if c["name"] == "dur")
    assert placed["dtype"] == "u16"
    dur = np.frombuffer(reply.data, "<u2", placed["length"], 4 + size + placed["offset"])
    assert dur.tolist() == get(client, f"trace/{number}?px=50")["columns"]["dur"]


def test_a_corrupted_trace_is_reported_and_affects_no_other(client: Any) -> None:
    corrupted = get(client, f"trace/{trace_of(client, 1)}", 422)
    assert "cannot be read" in corrupted["error"]
    assert get(client, f"trace/{trace_of(client, 3)}")["slices"] > 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("trace/999", 404),
        ("trace/{id}?px=0", 400),
        ("trace/{id}?px=9000", 400),
        ("trace/{id}?t0=5&t1=5", 400),
        ("trace/{id}?t0=nan", 400),
        ("trace/{id}?t1=1e300", 400),
        ("trace/{id}?t0=-1e308&t1=1e308", 400),
        ("trace/{id}?lanes=7", 400),
        ("trace/{id}?lanes=x", 400),
        ("trace/{id}/slice", 400),
        ("trace/{id}/slice?slice=8", 404),
        ("trace/{id}/slices", 400),
        ("trace/{id}/slices?names=99999", 400),
        ("trace/{id}/totals?t0=9&t1=1", 400),
        ("trace/{id}/memory?px=-1", 400),
        ("trace/compare", 400),
        ("trace/compare?ids=999", 404),
        ("trace/compare?ids=1,2,3,4,5,6,7,8,9", 400),
    ],
)
def test_invalid_arguments_are_rejected_with_a_message(client: Any, path: str, status: int) -> None:
    replies = get(client, path.format(id=trace_of(client, 5)), status)
    assert len(str(replies)) > 10


def test_a_trace_as_tensorflow_2_writes_it_is_a_trace(tmp_path: Path) -> None:
    event = event_pb2.Event(step=4, wall_time=1.0)
    value = event.summary.value.add(tag="batch")
    value.metadata.plugin_data.plugin_name = "graph_run_metadata"
    value.tensor.dtype = 7
    value.tensor.string_val.append(two_tasks().SerializeToString())
    with EventFileWriter(tmp_path) as writer:
        writer.write(event)
    client = client_of(tmp_path)
    (row,) = get(client, "traces")["traces"]
    assert (row["step"], row["tag"]) == (4, "batch")
    assert get(client, f"trace/{row['id']}")["slices"] == 8
    assert get(client, f"trace/{row['id']}/slice?slice=0")["node"] == "a/MatMul"


def test_a_trace_of_very_many_lanes_lists_the_first_of_them(tmp_path: Path) -> None:
    nodes = [node_stats(f"n{i}_A", 0, 100) for i in range(2500)]
    write_log(tmp_path, {1: metadata_of(w0_CPU_0=nodes).SerializeToString()})
    client = client_of(tmp_path)
    (row,) = get(client, "traces")["traces"]
    reply = get(client, f"trace/{row['id']}?px=100")
    assert (reply["lane_count"], len(reply["lanes"]), len(reply["shown_lanes"])) == (
        2500,
        2000,
        256,
    )
    assert max(reply["columns"]["lane"]) == 255


def test_each_slice_is_read_again_from_the_log_as_it_was_written(client: Any) -> None:
    number = trace_of(client, 5)
    written = [n for d in two_tasks().step_stats.dev_stats for n in d.node_stats]
    replies = [get(client, f"trace/{number}/slice?slice={i}")["label"] for i in range(len(written))]
    assert sorted(replies) == sorted(node.timeline_label for node in written)


def test_run_metadata_without_times_is_no_trace(tmp_path: Path) -> None:
    """As PyTorch's add_graph and trace_export(graph=True) write it."""
    empty = RunMetadata()
    empty.step_stats.dev_stats.add(device="/device:CPU:0")
    graph_only = RunMetadata()
    graph_only.function_graphs.add().partition_graphs.add().node.add(name="x", op="NoOp")
    timed = RunMetadata()
    timed.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add(
        node_name="x", all_start_micros=5, all_end_rel_micros=3
    )
    with EventFileWriter(tmp_path) as writer:
        for step, metadata in enumerate((empty, graph_only, RunMetadata(), timed)):
            event = Event(wall_time=1.0, step=step)
            event.tagged_run_metadata.tag = f"step{step}"
            event.tagged_run_metadata.run_metadata = metadata.SerializeToString()
            writer.write(event)
        value = Summary.Value(tag="exported")
        value.metadata.plugin_data.plugin_name = "graph_run_metadata_graph"
        value.tensor.dtype = 7
        value.tensor.string_val.append(graph_only.SerializeToString())
        writer.write(Event(wall_time=2.0, step=9, summary=Summary(value=[value])))
    client = GraphsClient(tmp_path)
    assert [row["step"] for row in client.get("traces")["traces"]] == [3]
    # The graphs of these records can be opened all the same.
    assert {row["kind"] for row in client.graphs().values()} == {"run_metadata"}
