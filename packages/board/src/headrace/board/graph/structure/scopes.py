"""The tree of name scopes. Vertices are the ops, then the groups; the first group is the root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns

DEPTH_LIMIT = 100
GROUP_LIMIT = 2_000_000
FUNCTIONS_LABEL = "functions"

OWN_NAME_IS_SCOPE = 1  # an op with the name of its scope; its label is in parentheses
PSEUDO_GROUP = 2  # the group of all functions or of one, which is not part of names
MODULE = 4  # a group of siblings that form a module; not part of the names of what it holds
MODULE_SUFFIX = " (module)"  # of the name of the module itself


@dataclass
class ScopeTree:
    """Columns by vertex: 0..n_ops-1 are ops, n_ops is the root, the rest are groups.

    A group comes after the group that holds it.

    Attributes:
      parent: i32, -1 for the root; depth: u16, 0 for the root.
      labels: last part of each name; flags: u8, OWN_NAME_IS_SCOPE, PSEUDO_GROUP or MODULE.
      first_child, child: children of group g are child[first_child[g - n_ops] :
        first_child[g - n_ops + 1]], in the order in which they first appear.
      size: u32, ops at or below a vertex.
      order: i32, place in a walk from the root, parents first; last: the last place below.
      too_deep: number of names with too many parts; their remaining parts stay in the label.
    """

    n_ops: int
    parent: np.ndarray
    depth: np.ndarray
    labels: list[str]
    flags: np.ndarray
    first_child: np.ndarray
    child: np.ndarray
    size: np.ndarray
    order: np.ndarray
    last: np.ndarray
    too_deep: int

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def root(self) -> int:
        return self.n_ops

    def children(self, group: int) -> np.ndarray:
        at = group - self.n_ops
        return self.child[self.first_child[at] : self.first_child[at + 1]]

    def is_below(self, vertex: int, group: int) -> bool:
        return bool(self.order[group] <= self.order[vertex] <= self.last[group])

    def path(self, vertex: int) -> str:
        """Returns the full name of an op or scope; functions are below `functions/NAME/`."""
        parts: list[str] = []
        at = vertex
        if self.flags[at] & OWN_NAME_IS_SCOPE:
            at = int(self.parent[at])
            while self.flags[at] & MODULE:
                at = int(self.parent[at])
        suffix = MODULE_SUFFIX if self.flags[at] & MODULE else ""
        while at != self.root:
            if not parts or not self.flags[at] & MODULE:
                parts.append(self.labels[at])
            at = int(self.parent[at])
        return "/".join(reversed(parts)) + suffix


class _TreeBuilder:
    """Collects the groups in order of appearance, with parent and first op."""

    def __init__(self, n_ops: int):
        self.n_ops = n_ops
        self.labels = [""]
        self.parent = [-1]
        self.depth = [0]
        self.appeared = [-1]
        self.flags = [0]
        self.too_deep = 0
        # By parent group and label. Full paths as keys would take memory quadratic in the depth.
        self.inner: dict[tuple[int, str], int] = {}

    def new(self, label: str, parent: int, appeared: int, flags: int = 0) -> int:
        self.labels.append(label)
        self.parent.append(parent)
        self.depth.append(self.depth[parent - self.n_ops] + 1)
        self.appeared.append(appeared)
        self.flags.append(flags)
        return self.n_ops + len(self.labels) - 1

    def place(
        self, names: list[str], first: int, base: int, parent: np.ndarray, labels: list[str]
    ) -> None:
        """Finds or creates the group of each name, below `base`."""
        groups: dict[str, int] = {}
        for at, name in enumerate(names, first):
            scope, slash, label = name.rpartition("/")
            if slash:
                group = groups.get(scope)
                if group is None:
                    group, rest = self._grow(scope, base, at)
                    if rest:
                        label = rest + label
                    else:
                        groups[scope] = group
                parent[at] = group
            else:
                parent[at] = base
            labels.append(label)

    def _grow(self, scope: str, base: int, at: int) -> tuple[int, str]:
        parts = scope.split("/")
        rest = ""
        if len(parts) > DEPTH_LIMIT:
            rest = "/".join(parts[DEPTH_LIMIT:]) + "/"
            parts = parts[:DEPTH_LIMIT]
            self.too_deep += 1
        group = base
        for number, part in enumerate(parts):
            known = self.inner.get((group, part))
            if known is None and len(self.labels) >= GROUP_LIMIT:
                self.too_deep += 1
                return group, "/".join(parts[number:]) + "/" + rest
            if known is None:
                known = self.inner[group, part] = self.new(part, group, at)
            group = known
        return group, rest


def scope_tree(columns: GraphColumns) -> ScopeTree:
    """Returns the tree of a graph's scopes; functions are below a group named `functions`."""
    n = len(columns)
    grower = _TreeBuilder(n)
    parent = np.full(n, n, np.int32)
    labels: list[str] = []
    flags = np.zeros(n, np.uint8)
    end = columns.functions[0].first if columns.functions else n
    places = [(0, end, n)]
    if columns.functions:
        pseudo = grower.new(FUNCTIONS_LABEL, n, end, PSEUDO_GROUP)
        for function in columns.functions:
            home = grower.new(function.name, pseudo, function.first, PSEUDO_GROUP)
            places.append((function.first, function.end, home))
    for first, stop, base in places:
        names = columns.names[first:stop]
        grower.place(names, first, base, parent, labels)
        around = parent[first:stop].tolist()
        for at, key in enumerate(zip(around, labels[first:stop], strict=True), first):
            group = grower.inner.get(key)
            if group is not None:
                grower.appeared[group - n] = min(grower.appeared[group - n], at)
                parent[at] = group
                labels[at] = f"({labels[at]})"
                flags[at] = OWN_NAME_IS_SCOPE
    op_parent, group_depth = parent, np.array(grower.depth, np.uint16)
    return _finished(
        n,
        np.concatenate([op_parent, np.array(grower.parent, np.int32)]),
        np.concatenate([group_depth[op_parent - n] + 1, group_depth]).astype(np.uint16),
        np.concatenate([np.arange(n), np.array(grower.appeared, np.int64)]),
        labels + grower.labels,
        np.concatenate([flags, np.array(grower.flags, np.uint8)]),
        grower.too_deep,
    )


