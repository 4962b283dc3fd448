"""Templates: groups of equal structure, regardless of names and of the order in the file.

The hash of a group is computed bottom-up from the hashes of its children (Merkle tree). Within a
group, labels of the children are refined along the edges between them (Weisfeiler and Lehman 1968).
The vertex inside a child group to which an edge is attached counts too, so rewiring at any depth
changes the hash.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.label_hash import joined, mixed, summed, text_hash
from headrace.board.graph.structure.matching import same_structure
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import ScopeTree

MAX_ROUNDS = 16


def _seed(text: str) -> np.ndarray:
    return np.array([text_hash(text)], np.uint64)


_IN, _OUT, _GROUP, _EDGE, _INNER = (
    _seed(f"headrace {s}") for s in ("in out group edge at".split())
)


@dataclass
class Templates:
    """The structures of a graph, sorted by number of ops times number of groups, then by hash.

    Attributes:
      of_vertex: i32, template of each vertex.
      hash: u64, by template; the same in every graph and run.
      groups: number of groups (or ops) of each template; ops: number of ops in one of them;
        example: the first vertex of each.
      exact: bool, by template: whether its groups were compared child by child, not only by hash.
      is_group: bool, by template: whether it is the template of a group.
      label: u64 by vertex, its role in the structure of its group; equal for interchangeable ones.
      leaf_hash: u64 by leaf of the columns.
    """

    of_vertex: np.ndarray
    hash: np.ndarray
    groups: np.ndarray
    ops: np.ndarray
    example: np.ndarray
    exact: np.ndarray
    is_group: np.ndarray
    label: np.ndarray
    leaf_hash: np.ndarray


class Labels:
    """The refinement: `hash` is the template of each vertex, `label` its role within its group."""

    def __init__(self, columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges):
        self.columns, self.tree, self.metaedges = columns, tree, metaedges
        self.leaf_hash = np.array([text_hash(text) for text in columns.leaves], np.uint64)
        self.hash = np.zeros(len(tree), np.uint64)
        self.hash[: tree.n_ops] = self.leaf_hash[columns.leaf]
        self.label = self.hash.copy()
        self.meta_hash = np.zeros(len(metaedges.meta_src), np.uint64)
        self.height = _heights(tree)
        self._by_level()

    def _by_level(self) -> None:
        tree, metaedges = self.tree, self.metaedges
        groups = np.arange(tree.n_ops, len(tree))
        count = np.diff(tree.first_child)
        level_of_edge = self.height[metaedges.group]
        level_of_meta = self.height[metaedges.meta_group]
        real = metaedges.meta_of >= 0
        for level in range(1, int(self.height[tree.root]) + 1):
            here = groups[self.height[groups] == level]
            alone = here[count[here - tree.n_ops] == 1]
            only = tree.child[tree.first_child[alone - tree.n_ops]]
            self.hash[alone] = self.hash[only]
            self.label[only] = self.hash[only]
            here = here[count[here - tree.n_ops] > 1]
            edges = np.flatnonzero((level_of_edge == level) & real)
            self._hash_edges(edges)
            self._refine(here, np.flatnonzero(level_of_meta == level))

    def _hash_edges(self, edges: np.ndarray) -> None:
        """Hashes each metaedge: the multiset of (port, position inside each end) of its edges."""
        columns, metaedges = self.columns, self.metaedges
        place = joined(
            self._place_inside(columns.edge_src[edges], metaedges.top_src[edges]),
            self._place_inside(columns.edge_dst[edges], metaedges.top_dst[edges]),
        )
        port = columns.edge_port[edges].astype(np.int64).astype(np.uint64)
        np.add.at(self.meta_hash, metaedges.meta_of[edges], mixed(joined(place, port)))

    def _place_inside(self, vertex: np.ndarray, top: np.ndarray) -> np.ndarray:
        """Returns a hash of the labels from each vertex up to its ancestor `top`, without `top`."""
        at = vertex.copy()
        place = np.repeat(_INNER, len(at))
        below = np.flatnonzero(at != top)
        while len(below):
            place[below] = joined(place[below], self.label[at[below]])
            at[below] = self.tree.parent[at[below]]
            below = below[at[below] != top[below]]
        return place

    def _refine(self, groups: np.ndarray, meta: np.ndarray) -> None:
        """Labels the children of the groups of one level, then hashes the groups."""
        tree, metaedges = self.tree, self.metaedges
        first = tree.first_child
        counts = first[groups - tree.n_ops + 1] - first[groups - tree.n_ops]
        owner = np.repeat(np.arange(len(groups)), counts)
        start = np.cumsum(counts) - counts
        child = tree.child[np.arange(len(owner)) - start[owner] + first[groups - tree.n_ops][owner]]
        place = np.full(len(tree), -1, np.int64)
        place[child] = np.arange(len(child))
        src, dst = place[metaedges.meta_src[meta]], place[metaedges.meta_dst[meta]]
        edge = self.meta_hash[meta]
        label = mixed(self.hash[child])
        # A group is refined until its partition is stable, independently of all other groups.
        active = np.zeros(len(groups), bool)
        active[owner[src]] = True
        parts = _parts(label, owner, len(groups))
        for _ in range(MAX_ROUNDS):
            active &= parts < counts
            some = active[owner[src]]
            if not some.any():
                break
            s, d, e = src[some], dst[some], edge[some]
            into = summed(joined(joined(label[s], e), _IN), d, len(child))
            out = summed(joined(joined(label[d], e), _OUT), s, len(child))
            moving = active[owner]
            label[moving] = joined(joined(label[moving], into[moving]), out[moving])
            finer = _parts(label, owner, len(groups))
            active &= finer > parts
            parts = finer
        self.label[child] = label
        vertices = summed(label, owner, len(groups))
        edges = summed(
            joined(joined(joined(label[src], edge), label[dst]), _EDGE), owner[src], len(groups)
        )
        total = joined(joined(vertices, edges), counts.astype(np.uint64))
        self.hash[groups] = joined(total, _GROUP)


def _heights(tree: ScopeTree) -> np.ndarray:
    height = np.zeros(len(tree), np.int32)
    for depth in range(int(tree.depth.max()), 0, -1):
        level = np.flatnonzero(tree.depth == depth)
        np.maximum.at(height, tree.parent[level], height[level] + 1)
    height[tree.root] = max(int(height[tree.root]), 1)
    return height


def _parts(label: np.ndarray, owner: np.ndarray, groups: int) -> np.ndarray:
    """Returns the number of different labels in each group."""
    _, index = np.unique(label ^ mixed(owner.astype(np.uint64)), return_index=True)
    return np.bincount(owner[index], minlength=groups)


def find_templates(columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges) -> Templates:
    """Returns the templates of all vertices."""
    labels = Labels(columns, tree, metaedges)
    hashes = labels.hash
    different = same_structure(columns, tree, metaedges, labels)
    for vertex, salt in different.mismatched.items():
        hashes[vertex] = joined(hashes[vertex : vertex + 1], _seed(f"differs {salt}"))[0]
    unique, example, of_vertex = np.unique(hashes, return_index=True, return_inverse=True)
    # A group with a single child has the same template as the child and is not counted again.
    counted = np.ones(len(tree), bool)
    counted[tree.n_ops :] = np.diff(tree.first_child) != 1
    groups = np.bincount(of_vertex[counted], minlength=len(unique))
    size = tree.size[example].astype(np.int64)
    is_group = np.zeros(len(unique), bool)
    is_group[of_vertex[tree.n_ops :]] = True
    order = np.lexsort((unique, -(size * groups)))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    exact = np.ones(len(unique), bool)
    exact[of_vertex[sorted(different.unproven)]] = False
    return Templates(
        of_vertex=rank[of_vertex].astype(np.int32),
        hash=unique[order],
        groups=groups[order],
        ops=size[order],
        example=example[order],
        exact=exact[order],
        is_group=is_group[order],
        label=labels.label,
        leaf_hash=labels.leaf_hash,
    )
