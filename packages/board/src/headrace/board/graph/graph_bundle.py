"""All that a page needs of a graph, in one reply of columns (docs/board_api.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headrace.board.graph.slice_names import SliceNames
from headrace.board.graph.structure.auxiliary_nodes import auxiliary_nodes, is_bookkeeping
from headrace.board.graph.structure.families import Families, find_families
from headrace.board.graph.structure.graph_columns import NOTES, GraphColumns, read_columns
from headrace.board.graph.structure.metaedges import MetaEdges, find_metaedges
from headrace.board.graph.structure.modules.fold_tree import with_modules
from headrace.board.graph.structure.scopes import FUNCTIONS_LABEL, ScopeTree, scope_tree
from headrace.board.graph.structure.series_nodes import Series, find_series
from headrace.board.graph.structure.templates import Templates, find_templates
from headrace.board.graph.structure.tensor_shapes import OutputShapes, output_shapes

_NO_OP = 65_535


@dataclass
class GraphAnalysis:
    """A graph with everything that is derived from it."""

    columns: GraphColumns
    tree: ScopeTree
    shapes: OutputShapes
    metaedges: MetaEdges
    templates: Templates
    families: Families
    series: list[Series]
    side: np.ndarray
    _index: dict[str, int] | None = None

    @cached_property
    def slice_names(self) -> SliceNames:
        """Finds the nodes of the slices of traces."""
        return SliceNames(self.columns)

    def op_named(self, name: str) -> int | None:
        """Returns the op with a name; ops of functions have names `functions/FUNCTION/NAME`."""
        if self._index is None:
            self._index = {}
            for at, text in enumerate(self.columns.names):
                home = int(self.columns.home[at])
                if home >= 0:
                    text = f"{FUNCTIONS_LABEL}/{self.columns.functions[home].name}/{text}"
                self._index.setdefault(text, at)
        return self._index.get(name)

    def header_and_columns(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Returns the arguments of encode_columns."""
        return _header(self), _columns(self)


def analyse_graph(graph_def: Any) -> GraphAnalysis:
    """Analyses a graph: scopes, metaedges, templates, families, series nodes, auxiliary nodes.

    Raises: GraphTooLarge.
    """
    columns = read_columns(graph_def)
    tree = scope_tree(columns)
    shapes = output_shapes(graph_def, columns)
    metaedges = find_metaedges(columns, tree, shapes.edge_bytes)
    bookkeeping = is_bookkeeping(columns, tree, shapes)
    folded = with_modules(columns, tree, metaedges, bookkeeping)
    if folded is not tree:
        tree, metaedges = folded, find_metaedges(columns, folded, shapes.edge_bytes)
        bookkeeping = is_bookkeeping(columns, tree, shapes)
    templates = find_templates(columns, tree, metaedges)
    families = find_families(columns, tree, metaedges, templates)
    series = find_series(
        columns, tree, metaedges, templates.of_vertex, families.of_template, bookkeeping
    )
    side = auxiliary_nodes(columns, tree, metaedges, shapes)
    return GraphAnalysis(columns, tree, shapes, metaedges, templates, families, series, side)


def label_line(label: str) -> str:
    """Returns a label as one line: backslashes and line ends are escaped."""
    if "\\" in label or "\n" in label or "\r" in label:
        return label.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return label


