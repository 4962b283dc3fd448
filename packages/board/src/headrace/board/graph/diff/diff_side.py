"""One of the two graphs or groups that are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.graph.graph_bundle import GraphAnalysis


class Side:
    """The ops of one side by name, relative to the compared group."""

    def __init__(self, graph_def: Any, analysis: GraphAnalysis, group: int):
        self.graph_def, self.analysis, self.group = graph_def, analysis, group
        tree, columns = analysis.tree, analysis.columns
        places = tree.order[: tree.n_ops]
        inside = (places >= tree.order[group]) & (places <= tree.last[group])
        self.ops = np.flatnonzero(inside)
        self.inside = inside
        prefix = tree.path(group) + "/" if group != tree.root else ""
        self.prefix = prefix
        self.name: dict[int, str] = {}
        self.by_name: dict[str, int] = {}
        for op in self.ops.tolist():
            name = columns.names[op] if columns.home[op] < 0 else tree.path(op)
            name = name[len(prefix) :] if name.startswith(prefix) else name
            self.name[op] = name
            self.by_name.setdefault(name, op)
        order = np.argsort(columns.edge_dst, kind="stable")
        self.in_src = columns.edge_src[order].tolist()
        self.in_port = columns.edge_port[order].tolist()
        self.in_start = np.searchsorted(
            columns.edge_dst[order], np.arange(len(columns) + 1)
        ).tolist()
        order = np.argsort(columns.edge_src, kind="stable")
        self.out_dst = columns.edge_dst[order].tolist()
        self.out_start = np.searchsorted(
            columns.edge_src[order], np.arange(len(columns) + 1)
        ).tolist()

    def inputs(self, op: int) -> list[tuple[int, int]]:
        """Returns (source, port) of each input; the source is -1 outside the group."""
        at = range(self.in_start[op], self.in_start[op + 1])
        return [
            (self.in_src[e] if self.inside[self.in_src[e]] else -1, self.in_port[e]) for e in at
        ]

    def readers(self, op: int) -> list[int]:
        at = range(self.out_start[op], self.out_start[op + 1])
        return [self.out_dst[e] for e in at if self.inside[self.out_dst[e]]]
