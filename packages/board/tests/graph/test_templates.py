"""Templates: equal structures share one, regardless of names and order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from fixtures import graphs as example_graphs
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import any_graphs, proper_graph, renamed_and_shuffled, unhurried

from headrace.board.graph.graph_bundle import GraphAnalysis, analyse_graph
from headrace.board.graph.structure.families import hues
from headrace.formats.proto.graph_pb2 import GraphDef


def vertex(analysis: GraphAnalysis, path: str) -> int:
    tree = analysis.tree
    return next(v for v in range(tree.n_ops, len(tree)) if tree.path(v) == path)


def template(analysis: GraphAnalysis, path: str) -> int:
    return int(analysis.templates.of_vertex[vertex(analysis, path)])


def family(analysis: GraphAnalysis, path: str) -> int:
    return int(analysis.families.of_template[template(analysis, path)])


@pytest.fixture(scope="module")
def twins() -> GraphAnalysis:
    return analyse_graph(example_graphs.twins())


@pytest.mark.parametrize("scope", ["equal", "reordered", "renamed"])
def test_a_twin_has_the_template_of_the_original(twins: GraphAnalysis, scope: str) -> None:
    assert template(twins, scope) == template(twins, "original")


@pytest.mark.parametrize("scope", ["rewired", "extended"])
def test_different_structures_have_different_templates_and_colours(
    twins: GraphAnalysis, scope: str
) -> None:
    assert template(twins, scope) != template(twins, "original")
    assert family(twins, scope) != family(twins, "original") or family(twins, scope) == -1


def test_a_similar_group_is_in_the_family_with_its_number_of_different_ops(
    twins: GraphAnalysis,
) -> None:
    assert template(twins, "long_near") != template(twins, "long")
    assert family(twins, "long_near") == family(twins, "long") >= 0
    assert twins.families.near[template(twins, "long_near")] == 1
    assert twins.families.near[template(twins, "long")] == 0


def test_the_inner_end_of_an_edge_counts() -> None:
    graphs = []
    for source in ("in/a", "in/b"):
        graph = GraphDef()
        graph.node.add(name="g/in/a", op="Add")
        graph.node.add(name="g/in/b", op="Add", input=["g/in/a"])
        graph.node.add(name="g/c", op="Neg", input=[f"g/{source}"])
        graphs.append(analyse_graph(graph))
    assert root_hash(graphs[0]) != root_hash(graphs[1])


def root_hash(analysis: GraphAnalysis) -> int:
    return int(analysis.templates.hash[analysis.templates.of_vertex[analysis.tree.root]])


def hashes_by_name(analysis: GraphAnalysis, names: dict[str, str]) -> dict[str, int]:
    tree, templates = analysis.tree, analysis.templates
    return {
        names.get(tree.path(v), tree.path(v)): int(templates.hash[templates.of_vertex[v]])
        for v in range(tree.n_ops)
    }


@given(st.integers(0, 10**6))
@unhurried(60)
def test_names_and_order_never_enter(seed: int) -> None:
    graph = proper_graph(seed)
    other, names = renamed_and_shuffled(graph, seed + 1)
    a, b = analyse_graph(graph), analyse_graph(other)
    assert root_hash(a) == root_hash(b)
    assert sorted(a.templates.hash) == sorted(b.templates.hash)
    assert hashes_by_name(a, names) == hashes_by_name(b, {})


def test_the_keys_of_attributes_enter_and_their_order_in_the_file_does_not() -> None:
    """Nodes of one op with equally many attributes, but of different names."""
    forward, backward = GraphDef(), GraphDef()
    for graph, names in ((forward, "abc"), (backward, "cba")):
        for name in names:
            node = graph.node.add(name=name, op="Odd")
            node.attr[{"a": "T", "b": "U", "c": "T"}[name]].type = 1
            node.attr["axis"].i = 1
    a, b = analyse_graph(forward), analyse_graph(backward)
    assert hashes_by_name(a, {}) == hashes_by_name(b, {})
    hashes = hashes_by_name(a, {})
    assert hashes["a"] == hashes["c"] != hashes["b"]


def regular(rings: list[int]) -> GraphDef:
    """Rings of equal ops in one scope: refinement cannot tell 3+3 from 6."""
    graph = GraphDef()
    for ring, size in enumerate(rings):
        for i in range(size):
            graph.node.add(name=f"g/r{ring}_{i}", op="Add", input=[f"g/r{ring}_{(i + 1) % size}"])
    return graph


def test_the_exact_check_parts_what_refinement_cannot() -> None:
    graph = GraphDef()
    for scope, rings in (("x", [3, 3]), ("y", [6]), ("z", [3, 3])):
        for node in regular(rings).node:
            graph.node.add(
                name=f"{scope}/{node.name}", op=node.op, input=[f"{scope}/{i}" for i in node.input]
            )
    analysis = analyse_graph(graph)
    assert template(analysis, "x/g") == template(analysis, "z/g") != template(analysis, "y/g")


def test_large_tied_groups_are_likely_not_proven() -> None:
    graph = GraphDef()
    for scope in ("x", "y"):
        rng = random.Random(scope)
        for node in regular([500] * 5).node:
            graph.node.add(
                name=f"{scope}/{node.name}", op=node.op, input=[f"{scope}/{i}" for i in node.input]
            )
        nodes = list(graph.node)
        rng.shuffle(nodes)
        del graph.node[:]
        graph.node.extend(nodes)
    analysis = analyse_graph(graph)
    assert template(analysis, "x/g") == template(analysis, "y/g")
    assert not analysis.templates.exact[template(analysis, "x/g")]


def test_a_group_of_one_child_has_the_template_of_the_child(twins: GraphAnalysis) -> None:
    graph = GraphDef()
    graph.node.add(name="a/b/c", op="Add")
    analysis = analyse_graph(graph)
    of = analysis.templates.of_vertex
    assert len(set(of.tolist())) == 1


def test_a_group_counts_once_with_the_groups_that_wrap_it() -> None:
    graph = GraphDef()
    for scope in ("one/inner", "two/inner", "bare"):
        for i in range(3):
            graph.node.add(name=f"{scope}/n{i}", op="Add")
    analysis = analyse_graph(graph)
    assert template(analysis, "one") == template(analysis, "one/inner")
    assert analysis.templates.groups[template(analysis, "bare")] == 3


def test_a_scope_around_a_single_scope_is_no_repeat() -> None:
    graph = GraphDef()
    for i in range(30):
        graph.node.add(name=f"a/b/n{i}", op="Add")
    analysis = analyse_graph(graph)
    assert template(analysis, "a") == template(analysis, "a/b")
    assert family(analysis, "a") == -1


def test_a_scope_is_no_near_match_of_what_it_mostly_holds() -> None:
    graph = GraphDef()
    for i in range(30):
        graph.node.add(name=f"outer/inner/n{i}", op="Add")
    graph.node.add(name="outer/one_more", op="Neg")
    graph.node.add(name="and_one", op="Neg")
    analysis = analyse_graph(graph)
    assert family(analysis, "outer") == family(analysis, "outer/inner") == -1
    assert analysis.families.main == []


def test_the_same_structure_has_the_same_hash_in_every_graph(twins: GraphAnalysis) -> None:
    graph = GraphDef()
    graph.node.extend(
        n for n in example_graphs.twins().node if n.name.startswith("original/") or n.name == "x"
    )
    alone = analyse_graph(graph)
    a, b = template(alone, "original"), template(twins, "original")
    assert alone.templates.hash[a] == twins.templates.hash[b]
    # Written down: other machines and later versions must agree, or colours change.
    assert f"{int(twins.templates.hash[b]):016x}" == "ad2dbd057dcef5b2"


def test_hues_follow_the_hash_and_keep_families_of_one_scope_apart() -> None:
    hashes = [(i * 0x9E3779B97F4A7C15) % 2**64 for i in range(60)]
    alone = [set() for _ in hashes]
    hue, tone = hues(hashes, alone)
    assert (hue, tone) == hues(hashes, alone)
    assert len(set(zip(hue, tone))) == 60
    assert abs(hue[0] - hashes[0] % 3600 / 10) <= 7.5
    together = [set(range(5))] * 5 + alone[5:]
    first = sorted(hues(hashes, together)[0][:5])
    assert min(np.diff([*first, first[0] + 360])) >= 45


@given(any_graphs())
@unhurried(60)
def test_no_graph_breaks_the_picture(graph: GraphDef) -> None:
    header, columns = analyse_graph(graph).header_and_columns()
    vertices = header["ops"] + header["groups"]
    for name in ("parent", "op", "template", "family", "near", "side", "series", "flags", "size"):
        assert len(columns[name]) == vertices
    lines = bytes(columns["labels"]).decode().split("\n")
    assert len(lines) == vertices
    for name in ("meta_src", "meta_dst", "edge_src", "edge_dst", "child"):
        assert ((columns[name] >= 0) & (columns[name] < vertices)).all()
    assert (columns["template"] >= 0).all()
