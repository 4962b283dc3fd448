"""Columns, scope tree and metaedges, compared with a plain traversal of the same graph."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fixtures import graphs as example_graphs
from fixtures import known_networks
from fixtures.graphs_client import GraphsClient
from hypothesis import given
from random_graphs import any_graphs, unhurried

from headrace.board.graph.structure import graph_columns
from headrace.board.graph.structure.graph_columns import GraphTooLarge, read_columns
from headrace.board.graph.structure.metaedges import find_metaedges
from headrace.board.graph.structure.scopes import DEPTH_LIMIT, OWN_NAME_IS_SCOPE, scope_tree
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.graph_pb2 import GraphDef


def graph_of(*nodes: tuple[str, list[str]]) -> GraphDef:
    graph = GraphDef()
    for name, inputs in nodes:
        graph.node.add(name=name, op="Add", input=inputs)
    return graph


def metaedges(graph: GraphDef) -> tuple:
    columns = read_columns(graph)
    tree = scope_tree(columns)
    return columns, tree, find_metaedges(columns, tree, np.zeros(len(columns.edge_src)))


def ancestors(tree, vertex: int) -> list[int]:
    out = [vertex]
    while tree.parent[out[-1]] >= 0:
        out.append(int(tree.parent[out[-1]]))
    return out


def check_lifting(graph: GraphDef) -> None:
    columns, tree, edges = metaedges(graph)
    expected: Counter = Counter()
    for src, dst, port in zip(columns.edge_src, columns.edge_dst, columns.edge_port):
        if src == dst:
            continue
        above = ancestors(tree, int(src))
        below = ancestors(tree, int(dst))
        group = next(v for v in above if v in below)
        key = (group, above[above.index(group) - 1], below[below.index(group) - 1])
        expected[(*key, bool(port < 0))] += 1
    got: Counter = Counter()
    for g, s, d, data, control in zip(
        edges.meta_group, edges.meta_src, edges.meta_dst, edges.meta_data, edges.meta_control
    ):
        got[(int(g), int(s), int(d), False)] += int(data)
        got[(int(g), int(s), int(d), True)] += int(control)
    assert +got == expected
    assert (np.diff(edges.meta_group) >= 0).all()


def check_tree(graph: GraphDef) -> None:
    columns = read_columns(graph)
    tree = scope_tree(columns)
    assert tree.size[tree.root] == len(columns)
    assert sorted(tree.order.tolist()) == list(range(len(tree)))
    for vertex in range(len(tree)):
        parent = int(tree.parent[vertex])
        if parent >= 0:
            assert tree.depth[vertex] == tree.depth[parent] + 1
            assert vertex in tree.children(parent)
            assert tree.is_below(vertex, parent) and not tree.is_below(parent, vertex)
    for op, name in enumerate(columns.names):
        if columns.home[op] < 0:
            assert tree.path(op) == name


@given(any_graphs())
@unhurried(60)
def test_any_graph_has_a_scope_tree_and_metaedges(graph: GraphDef) -> None:
    check_tree(graph)
    check_lifting(graph)


def test_the_small_graph_is_read_whole() -> None:
    graph = example_graphs.small()
    columns = read_columns(graph)
    body = len(graph.library.function[0].node_def) + 2  # with its argument and its result
    assert len(columns) == len(graph.node) + body
    assert not columns.problems
    assert len(columns.edge_src) == sum(len(n.input) for n in graph.node) + 3
    check_tree(graph)
    check_lifting(graph)


def test_an_op_that_is_also_a_scope_stands_in_parentheses_within_it() -> None:
    columns, tree, _ = metaedges(graph_of(("a/b", []), ("a/b/c", ["a/b"])))
    assert tree.labels[0] == "(b)" and tree.flags[0] == OWN_NAME_IS_SCOPE
    assert tree.path(int(tree.parent[0])) == "a/b" and tree.parent[0] == tree.parent[1]


def test_children_are_in_order_of_first_appearance() -> None:
    _, tree, _ = metaedges(graph_of(("z/x", []), ("b", []), ("a/y", []), ("z/a", [])))
    assert [tree.labels[v] for v in tree.children(tree.root)] == ["z", "b", "a"]


def test_ports_control_edges_and_unknown_inputs_are_distinguished() -> None:
    columns = read_columns(graph_of(("a", []), ("b", ["a:3", "^a", "nobody", "^none"])))
    assert columns.edge_port.tolist() == [3, -1]
    assert columns.problems["unknown_input"][0] == 2
    assert "'nobody'" in columns.problems["unknown_input"][1]


def test_a_repeated_name_is_a_problem_and_keeps_both_nodes() -> None:
    columns = read_columns(graph_of(("a", []), ("a", []), ("b", ["a"])))
    assert len(columns) == 3 and columns.edge_src.tolist() == [0]
    assert columns.problems["duplicate_name"][0] == 1


def test_functions_are_below_a_group_of_their_own_and_know_their_callers() -> None:
    columns = read_columns(example_graphs.small())
    tree = scope_tree(columns)
    (function,) = columns.functions
    assert [columns.names[c] for c in function.callers] == ["loop/body"]
    assert tree.path(function.first) == "functions/twice/a"
    assert columns.names[function.first : function.end] == ["a", "sum", "b"]


def test_a_very_deep_name_keeps_its_rest_in_the_label() -> None:
    name = "/".join(f"s{i}" for i in range(5000))
    _, tree, _ = metaedges(graph_of((name, []), (name + "2", [name])))
    assert tree.too_deep and int(tree.depth.max()) == DEPTH_LIMIT + 1
    assert tree.path(0) == name


def test_more_nodes_than_the_limit_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_columns, "NODE_LIMIT", 10)
    with pytest.raises(GraphTooLarge, match="11 nodes; the board shows 10"):
        read_columns(graph_of(*[(f"n{i}", []) for i in range(11)]))


def test_bytes_of_a_metaedge_are_the_sum_of_its_tensors() -> None:
    from headrace.board.graph.graph_bundle import analyse_graph

    analysis = analyse_graph(example_graphs.twins())
    at = analysis.tree.labels.index("original")
    out = np.flatnonzero(analysis.metaedges.meta_src == at)
    assert analysis.metaedges.meta_bytes[out].tolist() == [4 * 8 * 4.0]


def test_long_deep_names_take_memory_by_their_length_only() -> None:
    """A name of a hundred long parts; paths of all its scopes would be fifty times as long."""
    parts = [str(i % 10) * 1000 for i in range(100)]
    graph = GraphDef(
        node=[{"name": f"n{i}/" + "/".join(parts), "op": "Neg"} for i in range(100)]
    )  # fmt: skip
    columns = read_columns(graph)
    tracemalloc.start()
    tree = scope_tree(columns)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(tree) == 100 + 1 + 100 * 100
    assert peak < 6 * sum(map(len, columns.names))


def test_inputs_that_pytorch_leaves_out_are_a_note_and_no_problem_of_the_log(
    tmp_path: Path,
) -> None:
    graph = GraphDef.FromString(known_networks.data_of("torch_resnet50"))
    with EventFileWriter(tmp_path) as writer:
        writer.write(Event(wall_time=1.0, graph_def=graph.SerializeToString()))
    client = GraphsClient(tmp_path)
    (row,) = client.graphs().values()
    (note,) = client.get(f"graph/{row['id']}")["problems"]
    assert note["note"] and note["count"] == 267 and "PyTorch" in note["text"]
    assert client.board.index.problems.list() == []
