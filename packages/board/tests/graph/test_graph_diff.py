"""Differences of graphs: correct on simple graphs, complete on any, bounded on hostile ones."""

from __future__ import annotations

import json
import random
import string

import numpy as np
from fixtures import graphs as example_graphs
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import any_graphs, proper_graph, unhurried

from headrace.board.graph.diff.diff_response import LISTED, diff_columns, diff_document
from headrace.board.graph.diff.graph_diff import diff_graphs, diff_groups
from headrace.board.graph.graph_bundle import analyse_graph
from headrace.board.web.json_text import dump_json
from headrace.formats.proto.graph_pb2 import GraphDef


def both(graph: GraphDef) -> tuple:
    return graph, analyse_graph(graph)


def compared(a: GraphDef, b: GraphDef) -> dict:
    return diff_document(diff_graphs(both(a), both(b)))


def renames(reply: dict) -> list[tuple[str, str]]:
    return [(pair["from"], pair["to"]) for pair in reply["moved"]]


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
    graph = example_graphs.twins()
    reply = compared(graph, renamed(graph, "long/two/", "long/zwei/"))
    assert renames(reply) == [("long/two", "long/zwei")]
    assert reply["counts"]["added"] == reply["counts"]["removed"] == 0
    assert reply["counts"]["changed"] == 0


def test_a_renamed_op_is_known_by_its_neighbours() -> None:
    graph = example_graphs.twins()
    reply = compared(graph, renamed(graph, "long/one/Tanh", "long/one/tangent"))
    assert renames(reply) == [("long/one/Tanh", "long/one/tangent")]
    assert reply["counts"] == {"added": 0, "removed": 0, "changed": 0, "moved": 1}


def test_a_rewired_op_is_changed_with_a_description() -> None:
    graph, other = example_graphs.twins(), example_graphs.twins()
    node = next(n for n in other.node if n.name == "original/Add")
    node.input[0] = "original/MatMul"
    (change,) = compared(graph, other)["changed"]
    assert change["name"] == "original/Add"
    assert change["what"] == ["input 0: original/Mul -> original/MatMul"]


@given(st.integers(0, 10**6))
@unhurried(30)
def test_a_graph_in_another_order_is_the_same(seed: int) -> None:
    graph = proper_graph(seed)
    nodes = list(graph.node)
    random.Random(seed).shuffle(nodes)
    other = GraphDef()
    other.node.extend(nodes)
    difference = diff_graphs(both(graph), both(other))
    reply = diff_document(difference)
    assert reply["same"] == len(nodes)
    assert not any(reply["counts"].values())
    assert not any(column.any() for column in diff_columns(difference).values())


@given(any_graphs(), any_graphs())
@unhurried(40)
def test_any_two_graphs_can_be_compared(a: GraphDef, b: GraphDef) -> None:
    difference = diff_graphs(both(a), both(b))
    json.loads(dump_json(diff_document(difference)))
    columns = diff_columns(difference)
    analysis = both(b)[1]
    assert len(columns["kinds"]) == len(analysis.tree)
    root = {name: int(columns[name][0]) for name in ("added", "removed")}
    assert root == {"added": len(difference.added), "removed": len(difference.removed)}
    graph, analysis = both(a)
    tree = analysis.tree
    groups = range(tree.n_ops, len(tree))
    diff_columns(diff_groups(graph, analysis, groups[0], groups[-1]))


def kinds_by_name(graph: GraphDef, kinds: np.ndarray) -> dict[str, int]:
    tree = analyse_graph(graph).tree
    return {tree.path(v): int(kinds[v]) for v in range(len(tree))}


