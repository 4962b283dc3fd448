"""The graph of 36,000 ops: what the page must show of it (A14 to A17)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from fixtures import graphs as made

from headrace.board.web.columns import encode_columns
from headrace.board.graph.graph_bundle import GraphPicture, picture_of
from headrace.board.graph.delta_encoding import packed
from headrace.board.graph.structure.auxiliary_nodes import SIDE
from headrace.formats.proto.graph_pb2 import GraphDef


@pytest.fixture(scope="module")
def data() -> bytes:
    return made.g36().SerializeToString()


@pytest.fixture(scope="module")
def picture(data: bytes) -> GraphPicture:
    return picture_of(GraphDef.FromString(data))


def group(picture: GraphPicture, path: str) -> int:
    tree = picture.tree
    return next(v for v in range(tree.n_ops, len(tree)) if tree.path(v) == path)


def test_it_is_as_large_as_it_must_be(picture: GraphPicture) -> None:
    assert len(picture.columns) >= 36_000 and len(picture.columns.edge_src) >= 55_000
    assert not picture.columns.problems
    save = group(picture, "save")
    assert len(picture.tree.children(save)) >= 1278


def test_the_bundle_fits_in_half_a_megabyte(picture: GraphPicture) -> None:
    header, columns = packed(*picture.header_and_columns())
    body = gzip.compress(encode_columns(header, columns), 1)
    assert len(body) <= 500_000


def test_towers_are_one_family_and_the_first_differs_by_fifteen_ops(
    picture: GraphPicture,
) -> None:
    _, columns = picture.header_and_columns()
    towers = [group(picture, f"tower_{i}") for i in range(4)]
    assert len({int(columns["family"][t]) for t in towers}) == 1
    assert [int(columns["near"][t]) for t in towers] == [15, 0, 0, 0]
    assert len({int(columns["template"][t]) for t in towers[1:]}) == 1


@pytest.mark.parametrize("scope", ["", "tower_0/", "tower_3/"])
def test_mixed_0_to_10_are_one_stack_of_eleven(picture: GraphPicture, scope: str) -> None:
    _, columns = picture.header_and_columns()
    numbers = {
        int(columns["series"][group(picture, f"{scope}Mixed_{i}")]) for i in range(11)
    }  # fmt: skip
    assert len(numbers) == 1
    series = picture.series[numbers.pop()]
    assert series.pattern == "Mixed_[0-10]" and len(series.members) == 11
    assert series.chain == bool(scope) and series.varied


def test_the_side_area_holds_bookkeeping_and_nothing_that_computes(picture: GraphPicture) -> None:
    tree, columns = picture.tree, picture.columns
    side = picture.side == SIDE
    root = [tree.labels[v] for v in tree.children(tree.root) if side[v]]
    assert {"save", "init", "global_step"} <= set(root)
    inside = np.zeros(tree.n_ops, bool)
    places = tree.order[: tree.n_ops]
    for vertex in np.flatnonzero(side):
        inside |= (places >= tree.order[vertex]) & (places <= tree.last[vertex])
    ops = {columns.ops[op] for op in np.unique(columns.op[inside])}
    assert not {op for op in ops if op.startswith("Conv2D") or op == "MatMul"}
    assert side[tree.children(tree.root)].sum() < len(tree.children(tree.root)) / 2


def test_colours_are_the_same_in_every_run(picture: GraphPicture, data: bytes) -> None:
    graph = GraphDef.FromString(data)
    nodes = list(graph.node)[::-1]
    del graph.node[:]
    graph.node.extend(nodes)
    again = picture_of(graph)
    for path in ("tower_0", "tower_2", "tower_1/Mixed_4", "tower_1/Mixed_9/Branch_1"):
        a, b = (
            p.families.hue[p.families.of_template[p.templates.of_vertex[group(p, path)]]]
            for p in (picture, again)
        )
        assert a == b
