"""The analysis of the graph of 36,000 ops."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from fixtures import graphs as example_graphs

from headrace.board.graph.delta_encoding import packed
from headrace.board.graph.graph_bundle import GraphAnalysis, analyse_graph
from headrace.board.graph.structure.auxiliary_nodes import AUXILIARY
from headrace.board.web.columns import encode_columns
from headrace.formats.proto.graph_pb2 import GraphDef


@pytest.fixture(scope="module")
def data() -> bytes:
    return example_graphs.g36().SerializeToString()


@pytest.fixture(scope="module")
def analysis(data: bytes) -> GraphAnalysis:
    return analyse_graph(GraphDef.FromString(data))


def group(analysis: GraphAnalysis, path: str) -> int:
    tree = analysis.tree
    return next(v for v in range(tree.n_ops, len(tree)) if tree.path(v) == path)


def test_it_is_as_large_as_it_must_be(analysis: GraphAnalysis) -> None:
    assert len(analysis.columns) >= 36_000 and len(analysis.columns.edge_src) >= 55_000
    assert not analysis.columns.problems
    save = group(analysis, "save")
    assert len(analysis.tree.children(save)) >= 1278


def test_the_bundle_fits_in_half_a_megabyte(analysis: GraphAnalysis) -> None:
    header, columns = packed(*analysis.header_and_columns())
    body = gzip.compress(encode_columns(header, columns), 1)
    assert len(body) <= 500_000


def test_towers_are_one_family_and_the_first_differs_by_fifteen_ops(
    analysis: GraphAnalysis,
) -> None:
    _, columns = analysis.header_and_columns()
    towers = [group(analysis, f"tower_{i}") for i in range(4)]
    assert len({int(columns["family"][t]) for t in towers}) == 1
    assert [int(columns["near"][t]) for t in towers] == [15, 0, 0, 0]
    assert len({int(columns["template"][t]) for t in towers[1:]}) == 1


def test_variables_of_mixed_0_to_10_are_one_series_node_of_eleven(analysis: GraphAnalysis) -> None:
    _, columns = analysis.header_and_columns()
    numbers = {int(columns["series"][group(analysis, f"Mixed_{i}")]) for i in range(11)}
    assert len(numbers) == 1
    series = analysis.series[numbers.pop()]
    assert series.pattern == "Mixed_[0-10]" and len(series.members) == 11
    assert series.varied and not series.chain


@pytest.mark.parametrize("tower", ["tower_0", "tower_3"])
def test_modules_in_sequence_are_one_series_node_a_kind(
    analysis: GraphAnalysis, tower: str
) -> None:
    above = group(analysis, tower)
    runs = {one.pattern: one for one in analysis.series if one.parent == above}
    mixed = {name: len(one.members) for name, one in runs.items() if name.startswith("Mixed")}
    assert mixed == {"Mixed_[0-2]": 3, "Mixed_[4-7]": 4, "Mixed_[9-10]": 2}
    assert all(one.chain and not one.varied for one in runs.values())


def test_auxiliary_nodes_are_bookkeeping_and_never_compute(analysis: GraphAnalysis) -> None:
    tree, columns = analysis.tree, analysis.columns
    side = analysis.side == AUXILIARY
    root = [tree.labels[v] for v in tree.children(tree.root) if side[v]]
    assert {"save", "init", "global_step"} <= set(root)
    inside = np.zeros(tree.n_ops, bool)
    places = tree.order[: tree.n_ops]
    for vertex in np.flatnonzero(side):
        inside |= (places >= tree.order[vertex]) & (places <= tree.last[vertex])
    ops = {columns.ops[op] for op in np.unique(columns.op[inside])}
    assert not {op for op in ops if op.startswith("Conv2D") or op == "MatMul"}
    assert side[tree.children(tree.root)].sum() < len(tree.children(tree.root)) / 2


def test_colours_are_the_same_in_every_run(analysis: GraphAnalysis, data: bytes) -> None:
    graph = GraphDef.FromString(data)
    nodes = list(graph.node)[::-1]
    del graph.node[:]
    graph.node.extend(nodes)
    again = analyse_graph(graph)
    for path in ("tower_0", "tower_2", "tower_1/Mixed_4", "tower_1/Mixed_9/Branch_1"):
        a, b = (
            p.families.hue[p.families.of_template[p.templates.of_vertex[group(p, path)]]]
            for p in (analysis, again)
        )
        assert a == b
