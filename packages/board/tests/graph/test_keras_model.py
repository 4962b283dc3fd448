"""The layers of Keras models: functional, sequential, nested, shared, subclassed, damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.graphs_client import GraphsClient

from headrace.board.graph.graph_bundle import analyse_graph
from headrace.board.graph.sources.graph_upload import NoGraphError
from headrace.board.graph.sources.keras_model import graph_of_keras_model
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.summary_pb2 import Summary


def layer(name: str, kind: str, *inputs: Any, **config: Any) -> dict[str, Any]:
    """A layer of Keras 3; an input is a name, or (name, call, output)."""
    tensors = [
        {
            "class_name": "__keras_tensor__",
            "config": {
                "shape": [None, 8],
                "dtype": "float32",
                "keras_history": [one, 0, 0] if isinstance(one, str) else list(one),
            },
        }
        for one in inputs
    ]
    nodes = [{"args": tensors, "kwargs": {}}] if tensors else []
    return {"class_name": kind, "config": {"name": name, **config}, "inbound_nodes": nodes}


def functional(name: str, ins: Any, outs: Any, *layers: dict[str, Any]) -> dict[str, Any]:
    config = {"name": name, "layers": list(layers), "input_layers": ins, "output_layers": outs}
    return {"class_name": "Functional", "config": config}


def edges(model: Any) -> dict[str, list[str]]:
    graph = graph_of_keras_model(json.dumps(model).encode())
    assert not analyse_graph(graph).columns.problems
    return {node.name: list(node.input) for node in graph.node}


def test_functional_model_has_an_edge_for_each_input() -> None:
    model = functional(
        "m",
        ["x", 0, 0],
        ["sum", 0, 0],
        layer("x", "InputLayer"),
        layer("a", "Dense", "x", units=8, dtype={"config": {"name": "float32"}}),
        layer("sum", "Add", "a", "x"),
    )
    assert edges(model) == {"x": [], "a": ["x"], "sum": ["a", "x"]}
    graph = graph_of_keras_model(json.dumps(model).encode())
    dense = graph.node[1]
    assert dense.op == "Dense" and dense.attr["units"].i == 8 and dense.attr["dtype"].type == 1
    shapes = dense.attr["_output_shapes"].list.shape
    assert [[d.size for d in shape.dim] for shape in shapes] == [[-1, 8]]


def test_sequential_model_is_a_chain() -> None:
    layers = [{"class_name": "Dense", "config": {"name": name}} for name in "abc"]
    model = {"class_name": "Sequential", "config": {"name": "s", "layers": layers}}
    assert edges(model) == {"a": [], "b": ["a"], "c": ["b"]}
    layers[1]["build_config"] = {"input_shape": [None, 16]}
    graph = graph_of_keras_model(json.dumps(model).encode())
    assert [d.size for d in graph.node[0].attr["_output_shapes"].list.shape[0].dim] == [-1, 16]
    # Keras 1 had the layers in place of the config.
    assert edges({"class_name": "Sequential", "config": layers}) == {
        "a": [],
        "b": ["a"],
        "c": ["b"],
    }


def test_models_within_models_are_scopes_through_which_the_edges_go() -> None:
    encoder = functional(
        "encoder",
        [["left", 0, 0], ["right", 0, 0]],
        [["first", 0, 0], ["second", 0, 0]],
        layer("left", "InputLayer"),
        layer("right", "InputLayer"),
        layer("first", "Dense", "left"),
        layer("second", "Dense", "right"),
    )
    encoder["inbound_nodes"] = layer("", "", "p", "q")["inbound_nodes"]
    head = {
        "class_name": "Sequential",
        "config": {"name": "head", "layers": [layer("d", "Dense"), layer("e", "Dense")]},
        "inbound_nodes": layer("", "", ("encoder", 0, 1))["inbound_nodes"],
    }
    model = functional(
        "m",
        [["p", 0, 0], ["q", 0, 0]],
        ["out", 0, 0],
        layer("p", "InputLayer"),
        layer("q", "InputLayer"),
        encoder,
        head,
        layer("out", "Add", "head", ("encoder", 0, 0)),
    )
    found = edges(model)
    assert found["encoder/left"] == ["p"] and found["encoder/right"] == ["q"]
    assert found["head/d"] == ["encoder/second"] and found["head/e"] == ["head/d"]
    assert found["out"] == ["head/e", "encoder/first"]


def test_a_shared_layer_has_a_node_for_each_call() -> None:
    shared = layer("shared", "Dense", "x")
    shared["inbound_nodes"] += layer("", "", ("shared", 0, 0))["inbound_nodes"]
    model = functional(
        "m", ["x", 0, 0], ["y", 0, 0], layer("x", "InputLayer"), shared,
        layer("y", "Relu", ("shared", 1, 0)),
    )  # fmt: skip
    assert edges(model) == {
        "x": [],
        "shared": ["x"],
        "shared (call 2)": ["shared"],
        "y": ["shared (call 2)"],
    }


def test_keras_2_names_inputs_as_lists() -> None:
    dense = {
        "class_name": "Dense",
        "config": {"name": "a"},
        "inbound_nodes": [[["x", 0, 0, {}]]],
    }
    add = {
        "class_name": "Add",
        "config": {"name": "sum"},
        "inbound_nodes": [[["a", 0, 0, {}], ["x", 0, 0, {}]]],
    }
    model = functional("m", [["x", 0, 0]], [["sum", 0, 0]], layer("x", "InputLayer"), dense, add)
    assert edges(model) == {"x": [], "a": ["x"], "sum": ["a", "x"]}


def test_of_a_subclassed_model_the_layers_are_shown_that_the_json_has() -> None:
    model = {
        "class_name": "Mine",
        "config": {"body": layer("body", "Dense"), "heads": [layer("h", "Dense")], "units": 3},
    }
    assert edges(model) == {"body": [], "h": []}
    with pytest.raises(NoGraphError, match="subclassed"):
        graph_of_keras_model(b'{"class_name": "Mine", "config": {"units": 3}}')


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"3",
        b'{"config": null}',
        b'{"config": {"layers": 7}}',
        b'{"config": {"layers": [7, null, "x"]}}',
    ],
)
def test_other_bytes_are_no_model(data: bytes) -> None:
    with pytest.raises(NoGraphError):
        graph_of_keras_model(data)


@pytest.mark.parametrize(
    "config",
    [
        {"layers": [{"config": {"name": ["x"]}, "inbound_nodes": [["y"], 3, {"args": 5}]}]},
        {"layers": [{"class_name": 3, "config": {"name": "a", "n": 1 << 80, "f": 1e400}}]},
        {"layers": [layer("a", "Dense", ("a", 0, 0))]},
        {"layers": [layer("a", "Dense", ("b", -1, 1 << 70))], "output_layers": {"q": ["a", 0, 9]}},
        {"layers": [layer("a", "Dense"), layer("a", "Dense")]},
        {"layers": [{"config": {"name": "m", "layers": [layer("z", "Dense")],
                                "output_layers": [["m", 0, 0]]}}, layer("y", "Dense", "m")]},
    ],
)  # fmt: skip
def test_odd_models_are_read_without_an_error(config: dict[str, Any]) -> None:
    analyse_graph(graph_of_keras_model(json.dumps({"config": config}).encode()))


def write_keras_model(folder: Path, text: bytes) -> None:
    value = Summary.Value(tag="keras")
    value.metadata.plugin_data.plugin_name = "graph_keras_model"
    value.tensor.dtype = 7
    value.tensor.string_val.append(text)
    with EventFileWriter(folder) as writer:
        writer.write(Event(wall_time=1.0, summary=Summary(value=[value])))


def test_the_model_of_a_log_is_listed_first_and_opens(tmp_path: Path) -> None:
    layers = [{"class_name": "Dense", "config": {"name": name}} for name in "abc"]
    model = {"class_name": "Sequential", "config": {"name": "s", "layers": layers}}
    write_keras_model(tmp_path / "train", json.dumps(model).encode())
    write_keras_model(tmp_path / "zz_broken", b"{")
    client = GraphsClient(tmp_path)
    rows = client.graphs()
    assert list(rows) == ["keras/0/keras/train", "keras/0/keras/zz_broken"]
    first, second = rows.values()
    assert first["title"] == "train (Keras model)" and first["kind"] == "keras_model"
    assert client.get(f"graph/{first['id']}")["ops"] == 3
    assert client.get(f"graph/{first['id']}/node?name=b")["op"] == "Dense"
    assert "is not JSON" in client.get(f"graph/{second['id']}", 422)["error"]