def text_column(labels: list[str]) -> np.ndarray:
    """Returns labels as UTF-8, one per line."""
    text = "\n".join([label_line(label) for label in labels])
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def _header(analysis: GraphAnalysis) -> dict[str, Any]:
    columns, tree = analysis.columns, analysis.tree
    templates, families = analysis.templates, analysis.families
    titles = _family_titles(analysis)
    problems = [
        {"kind": kind, "count": count, "text": text, "note": kind in NOTES}
        for kind, (count, text) in columns.problems.items()
    ]
    if tree.too_deep:
        problems.append(
            {
                "kind": "too_deep",
                "count": tree.too_deep,
                "note": False,
                "text": "names have more parts than are shown as scopes; the rest is in the label",
            }
        )
    pseudo = {
        tree.labels[v]: int(v)
        for v in (np.flatnonzero(tree.flags[tree.n_ops :] & 2) + tree.n_ops).tolist()
        if tree.parent[v] != tree.root
    }
    return {
        "ops": len(columns),
        "groups": len(tree) - len(columns),
        "strings": {
            "ops": columns.ops,
            "devices": columns.devices,
            "leaves": columns.leaves,
            "shapes": analysis.shapes.texts,
        },
        "problems": problems,
        "templates": _template_documents(templates, families),
        "families": [
            {
                "id": number,
                "hue": families.hue[number],
                "tone": families.tone[number],
                "title": titles[number],
                "main": main,
                "templates": np.flatnonzero(families.of_template == number).tolist(),
            }
            for number, main in enumerate(families.main)
        ],
        "series": [
            {
                "id": number,
                "parent": series.parent,
                "pattern": series.pattern,
                "count": len(series.members),
                "chain": series.chain,
                "varied": series.varied,
            }
            for number, series in enumerate(analysis.series)
        ],
        "functions": [
            {"name": f.name, "group": pseudo.get(f.name, -1), "callers": f.callers}
            for f in columns.functions
        ],
    }


def _template_documents(templates: Templates, families: Families) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "hash": f"{int(templates.hash[number]):016x}",
            "groups": int(templates.groups[number]),
            "ops": int(templates.ops[number]),
            "exact": bool(templates.exact[number]),
            "family": int(families.of_template[number]),
            "near": int(families.near[number]),
        }
        for number in range(len(templates.hash))
        if templates.is_group[number]
    ]


def _family_titles(analysis: GraphAnalysis) -> list[str]:
    """Returns for each family the label of its first group; no two are the same.

    A label that another family has is followed by the scope around it.
    """
    tree, templates = analysis.tree, analysis.templates
    of_group = templates.of_vertex[tree.n_ops :]
    first = {int(t): at for at, t in reversed(list(enumerate(of_group.tolist())))}
    titles: dict[str, int] = {}
    for main in analysis.families.main:
        at = first[main] + tree.n_ops if main in first else tree.root
        while len(tree.children(at)) == 1 and int(tree.children(at)[0]) >= tree.n_ops:
            at = int(tree.children(at)[0])  # the group within, not one that wraps it
        title = tree.labels[at]
        if title in titles:
            title = f"{title} in {tree.labels[tree.parent[at]] or 'the graph'}"
        if title in titles:
            title = f"{title}, {len(titles)}"
        titles[title] = main
    return list(titles)


def _columns(analysis: GraphAnalysis) -> dict[str, np.ndarray]:
    columns, tree, metaedges = analysis.columns, analysis.tree, analysis.metaedges
    templates, families = analysis.templates, analysis.families
    groups = len(tree) - tree.n_ops
    template = templates.of_vertex
    family = families.of_template[template]
    near = families.near[template]
    # Ops have templates but no families: only groups have a structure to compare.
    family[: tree.n_ops] = -1
    near[: tree.n_ops] = 0
    family[tree.root] = -1
    series = np.full(len(tree), -1, np.int32)
    for number, stack in enumerate(analysis.series):
        series[list(stack.members)] = number
    no_groups = np.full(groups, -1.0)
    by_source = np.lexsort((columns.edge_dst, columns.edge_src))
    return {
        "labels": text_column(tree.labels),
        "flags": tree.flags,
        "parent": tree.parent,
        "depth": tree.depth,
        "op": np.concatenate([columns.op, np.full(groups, _NO_OP, np.uint16)]),
        "device": np.concatenate([columns.device, np.full(groups, _NO_OP, np.uint16)]),
        "first_child": tree.first_child,
        "child": tree.child,
        "size": tree.size,
        "template": template,
        "family": family,
        "near": near,
        "side": analysis.side,
        "series": series,
        "shape": analysis.shapes.text,
        "output_bytes": np.concatenate([analysis.shapes.bytes, no_groups]),
        "meta_group": metaedges.meta_group,
        "meta_src": metaedges.meta_src,
        "meta_dst": metaedges.meta_dst,
        "meta_data": metaedges.meta_data,
        "meta_control": metaedges.meta_control,
        "meta_bytes": metaedges.meta_bytes,
        "edge_src": columns.edge_src[by_source],
        "edge_dst": columns.edge_dst[by_source],
        "edge_port": columns.edge_port[by_source],
    }