def tree_of_parents(
    n: int, all_parents: list[int], all_labels: list[str], all_flags: list[int]
) -> ScopeTree:
    """Returns a tree of n ops and any groups, which are numbered anew from the outer to the inner.

    Args:
      all_parents: by vertex; n is the root, whose parent is -1.
    """
    parent = np.array(all_parents, np.int64)
    depth = np.zeros(len(parent), np.int64)
    at = parent.copy()
    while (at >= 0).any():
        depth += at >= 0
        at = np.where(at >= 0, parent[at], -1)
    appeared = np.concatenate([np.arange(n), np.full(len(parent) - n, n)])
    for level in range(int(depth.max()), 0, -1):
        here = np.flatnonzero(depth == level)
        np.minimum.at(appeared, parent[here], appeared[here])
    groups = np.arange(n, len(parent))
    order = groups[np.lexsort((appeared[groups], depth[groups]))]
    number = np.arange(len(parent))
    number[order] = groups
    renumbered = number[parent[np.concatenate([np.arange(n), order])]]
    renumbered[n] = -1
    return _finished(
        n,
        renumbered.astype(np.int32),
        depth[np.concatenate([np.arange(n), order])].astype(np.uint16),
        np.concatenate([np.arange(n), appeared[order]]),
        all_labels[:n] + [all_labels[v] for v in order.tolist()],
        np.array(all_flags, np.uint8)[np.concatenate([np.arange(n), order])],
        0,
    )


def _finished(
    n: int,
    parent: np.ndarray,
    depth: np.ndarray,
    appeared: np.ndarray,
    labels: list[str],
    flags: np.ndarray,
    too_deep: int,
) -> ScopeTree:
    groups = len(parent) - n
    # Children of each group, in order: one sort.
    vertices = np.arange(n + groups)
    inner = vertices[parent >= 0]
    inner = inner[np.lexsort((inner, appeared[inner], parent[inner]))]
    first_child = np.searchsorted(parent[inner], np.arange(n, n + groups + 1)).astype(np.int32)
    size = np.concatenate([np.ones(n, np.int64), np.zeros(groups, np.int64)])
    weight = np.ones(n + groups, np.int64)
    by_depth = np.argsort(depth, kind="stable")
    levels = np.split(by_depth, np.searchsorted(depth[by_depth], np.arange(1, depth.max() + 1)))
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
        np.add.at(weight, parent[level], weight[level])
    # Position in the walk: after the parent and after everything below the earlier siblings.
    before = np.cumsum(weight[inner]) - weight[inner]
    start = first_child[parent[inner] - n]
    offset = np.zeros(n + groups, np.int64)
    offset[inner] = before - before[start] + 1
    order = np.zeros(n + groups, np.int64)
    for level in levels[1:]:
        order[level] = order[parent[level]] + offset[level]
    return ScopeTree(
        n_ops=n,
        parent=parent,
        depth=depth,
        labels=labels,
        flags=flags,
        first_child=first_child,
        child=inner.astype(np.int32),
        size=size.astype(np.uint32),
        order=order.astype(np.int32),
        last=(order + weight - 1).astype(np.int32),
        too_deep=too_deep,
    )
