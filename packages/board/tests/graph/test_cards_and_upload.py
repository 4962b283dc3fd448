"""Node details, DOT exports and uploads: correct on simple graphs, robust on any."""

from __future__ import annotations

import json

import pytest
from fixtures import graphs as example_graphs
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import any_graphs, unhurried

from headrace.board.graph.dot_export import dot_of_view, quoted
from headrace.board.graph.graph_bundle import analyse_graph
from headrace.board.graph.node_details import attribute_words, node_details
from headrace.board.graph.sources.graph_upload import NoGraphError, graph_from_bytes
from headrace.board.graph.structure.tensor_shapes import output_shapes
from headrace.board.web.json_text import dump_json
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.op_pb2 import AttrValue


@given(any_graphs())
@unhurried(40)
def test_any_node_has_a_card_and_any_view_a_drawing(graph: GraphDef) -> None:
    analysis = analyse_graph(graph)
    for op in range(len(analysis.columns)):
        json.loads(dump_json(node_details(graph, analysis, op)))
    text = dot_of_view(analysis, list(range(-3, len(analysis.tree) + 3)))
    assert text.count("subgraph") <= len(analysis.tree)
    assert all(c >= " " or c == "\n" for c in text)


def test_dot_text_cannot_leave_its_quotes() -> None:
    assert quoted('a"];\nb\\') == 'a\\"];\\\\x0ab\\\\'


@given(st.binary(max_size=200))
@unhurried(100)
def test_any_bytes_are_a_graph_or_rejected(data: bytes) -> None:
    try:
        graph, _ = graph_from_bytes(data)
    except NoGraphError:
        return
    analyse_graph(graph).header_and_columns()


@given(st.data())
@unhurried(100)
def test_corrupted_graphs_are_shown_or_rejected(draw: st.DataObject) -> None:
    data = bytearray(example_graphs.small().SerializeToString())
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        graph, _ = graph_from_bytes(bytes(data[: draw.draw(st.integers(0, len(data)))]))
    except NoGraphError:
        return
    analysis = analyse_graph(graph)
    analysis.header_and_columns()
    for op in range(0, len(analysis.columns), 7):
        node_details(graph, analysis, op)


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
def test_attributes_are_shown_as_text(value: AttrValue, words: str, cut: bool) -> None:
    described = attribute_words(value)
    assert (described["value"], described["cut"]) == (words, cut)


def test_a_value_in_full_is_whole_up_to_the_limit() -> None:
    numbers = attribute(tensor={"dtype": 1, "tensor_content": b"\0\0\x80?" * 5000})
    described = attribute_words(numbers, 1 << 20)
    assert described["value"].count("1.0") == 5000 and not described["cut"]
    texts = attribute(list={"s": [b"x" * 3000, b"y" * 3000]})
    assert attribute_words(texts)["cut"] and len(attribute_words(texts)["value"]) == 1024
    assert len(attribute_words(texts, 1 << 20)["value"]) == 6004
    huge = attribute(list={"s": [b"x" * 1000] * 5000})
    described = attribute_words(huge, 1 << 20)
    assert described["cut"] and len(described["value"]) == 1 << 20


def test_a_node_with_very_many_inputs_lists_some_and_counts_all() -> None:
    graph = GraphDef(node=[{"name": f"n{i}", "op": "Const"} for i in range(3000)])
    names = [f"n{i}" for i in range(3000)]
    graph.node.add(name="all", op="AddN", input=[*names, *(f"^{name}" for name in names[:5])])
    card = node_details(graph, analyse_graph(graph), 3000)
    assert (len(card["inputs"]), len(card["control_inputs"])) == (1000, 5)
    assert card["input_count"] == 3005


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
    columns = analyse_graph(graph).columns
    shapes = output_shapes(graph, columns)
    words = [shapes.texts[t] if t >= 0 else "" for t in shapes.text]
    assert words == ["float [3, 4]", "int32 [5]", "double [7]; double [7]", ""]
    assert shapes.bytes.tolist() == [48.0, 20.0, 56.0, -1.0]
    assert shapes.edge_bytes.tolist() == [20.0, 48.0, 56.0, -1.0]
