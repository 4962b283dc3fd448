"""Puts the modules of flat scopes into the tree of scopes, as groups that are not part of names."""

from __future__ import annotations

import dataclasses

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.modules.find_modules import FEWEST_PARTS, find_modules
from headrace.board.graph.structure.modules.flat_scope import Part, Parts, flow_of
from headrace.board.graph.structure.scopes import MODULE, ScopeTree, tree_of_parents

MOST_PARTS = 20_000  # a scope with more children is not searched


def with_modules(
    columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges, bookkeeping: np.ndarray
) -> ScopeTree:
    """Returns the tree with a group for each module; the same tree if there are none.

    Args:
      bookkeeping: bool by vertex; such children are in no module.
    """
    counts = np.diff(tree.first_child)
    found: list[tuple[int, list[Part]]] = []
    parts = None
    for group in (np.flatnonzero(counts >= FEWEST_PARTS) + tree.n_ops).tolist():
        if counts[group - tree.n_ops] > MOST_PARTS or bookkeeping[group]:
            continue
        parts = parts or Parts(columns, tree)
        folded = find_modules(flow_of(group, tree, metaedges, parts, bookkeeping))
        modules = [part for part in folded.parts if part.is_module]
        if modules:
            found.append((group, modules))
    return _regrouped(tree, found) if found else tree


def _regrouped(tree: ScopeTree, found: list[tuple[int, list[Part]]]) -> ScopeTree:
    parent = tree.parent.astype(np.int64).tolist()
    labels = list(tree.labels)
    flags = tree.flags.tolist()

    def add(part: Part, above: int, taken: set[str]) -> None:
        number = len(parent)
        label, again = part.label, 1
        while label in taken:
            again += 1
            label = f"{part.label} ({again})"
        taken.add(label)
        parent.append(above)
        labels.append(label)
        flags.append(MODULE)
        for inner in part.parts:
            if inner.is_module:
                add(inner, number, taken)
            else:
                parent[inner.vertices[0]] = number

    for group, modules in found:
        taken: set[str] = set()  # by scope: a module's name is that of the scope and its label
        for part in modules:
            add(part, group, taken)
    return dataclasses.replace(
        tree_of_parents(tree.n_ops, parent, labels, flags), too_deep=tree.too_deep
    )