def test_every_vertex_knows_what_became_of_it() -> None:
    graph = example_graphs.twins()
    other = renamed(graph, "long/two/", "long/zwei/")
    gone = [n.name for n in other.node if n.name.startswith("equal/")]
    left = [n for n in other.node if not n.name.startswith("equal/")]
    del other.node[:]
    other.node.extend(left)
    next(n for n in other.node if n.name == "original/Add").input[0] = "original/MatMul"
    other.node.add(name="new/scope/a", op="Neg", input=["x"])
    difference = diff_graphs(both(graph), both(other))
    columns = diff_columns(difference)
    after, before = (
        kinds_by_name(g, columns[name]) for g, name in ((other, "kinds"), (graph, "kinds_a"))
    )
    assert (after["new"], after["new/scope"], after["new/scope/a"]) == (1, 1, 1)
    assert (after["original/Add"], after["original"], after["renamed"]) == (2, 2, 0)
    assert after["long/zwei"] == after["long/zwei/Mul"] == before["long/two"] == 3
    assert after["long"] == 2 and before["equal"] == before["equal/Mul"] == 1
    root = {name: int(columns[name][0]) for name in ("added", "removed", "changed")}
    assert root == {"added": 1, "removed": len(gone), "changed": 2}  # and `all`, which read it
    document = diff_document(difference)
    tree = analyse_graph(other).tree
    for row in document["changed"]:
        assert tree.path(row["vertex"]) == row["name"]
    (moved,) = [row for row in document["moved"] if row["to"] == "long/zwei"]
    assert tree.path(moved["vertex"]) == "long/zwei"


def test_inputs_that_changed_places_are_a_change() -> None:
    graph = GraphDef(node=[{"name": "a", "op": "Neg"}, {"name": "b", "op": "Exp"}])
    other = GraphDef.FromString(graph.SerializeToString())
    graph.node.add(name="c", op="Sub", input=["a", "b", "^a"])
    other.node.add(name="c", op="Sub", input=["b", "a", "^b"])
    (change,) = compared(graph, other)["changed"]
    assert change["what"] == [
        "input 0: a -> b",
        "input 1: b -> a",
        "control input: ^a -> none",
        "control input: none -> ^b",
    ]


def test_a_changed_attribute_shows_both_values() -> None:
    graph = GraphDef()
    node = graph.node.add(name="c", op="Conv2D", device="/cpu:0")
    node.attr["padding"].s = b"SAME"
    node.attr["long"].s = b"x" * 300
    node.attr["same"].f = float("nan")
    other = GraphDef.FromString(graph.SerializeToString())
    other.node[0].attr["padding"].s = b"VALID"
    other.node[0].attr["long"].s += b"y"
    other.node[0].device = "/gpu:0"
    other.node[0].attr["fresh"].b = True
    (change,) = compared(graph, other)["changed"]
    long = "x" * 100 + "..."
    assert change["what"] == [
        "device: /cpu:0 -> /gpu:0",
        "fresh: none -> true",
        f"long: {long} -> {long} (they differ further on)",
        "padding: SAME -> VALID",
    ]


def test_beyond_the_lists_every_vertex_is_still_marked() -> None:
    count = LISTED + 500
    graph = GraphDef(node=[{"name": f"s/n{i}", "op": "Neg"} for i in range(count)])
    other = GraphDef.FromString(graph.SerializeToString())
    for node in other.node:
        node.device = "/gpu:0"
    difference = diff_graphs(both(graph), both(other))
    document = diff_document(difference)
    assert len(document["changed"]) == LISTED and document["counts"]["changed"] == count
    assert (diff_columns(difference)["kinds"][:count] == 2).all()


def test_hostile_names_and_repeats_are_compared_in_bounded_work() -> None:
    slashes = GraphDef(node=[{"name": "a" + "/" * 100_000 + "b", "op": "Neg"}])
    reply = compared(slashes, GraphDef())
    assert reply["counts"]["removed"] == 1
    # Every group of one structure, none of one name: each could be matched with each.
    graphs = [GraphDef(), GraphDef()]
    for graph, letters in zip(graphs, (string.ascii_lowercase, string.ascii_uppercase)):
        for i in range(3000):
            scope = letters[i % 26] + letters[i // 26 % 26] + letters[i // 676]
            graph.node.add(name=f"{scope}/u", op="Neg")
            graph.node.add(name=f"{scope}/v", op="Exp", input=[f"{scope}/u"])
    assert compared(*graphs)["counts"] == {"added": 0, "removed": 0, "changed": 0, "moved": 6000}
