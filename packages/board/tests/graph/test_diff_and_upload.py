"""Differences of graphs, node cards, DOT, and uploads: right on plain graphs, whole on any."""

from __future__ import annotations

import json
import random

import pytest
from fixtures import graphs as made
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import any_graphs, proper_graph, unhurried

from headrace.board.columns import dump_json
from headrace.board.graph.dot_export import dot_of_view, quoted
from headrace.board.graph.graph_bundle import picture_of
from headrace.board.graph.graph_diff import diff_graphs, diff_groups
from headrace.board.graph.graph_upload import NoGraph, graph_from_bytes
from headrace.board.graph.node_card import attribute_words, node_card
from headrace.board.graph.tensor_shapes import output_shapes
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.op_pb2 import AttrValue


def both(graph: GraphDef) -> tuple:
    return graph, picture_of(graph)


def renamed(graph: GraphDef, old: str, new: str) -> GraphDef:
    out = GraphDef()
    out.CopyFrom(graph)
    for node in out.node:
        if node.name.startswith(old):
            node.name = new + node.name[len(old) :]
        for at, text in enumerate(node.input):
            control = "^" if text[0] == "^" else ""
            if text.lstrip("^").startswith(old):
                node.input[at] = control + new + text.lstrip("^")[len(old) :]
    return out


def test_a_renamed_scope_has_moved_and_nothing_else() -> None:
    graph = made.twins()
    reply = diff_graphs(both(graph), both(renamed(graph, "long/two/", "long/zwei/")))
    assert reply["moved"] == [{"from": "long/two", "to": "long/zwei"}]
    assert reply["counts"]["added"] == reply["counts"]["removed"] == 0
    assert reply["counts"]["changed"] == 0


def test_a_renamed_op_is_known_by_its_neighbours() -> None:
    graph = made.twins()
    reply = diff_graphs(both(graph), both(renamed(graph, "long/one/Tanh", "long/one/tangent")))
    assert reply["moved"] == [{"from": "long/one/Tanh", "to": "long/one/tangent"}]
    assert reply["counts"] == {"added": 0, "removed": 0, "changed": 0, "moved": 1}


def test_a_rewired_op_is_changed_and_says_how() -> None:
    graph, other = made.twins(), made.twins()
    node = next(n for n in other.node if n.name == "original/Add")
    node.input[0] = "original/MatMul"
    (change,) = diff_graphs(both(graph), both(other))["changed"]
    assert change["name"] == "original/Add"
    assert change["what"] == [
        "inputs: [original/Mul, original/MatMul] -> [original/MatMul, original/MatMul]"
    ]


@given(st.integers(0, 10**6))
@unhurried(30)
def test_a_graph_in_another_order_is_the_same(seed: int) -> None:
    graph = proper_graph(seed)
    nodes = list(graph.node)
    random.Random(seed).shuffle(nodes)
    other = GraphDef()
    other.node.extend(nodes)
    reply = diff_graphs(both(graph), both(other))
    assert reply["same"] == len(nodes)
    assert not any(reply["counts"].values()) and not reply["groups"]


@given(any_graphs(), any_graphs())
@unhurried(40)
def test_any_two_graphs_can_be_compared(a: GraphDef, b: GraphDef) -> None:
    reply = diff_graphs(both(a), both(b))
    json.loads(dump_json(reply))
    graph, picture = both(a)
    tree = picture.tree
    groups = range(tree.n_ops, len(tree))
    diff_groups(graph, picture, groups[0], groups[-1])


@given(any_graphs())
@unhurried(40)
def test_any_node_has_a_card_and_any_view_a_drawing(graph: GraphDef) -> None:
    picture = picture_of(graph)
    for op in range(len(picture.columns)):
        json.loads(dump_json(node_card(graph, picture, op)))
    text = dot_of_view(picture, list(range(-3, len(picture.tree) + 3)))
    assert text.count("subgraph") <= len(picture.tree)
    assert all(c >= " " or c == "\n" for c in text)


def test_dot_text_cannot_leave_its_quotes() -> None:
    assert quoted('a"];\nb\\') == 'a\\"];\\\\x0ab\\\\'


@given(st.binary(max_size=200))
@unhurried(100)
def test_any_bytes_are_a_graph_or_refused(data: bytes) -> None:
    try:
        graph, _ = graph_from_bytes(data)
    except NoGraph:
        return
    picture_of(graph).header_and_columns()


@given(st.data())
@unhurried(100)
def test_damaged_graphs_are_shown_or_refused(draw: st.DataObject) -> None:
    data = bytearray(made.small().SerializeToString())
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        graph, _ = graph_from_bytes(bytes(data[: draw.draw(st.integers(0, len(data)))]))
    except NoGraph:
        return
    picture = picture_of(graph)
    picture.header_and_columns()
    for op in range(0, len(picture.columns), 7):
        node_card(graph, picture, op)


def attribute(**fields: object) -> AttrValue:
    return AttrValue(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "words", "cut"),
    [
        (attribute(s=b"SAME"), "SAME", False),
        (attribute(s=b"x" * 5000), "x" * 1024, True),
        (attribute(b=True), "true", False),
        (attribute(type=1), "float", False),
        (attribute(f=0.1), "0.1", False),
        (attribute(list={"i": [1, 2, 2, 1]}), "[1, 2, 2, 1]", False),
        (attribute(shape={"dim": [{"size": 3}, {"size": -1}]}), "[3, ?]", False),
        (
            attribute(
                tensor={"dtype": 3, "tensor_shape": {"dim": [{"size": 2}]}, "int_val": [4, 5]}
            ),
            "int32 [2]: 4, 5",
            False,
        ),
        (
            attribute(tensor={"dtype": 1, "tensor_content": b"\0\0\x80?" * 20}),
            "float []: " + "1.0, " * 16 + "...",
            True,
        ),
        (attribute(tensor={"dtype": 250, "tensor_content": b"abc"}), "type 250 []", False),
        (attribute(), "", False),
    ],
)
def test_attributes_are_told_in_words(value: AttrValue, words: str, cut: bool) -> None:
    said = attribute_words(value)
    assert (said["value"], said["cut"]) == (words, cut)


def test_shapes_come_from_the_writer_or_from_what_the_node_holds() -> None:
    graph = GraphDef()
    plain = graph.node.add(name="v", op="VariableV2")
    plain.attr["dtype"].type = 1
    for size in (3, 4):
        plain.attr["shape"].shape.dim.add(size=size)
    constant = graph.node.add(name="c", op="Const")
    constant.attr["dtype"].type = 3
    constant.attr["value"].tensor.tensor_shape.dim.add(size=5)
    split = graph.node.add(name="s", op="Split", input=["c", "v"])
    split.attr["T"].type = 2
    split.attr["num_split"].i = 2
    for _ in range(2):
        split.attr["_output_shapes"].list.shape.add().dim.add(size=7)
    graph.node.add(name="u", op="Neg", input=["s:1", "nobody", "s:9"])
    columns = picture_of(graph).columns
    shapes = output_shapes(graph, columns)
    words = [shapes.texts[t] if t >= 0 else "" for t in shapes.text]
    assert words == ["float [3, 4]", "int32 [5]", "double [7]; double [7]", ""]
    assert shapes.bytes.tolist() == [48.0, 20.0, 56.0, -1.0]
    assert shapes.edge_bytes.tolist() == [20.0, 48.0, 56.0, -1.0]
