"""Modules and runs: what the first picture of a known network says."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from fixtures import known_networks
from fixtures.graphs_writer import GraphWriter

from headrace.board.graph.graph_bundle import GraphAnalysis, analyse_graph
from headrace.board.graph.sources.keras_model import graph_of_keras_model
from headrace.board.graph.structure.auxiliary_nodes import AUXILIARY
from headrace.board.graph.structure.scopes import MODULE
from headrace.formats.proto.graph_pb2 import GraphDef


@functools.cache
def analysis_of(name: str) -> GraphAnalysis:
    data = known_networks.data_of(name)
    keras = known_networks.is_keras_model(name)
    return analyse_graph(graph_of_keras_model(data) if keras else GraphDef.FromString(data))


def picture(analysis: GraphAnalysis, path: str = "") -> list[str]:
    """Returns the items of a scope, from the inputs to the outputs; `x3` for a run of three."""
    tree = analysis.tree
    groups = range(tree.n_ops, len(tree))
    group = next(g for g in groups if tree.path(g) == path)
    series = {v: one for one in analysis.series for v in one.members}
    shown: list[str] = []
    for child in tree.children(group).tolist():
        if analysis.side[child] == AUXILIARY:
            continue
        one = series.get(child)
        text = f"{one.pattern} x{len(one.members)}" if one else tree.labels[child]
        if text not in shown:
            shown.append(text)
    return shown


INCEPTION = ["mixed[0-2] x3", "mixed3", "mixed[4-7] x4", "mixed8", "mixed[9-10] x2"]
INCEPTION_OPS = ["mixed[0-2]_1 x3", "mixed3_1", "mixed[4-7]_1 x4", "mixed8_1", "mixed[9-10]_1 x2"]
RESNET = [
    f"conv{stage}_block{blocks}"
    for stage, count in ((2, 3), (3, 4), (4, 6), (5, 3))
    for blocks in ("1", f"[2-{count}] x{count - 1}")
]


@pytest.mark.parametrize(
    ("network", "scope", "expected"),
    [
        ("keras_inception_v3", "", INCEPTION),
        ("keras_inception_v3_ops", "inception_v3_1", INCEPTION_OPS),
        ("keras_resnet50", "", RESNET),
        ("keras_resnet50_ops", "resnet50_1", RESNET),
        (
            "keras_densenet121",
            "",
            [f"conv{stage}_block[1-{n}] x{n}" for stage, n in ((2, 6), (3, 12), (4, 24), (5, 16))],
        ),
        (
            "keras_efficientnet_b0",
            "",
            ["block1a", "block2a", "block2b", "block3a", "block3b", "block4a", "block4[b-c] x2",
             "block5a", "block5[b-c] x2", "block6a", "block6[b-d] x3", "block7a"],
        ),
        (
            "keras_mobilenet_v2",
            "",
            ["block_1", "block_2", "block_3", "block_[4-5] x2", "block_6", "block_[7-9] x3",
             "block_10", "block_[11-12] x2", "block_13", "block_[14-15] x2", "block_16"],
        ),
        ("keras_transformer", "", ["embedding", "block_[0-5] x6", "global_average_pooling1d"]),
        (
            "slim_inception_v3",
            "InceptionV3/InceptionV3",
            ["Conv2d_[1a-2b]_3x3 x3", "MaxPool_3a_3x3", "Mixed_5[b-d] x3", "Mixed_6a",
             "Mixed_6[b-e] x4", "Mixed_7a", "Mixed_7[b-c] x2", "Logits", "Predictions"],
        ),
        ("unrolled_lstm", "rnn/lstm_cell", ["step_0", "step_[1-18] x18", "step_19"]),
        ("digits", "", ["conv1", "conv2", "flatten", "hidden", "relu", "logits", "loss"]),
        ("while_rnn", "", ["rnn", "logits", "loss", "gradients"]),
        (
            "torch_resnet50",
            "ResNet",
            [f"Sequential[layer{n}]" for n in (1, 2, 3, 4)] + ["AdaptiveAvgPool2d[avgpool]"],
        ),
        ("torch_resnet50", "ResNet/Sequential[layer3]", ["Bottleneck[0]", "Bottleneck[1-5] x5"]),
    ],
)  # fmt: skip
def test_the_picture_says_how_many_modules_of_which_kind_follow_in_which_order(
    network: str, scope: str, expected: list[str]
) -> None:
    shown = picture(analysis_of(network), scope)
    assert [text for text in shown if text in expected] == expected, shown
    assert len(shown) <= 25


def test_a_module_holds_motifs_and_keeps_its_branches() -> None:
    analysis = analysis_of("keras_inception_v3")
    tree = analysis.tree
    mixed = next(v for v in range(tree.n_ops, len(tree)) if tree.labels[v] == "mixed9")
    labels = [tree.labels[v] for v in tree.children(mixed)]
    assert sum(label.endswith("-bn-relu") for label in labels) == 9
    # Two of the four branches divide and join again; then all are joined.
    assert {"mixed9_0", "concatenate", "mixed9"} <= set(labels)
    motif = next(v for v in tree.children(mixed) if tree.labels[v].endswith("-bn-relu"))
    ops = [analysis.columns.ops[analysis.columns.op[v]] for v in tree.children(int(motif))]
    assert ops == ["Conv2D", "BatchNormalization", "Activation(relu)"]


@pytest.mark.parametrize(
    ("network", "title", "wrappers"),
    [("keras_inception_v3", "conv2d", 0), ("keras_inception_v3_ops", "convolution", 94)],
)
def test_each_convolution_counts_once(network: str, title: str, wrappers: int) -> None:
    """A scope with one child has its structure, and is no further occurrence of it."""
    analysis = analysis_of(network)
    header, columns = analysis.header_and_columns()
    tree = analysis.tree
    family = next(f for f in header["families"] if f["title"].startswith(title))
    inner = np.diff(tree.first_child) != 1
    of_family = columns["family"][tree.n_ops :] == family["id"]
    assert int((inner & of_family).sum()) == 94
    assert int((~inner & of_family).sum()) == wrappers
    templates = [t for t in header["templates"] if t["family"] == family["id"]]
    assert sum(template["groups"] for template in templates) == 94


@pytest.mark.parametrize("network", known_networks.names())
def test_no_two_families_have_one_title(network: str) -> None:
    header, _ = analysis_of(network).header_and_columns()
    titles = [family["title"] for family in header["families"]]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("network", known_networks.names())
def test_modules_change_neither_names_nor_edges(network: str) -> None:
    analysis = analysis_of(network)
    tree, columns = analysis.tree, analysis.columns
    assert [tree.path(v) for v in range(len(columns)) if columns.home[v] < 0] == [
        columns.names[v] for v in range(len(columns)) if columns.home[v] < 0
    ]
    paths = [tree.path(v) for v in range(tree.n_ops, len(tree))]
    assert len(paths) == len(set(paths))
    assert (tree.parent[tree.n_ops + 1 :] < np.arange(tree.n_ops + 1, len(tree))).all()
    assert int(tree.size[tree.root]) == len(columns)


@pytest.mark.parametrize("network", known_networks.names())
def test_no_module_and_no_series_lies_on_both_sides_of_another_item(network: str) -> None:
    """Contracting the items of a scope to points leaves no cycle that was not there before."""
    analysis = analysis_of(network)
    tree, metaedges = analysis.tree, analysis.metaedges
    series = {v: -1 - at for at, one in enumerate(analysis.series) for v in one.members}
    folded = {int(tree.parent[v]) for v in range(len(tree)) if tree.flags[v] & MODULE}
    folded |= {one.parent for one in analysis.series if one.chain}
    for group in folded:
        rows = slice(*np.searchsorted(metaedges.meta_group, (group, group + 1)).tolist())
        data = metaedges.meta_data[rows] > 0
        ends = [
            [v if analysis.side[v] != AUXILIARY else None for v in side[rows][data].tolist()]
            for side in (metaedges.meta_src, metaedges.meta_dst)
        ]
        pairs = [(a, b) for a, b in zip(*ends) if a is not None and b is not None]
        if _has_cycle(set(pairs)):
            continue
        assert not _has_cycle({(series.get(a, a), series.get(b, b)) for a, b in pairs})


def _has_cycle(pairs: set[tuple[int, int]]) -> bool:
    pairs = {(a, b) for a, b in pairs if a != b}
    while pairs:
        fed = {b for _, b in pairs}
        left = {(a, b) for a, b in pairs if a in fed}
        if left == pairs:
            return True
        pairs = left
    return False


def test_a_stack_that_lies_in_sequence_through_another_is_not_folded_alone() -> None:
    g = GraphWriter()
    x = g.op("Placeholder", (), [4], "x")
    for number in range(4):
        for scope, ops in (("encode", ("Exp", "Neg", "Log")), ("mix", ("Tanh", "Abs"))):
            with g.scope(f"{scope}_{number}"):
                for op in ops:
                    x = g.op(op, [x], [4], op)
    analysis = analyse_graph(g.graph_def)
    assert analysis.series == []
    g = GraphWriter()
    x = g.op("Placeholder", (), [4], "x")
    for number in range(4):
        with g.scope(f"encode_{number}"):
            for op in ("Exp", "Neg", "Log"):
                x = g.op(op, [x], [4], op)
    assert [one.pattern for one in analyse_graph(g.graph_def).series] == ["encode_[0-3]"]


def test_small_and_cyclic_scopes_stay_as_they_are() -> None:
    g = GraphWriter()
    x = g.op("Placeholder", (), [4], "x")
    for number in range(2):
        x = g.op("MatMul", [x, x], [4], f"a_{number}")
        x = g.op("Relu", [x], [4], f"b_{number}")
    analysis = analyse_graph(g.graph_def)
    assert not (analysis.tree.flags & MODULE).any()
