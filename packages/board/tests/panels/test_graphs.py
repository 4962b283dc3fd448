"""The routes of graphs, for graphs of a log and for uploads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures import graphs as example_graphs
from fixtures.traces import metadata_of, node_stats
from flask import Flask

from headrace.board.board import Board
from headrace.board.errors import BadRequest, NotFound
from headrace.board.graph.delta_encoding import unpacked
from headrace.board.graph.sources.graph_upload import graph_of_run_metadata
from headrace.board.panels.graphs import GraphsPanel
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef
from headrace.formats.proto.run_pb2 import RunMetadata
from headrace.formats.proto.saved_model_pb2 import SavedModel

OCTETS = {"Content-Type": "application/octet-stream", "X-Board": "1"}


def partitions() -> RunMetadata:
    metadata = metadata_of(w0_CPU_0=[node_stats("x", 0, 10), node_stats("layer_0/MatMul", 10, 60)])
    for device, op, name in (("cpu", "_Send", "x/_0"), ("gpu", "_Recv", "x/_1")):
        node = metadata.partition_graphs.add().node.add(name=name, op=op, device=device)
        node.attr["tensor_name"].s = b"edge_1"
    return metadata


def write_log(folder: Path) -> None:
    folder.mkdir(parents=True)
    writer = EventFileWriter(str(folder))
    writer.write(Event(wall_time=1.0, graph_def=example_graphs.small().SerializeToString()))
    meta = MetaGraphDef(graph_def=example_graphs.twins())
    writer.write(Event(wall_time=2.0, meta_graph_def=meta.SerializeToString()))
    event = Event(wall_time=3.0, step=7)
    event.tagged_run_metadata.tag = "step 7"
    event.tagged_run_metadata.run_metadata = partitions().SerializeToString()
    writer.write(event)
    writer.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logs")
    write_log(logdir / "run")
    board = Board(logdir).load()
    app = Flask(__name__)
    app.register_blueprint(GraphsPanel(board).blueprint())
    app.register_error_handler(BadRequest, lambda error: (str(error), 400))
    app.register_error_handler(NotFound, lambda error: (str(error), 404))
    return app.test_client()


def get(client: Any, path: str, status: int = 200) -> Any:
    reply = client.get(f"/api/v1/{path}", headers={"Accept": "application/json"})
    assert reply.status_code == status, reply.data
    return json.loads(reply.data) if reply.is_json else reply.data.decode()


def upload(client: Any, data: bytes, name: str = "mine", status: int = 200) -> Any:
    reply = client.post(f"/api/v1/graphs/upload?name={name}", data=data, headers=OCTETS)
    assert reply.status_code == status, reply.data
    return json.loads(reply.data)


def ids(client: Any) -> dict[str, int]:
    return {g["kind"]: g["id"] for g in get(client, "graphs")["graphs"]}


def decoded(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    dtypes = {"f64": "<f8", "i32": "<i4", "u32": "<u4", "i16": "<i2", "u16": "<u2", "u8": "u1"}
    columns = {
        c["name"]: np.frombuffer(data, dtypes[c["dtype"]], c["length"], 4 + length + c["offset"])
        for c in header["columns"]
    }
    return header, columns


def test_the_graphs_of_a_log_are_listed_by_kind(client: Any) -> None:
    assert {"graph_def", "meta_graph", "run_metadata"} <= set(ids(client))


def test_the_bundle_is_the_same_as_columns_and_as_json(client: Any) -> None:
    number = ids(client)["graph_def"]
    plain = get(client, f"graph/{number}")
    reply = client.get(f"/api/v1/graph/{number}")
    header, columns = decoded(reply.data)
    columns = unpacked(header, columns)
    assert header["strings"] == plain["strings"] and header["ops"] == plain["ops"] == 107
    assert plain["columns"].keys() == columns.keys()
    for name, values in plain["columns"].items():
        assert columns[name].tolist() == values, name


def test_the_bundle_is_not_sent_twice(client: Any) -> None:
    path = f"/api/v1/graph/{ids(client)['graph_def']}"
    first = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert first.headers["Content-Encoding"] == "gzip"
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and not again.data


def test_a_node_has_inputs_attributes_and_shapes(client: Any) -> None:
    number = ids(client)["graph_def"]
    card = get(client, f"graph/{number}/node?name=layer_0/BiasAdd")
    assert [end["name"] for end in card["inputs"]] == ["layer_0/MatMul", "layer_0/bias/read"]
    assert card["shapes"] == "float [?, 128]" and card["dtypes"] == ["float"]
    assert {"name": "T", "type": "type", "value": "float", "cut": False} in card["attrs"]
    assert get(client, f"graph/{number}/node?index={card['index']}")["name"] == card["name"]
    inner = get(client, f"graph/{number}/node?name=functions/twice/sum")
    assert inner["op"] == "Add" and inner["function"] == "twice"
    assert get(client, f"graph/{number}/node?name=layer_0/BiasAdd&full=1") == card
    get(client, f"graph/{number}/node?name=layer_0/BiasAdd&full=2", 400)
    get(client, f"graph/{number}/node?name=nobody", 404)
    get(client, f"graph/{number}/node?index=107", 400)


def test_partition_graphs_are_a_graph_with_transfers_as_edges(client: Any) -> None:
    number = ids(client)["run_metadata"]
    card = get(client, f"graph/{number}/node?name=x/_1")
    assert [end["name"] for end in card["inputs"]] == ["x/_0"]


@pytest.mark.parametrize("timed", [False, True])
def test_a_traced_function_shows_what_the_program_says_unless_ops_are_timed(timed: bool) -> None:
    metadata = partitions() if timed else RunMetadata()
    function = metadata.function_graphs.add()
    function.pre_optimization_graph.node.add(name="product", op="MatMul")
    function.post_optimization_graph.node.add(name="product", op="_MklMatMul")
    function.partition_graphs.add().node.add(name="product", op="_MklMatMul")
    graph = graph_of_run_metadata(metadata.SerializeToString())
    assert [node.op for node in graph.node] == ["_MklMatMul" if timed else "MatMul"]


def test_costs_of_a_trace_stand_at_their_nodes(client: Any) -> None:
    number = ids(client)["graph_def"]
    at = get(client, f"graph/{number}/node?name=layer_0/MatMul")["index"]
    columns = get(client, f"graph/{number}/costs?traces=0")["columns"]
    assert columns["runs"][at] == 1 and sum(columns["runs"]) == 2
    assert columns["time_us_median"][at] == pytest.approx(0.06)
    get(client, f"graph/{number}/costs?traces=99", 404)
    assert sum(get(client, f"graph/{number}/costs")["columns"]["runs"]) == 0


@pytest.mark.parametrize("form", ["GraphDef", "pbtxt", "MetaGraphDef", "SavedModel", "RunMetadata"])
def test_an_upload_is_recognised_by_its_content(client: Any, form: str) -> None:
    from google.protobuf import text_format

    graph = example_graphs.twins()
    meta = MetaGraphDef(graph_def=graph)
    meta.meta_info_def.tensorflow_version = "1.15.0"
    meta.meta_info_def.stripped_op_list.op.add(name="Add")
    data = {
        "GraphDef": graph.SerializeToString(),
        "pbtxt": text_format.MessageToString(graph).encode(),
        "MetaGraphDef": meta.SerializeToString(),
        "SavedModel": SavedModel(
            saved_model_schema_version=1, meta_graphs=[meta]
        ).SerializeToString(),
        "RunMetadata": RunMetadata(partition_graphs=[graph]).SerializeToString(),
    }[form]
    number = upload(client, data, form)["id"]
    assert get(client, f"graph/{number}")["ops"] == 186
    listed = {g["id"]: g for g in get(client, "graphs")["graphs"]}
    assert listed[number]["title"] == form and listed[number]["nodes"] == 186


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 100, b"\xff" * 1000, b"node {", b"{}", b"\x0a\x03abc", b"hello world"]
)
def test_an_upload_without_a_graph_is_rejected_with_a_message(client: Any, data: bytes) -> None:
    assert "cannot be shown" in upload(client, data, status=422)["error"]


def test_deeply_nested_bytes_are_rejected(client: Any) -> None:
    data = b""
    for _ in range(300):  # attr.value.func.attr.value.func...
        inner = b"\x0a\x01a\x12" + _length(data) + data
        inner = b"\x12" + _length(inner) + inner
        data = b"\x52" + _length(inner) + inner
    node = b"\x0a\x01x\x12\x01X" + b"\x2a" + _length(b"\x0a\x01a\x12" + _length(data) + data)
    node += b"\x0a\x01a\x12" + _length(data) + data
    upload(client, b"\x0a" + _length(node) + node, status=422)
    text = "node { name: 'x' op: 'X' attr { key: 'a' value " + "{ func { attr { value " * 2000
    upload(client, text.encode(), status=422)


def _length(data: bytes) -> bytes:
    n, out = len(data), b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def test_two_graphs_are_compared_by_name(client: Any) -> None:
    other = example_graphs.small()
    removed = other.node[-1].name
    del other.node[-1]
    other.node.add(name="extra/Neg", op="Neg", input=["x"])
    next(n for n in other.node if n.name == "layer_0/Relu").op = "Elu"
    number = upload(client, other.SerializeToString())["id"]
    reply = get(client, f"graph/diff?a={ids(client)['graph_def']}&b={number}")
    assert reply["added"] == ["extra/Neg"] and reply["removed"] == [removed]
    assert [(c["name"], c["what"]) for c in reply["changed"]] == [
        ("layer_0/Relu", ["op: Relu -> Elu"])
    ]
    assert reply["same"] == 107 - 2
    kinds = get(client, f"graph/diff/kinds?a={ids(client)['graph_def']}&b={number}")["columns"]
    assert kinds["kinds"][reply["changed"][0]["vertex"]] == 2
    assert kinds["kinds"][reply["added_vertices"][0]] == 1
    assert kinds["kinds_a"][reply["removed_vertices"][0]] == 1
    assert (kinds["added"][0], kinds["removed"][0], kinds["changed"][0]) == (1, 1, 1)


def test_groups_of_one_family_are_compared(client: Any) -> None:
    number = ids(client)["meta_graph"]
    bundle = get(client, f"graph/{number}")
    labels = bytes(bundle["columns"]["labels"]).decode().split("\n")
    a, b = labels.index("long"), labels.index("long_near")
    reply = get(client, f"graph/diff?a={number}&group_a={a}&group_b={b}")
    assert reply["added"] == ["Neg"] and not reply["removed"] and not reply["changed"]
    get(client, f"graph/diff?a={number}&group_a=0&group_b={b}", 400)
    get(client, "graph/diff?a=77&b=78", 404)


def test_dot_of_a_view_has_clusters_for_open_groups(client: Any) -> None:
    number = ids(client)["graph_def"]
    bundle = get(client, f"graph/{number}")
    labels = bytes(bundle["columns"]["labels"]).decode().split("\n")
    loss = labels.index("loss")
    closed = get(client, f"graph/{number}/export.dot")
    opened = get(client, f"graph/{number}/export.dot?open={loss},999999,-3")
    assert "subgraph" not in closed and "xentropy" not in closed
    assert f"subgraph cluster_{loss}" in opened and "xentropy" in opened
    assert closed.startswith("digraph") and closed.count("{") == closed.count("}")


def test_corrupted_and_absent_graphs_are_rejected_with_a_message(
    client: Any, tmp_path: Path
) -> None:
    get(client, "graph/999", 404)
    with EventFileWriter(str(tmp_path)) as writer:
        writer.write(Event(graph_def=b"\x0a\xff\xff"))
    app = Flask(__name__)
    app.register_blueprint(GraphsPanel(Board(tmp_path).load()).blueprint())
    reply = app.test_client().get("/api/v1/graph/0")
    assert reply.status_code == 422 and b"corrupted" in reply.data


def test_only_the_last_uploads_are_kept(client: Any) -> None:
    data = [GraphDef(node=[{"name": f"a{i}", "op": "NoOp"}]).SerializeToString() for i in range(9)]
    first = upload(client, data[0])["id"]
    for other in data[1:]:
        last = upload(client, other)["id"]
    get(client, f"graph/{first}", 404)
    assert get(client, f"graph/{last}")["ops"] == 1


@pytest.mark.parametrize("writer", ["tf1", "torch"])
def test_graphs_in_logs_of_others_are_shown(writer: str) -> None:
    board = Board(Path(__file__).parents[1] / "golden" / writer).load()
    app = Flask(__name__)
    app.register_blueprint(GraphsPanel(board).blueprint())
    client = app.test_client()
    rows = get(client, "graphs")["graphs"]
    assert rows
    for row in rows:
        bundle = get(client, f"graph/{row['id']}")
        assert bundle["ops"] > 0 and len(bundle["columns"]["edge_src"]) > 0
