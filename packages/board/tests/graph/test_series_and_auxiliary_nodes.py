"""Series nodes and auxiliary nodes."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.board.graph.graph_bundle import GraphAnalysis, analyse_graph
from headrace.board.graph.structure.auxiliary_nodes import (
    AUXILIARY,
    KEPT_ON_MAIN_PATH,
    heaviest_path,
)
from headrace.formats.proto.graph_pb2 import GraphDef


def graph_of(*nodes: tuple[str, str, list[str]]) -> GraphDef:
    graph = GraphDef()
    for name, op, inputs in nodes:
        graph.node.add(name=name, op=op, input=inputs)
    return graph


def patterns(graph: GraphDef) -> list[tuple[str, int, bool, bool]]:
    return [(s.pattern, len(s.members), s.chain, s.varied) for s in analyse_graph(graph).series]


def layer(name: str, source: str, *ops: str) -> list[tuple[str, str, list[str]]]:
    out = []
    for i, op in enumerate(ops):
        out.append((f"{name}/{op}{i}", op, [source]))
        source = out[-1][0]
    return out


def test_three_scopes_of_one_structure_in_a_row_are_a_chain() -> None:
    nodes = [("x", "Placeholder", [])]
    for name in ("layer", "layer_1", "layer_2"):  # as TensorFlow makes names unique
        nodes += layer(name, nodes[-1][0], "MatMul", "Relu")
    assert patterns(graph_of(*nodes)) == [("layer_[0-2]", 3, True, False)]


def test_scopes_side_by_side_are_no_chain() -> None:
    nodes = [("x", "Placeholder", [])]
    for i in (1, 2, 3, 7):
        nodes += layer(f"head{i}", "x", "MatMul", "Relu")
    assert patterns(graph_of(*nodes)) == [("head[1-3,7]", 4, False, False)]


def test_scopes_of_different_work_are_not_folded() -> None:
    nodes = [("x", "Placeholder", [])]
    for i, ops in enumerate((["MatMul", "Relu"], ["Conv2D", "MaxPool"], ["Sum", "Exp", "Log"])):
        nodes += layer(f"part_{i}", "x", *ops)
    assert patterns(graph_of(*nodes)) == []


def test_alike_ones_among_others_are_folded() -> None:
    nodes = [("x", "Placeholder", [])]
    for i in range(5):
        nodes += layer(f"part_{i}", "x", *(["Sum", "Exp", "Log"] if i == 2 else ["Conv2D", "Relu"]))
    assert patterns(graph_of(*nodes)) == [("part_[0-1,3-4]", 4, False, False)]


@pytest.mark.parametrize(("count", "folded"), [(4, False), (5, True)])
def test_ops_are_folded_from_five_on(count: int, folded: bool) -> None:
    names = ["g/Const", *(f"g/Const_{i}" for i in range(1, count))]
    found = patterns(graph_of(*[(name, "Const", []) for name in names], ("g/Neg_1", "Neg", [])))
    assert found == ([(f"Const_[0-{count - 1}]", count, False, False)] if folded else [])


def test_of_two_numbers_in_a_name_the_one_that_makes_more_counts() -> None:
    names = [f"g/a{i}_b7" for i in range(6)]
    assert patterns(graph_of(*[(n, "Const", []) for n in names])) == [
        ("a[0-5]_b7", 6, False, False)
    ]


def sides(analysis: GraphAnalysis) -> dict[str, int]:
    tree = analysis.tree
    return {
        tree.labels[v]: int(analysis.side[v]) for v in tree.children(tree.root) if analysis.side[v]
    }


def test_a_hub_of_control_edges_goes_aside_and_a_product_never() -> None:
    nodes = [("x", "Placeholder", [])]
    nodes += [(f"v{i}", "MatMul", ["x"]) for i in range(6)]
    nodes += [("all", "NoOp", [f"^v{i}" for i in range(6)])]
    nodes += [("sum", "BatchMatMul", [f"v{i}" for i in range(6)])]
    assert sides(analyse_graph(graph_of(*nodes))) == {"all": AUXILIARY}


def test_a_scalar_constant_with_many_readers_is_auxiliary() -> None:
    graph = graph_of(("c", "Const", []), *[(f"n{i}", "Neg", ["c"]) for i in range(8)])
    graph.node[0].attr["dtype"].type = 1
    graph.node[0].attr["value"].tensor.dtype = 1
    assert sides(analyse_graph(graph)) == {"c": AUXILIARY}


def test_a_hub_on_the_heaviest_path_stays() -> None:
    nodes = [("x", "Placeholder", []), ("hub", "Concat", ["x"])]
    nodes += [(f"r{i}", "Neg", ["hub"]) for i in range(30)]
    assert sides(analyse_graph(graph_of(*nodes))) == {"hub": KEPT_ON_MAIN_PATH}


def test_the_heaviest_path_goes_by_bytes_and_survives_cycles() -> None:
    nodes = [
        ("a", "Neg", ["d"]),
        ("b", "Neg", ["a"]),
        ("c", "Neg", ["a"]),
        ("d", "Add", ["b", "c"]),
    ]
    graph = graph_of(*nodes)
    for node, size in zip(graph.node, (10, 10, 1000, 10)):
        node.attr["T"].type = 1
        node.attr["_output_shapes"].list.shape.add().dim.add(size=size)
    analysis = analyse_graph(graph)
    nobody = np.zeros(len(analysis.tree), bool)
    path = heaviest_path(analysis.metaedges, analysis.tree.root, nobody)
    assert [analysis.tree.labels[v] for v in path] == ["a", "c", "d"]
