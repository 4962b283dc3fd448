"""Metaedges: the edges between ops, merged between the children of their lowest common ancestor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.scopes import ScopeTree


@dataclass
class MetaEdges:
    """Each op edge with the two children of the lowest common ancestor that it connects.

    Attributes:
      top_src, top_dst: i32 by op edge; children of `group`; the op itself for a self loop.
      group: i32 by op edge; the lowest common ancestor.
      meta_of: i32 by op edge; its meta edge, -1 for a self loop.
      meta_group, meta_src, meta_dst: i32, by meta edge, sorted by group, source, destination.
      meta_data, meta_control: u32, number of data and control edges; meta_bytes: f64, sum of known
        sizes.
    """

    top_src: np.ndarray
    top_dst: np.ndarray
    group: np.ndarray
    meta_of: np.ndarray
    meta_group: np.ndarray
    meta_src: np.ndarray
    meta_dst: np.ndarray
    meta_data: np.ndarray
    meta_control: np.ndarray
    meta_bytes: np.ndarray


def find_metaedges(columns: GraphColumns, tree: ScopeTree, edge_bytes: np.ndarray) -> MetaEdges:
    """Finds the metaedges of all groups, one pass per level of the tree.

    Args:
      edge_bytes: f64 by op edge; -1 where the size is unknown.
    """
    top_src, top_dst = _raise_to_siblings(columns.edge_src, columns.edge_dst, tree)
    group = tree.parent[top_src]
    between = np.flatnonzero(top_src != top_dst)
    vertices = len(tree)
    key = (group[between].astype(np.int64) - tree.n_ops) * vertices + top_src[between]
    # Two sort keys, (group, src) and dst, because one key of all three would overflow.
    order = np.lexsort((top_dst[between], key))
    edges = between[order]
    key = key[order]
    new = np.ones(len(edges), bool)
    new[1:] = (key[1:] != key[:-1]) | (top_dst[edges][1:] != top_dst[edges][:-1])
    meta = np.cumsum(new) - 1
    count = int(meta[-1]) + 1 if len(meta) else 0
    control = columns.edge_port[edges] < 0
    meta_of = np.full(len(top_src), -1, np.int32)
    meta_of[edges] = meta
    first = edges[new]
    return MetaEdges(
        top_src=top_src,
        top_dst=top_dst,
        group=group,
        meta_of=meta_of,
        meta_group=group[first],
        meta_src=top_src[first],
        meta_dst=top_dst[first],
        meta_data=np.bincount(meta, ~control, count).astype(np.uint32),
        meta_control=np.bincount(meta, control, count).astype(np.uint32),
        meta_bytes=np.bincount(meta, np.maximum(edge_bytes[edges], 0), count),
    )


def _raise_to_siblings(
    src: np.ndarray, dst: np.ndarray, tree: ScopeTree
) -> tuple[np.ndarray, np.ndarray]:
    parent, depth = tree.parent, tree.depth.astype(np.int32)
    a, b = src.copy(), dst.copy()
    while True:
        deeper = depth[a] > depth[b]
        if not deeper.any():
            break
        a[deeper] = parent[a[deeper]]
    while True:
        deeper = depth[b] > depth[a]
        if not deeper.any():
            break
        b[deeper] = parent[b[deeper]]
    apart = np.flatnonzero((parent[a] != parent[b]) & (a != b))
    while len(apart):
        a[apart] = parent[a[apart]]
        b[apart] = parent[b[apart]]
        apart = apart[parent[a[apart]] != parent[b[apart]]]
    return a, b
