"""What differs between two graphs, or between two groups of one graph.

Ops are matched by name, then groups and ops that were renamed by their structure: the same
template, then the same label within it; single ops by what they are joined to.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from headrace.board.graph.graph_bundle import GraphPicture
from headrace.board.graph.node_card import attribute_words, node_def_of

LISTED = 5000  # names in each list of the reply; the counts are of all
_OUTSIDE = "(outside)"
_ROUNDS = 3
Graph = tuple[Any, GraphPicture]


class _Side:
    """One of the two: its ops by name, relative to the group that is compared."""

    def __init__(self, graph_def: Any, picture: GraphPicture, group: int):
        self.graph_def, self.picture, self.group = graph_def, picture, group
        tree, columns = picture.tree, picture.columns
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
        """(source, port); the source is -1 outside the group."""
        at = range(self.in_start[op], self.in_start[op + 1])
        return [
            (self.in_src[e] if self.inside[self.in_src[e]] else -1, self.in_port[e]) for e in at
        ]

    def readers(self, op: int) -> list[int]:
        at = range(self.out_start[op], self.out_start[op + 1])
        return [self.out_dst[e] for e in at if self.inside[self.out_dst[e]]]


def diff_graphs(a: Graph, b: Graph) -> dict[str, Any]:
    """Returns the reply of /graph/diff for two graphs."""
    return _diff(_Side(*a, a[1].tree.root), _Side(*b, b[1].tree.root))


def diff_groups(
    graph_def: Any, picture: GraphPicture, group_a: int, group_b: int
) -> dict[str, Any]:
    """Returns the reply of /graph/diff for two groups of a graph; names are within the group."""
    return _diff(_Side(graph_def, picture, group_a), _Side(graph_def, picture, group_b))


def _diff(a: _Side, b: _Side) -> dict[str, Any]:
    to_b: dict[int, int] = {}
    for name, op in a.by_name.items():
        other = b.by_name.get(name)
        if other is not None and _op(a, op) == _op(b, other):
            to_b[op] = other
    moved_groups = _match_groups(a, b, to_b)
    _match_ops(a, b, to_b)
    taken = set(to_b.values())
    for name, op in a.by_name.items():  # of one name, and nothing else in common: it changed
        other = b.by_name.get(name)
        if other is not None and op not in to_b and other not in taken:
            to_b[op] = other
            taken.add(other)
    removed = [op for op in a.ops.tolist() if op not in to_b]
    added = [op for op in b.ops.tolist() if op not in taken]
    moved, changed, same = [], [], 0
    for op, other in to_b.items():
        what = _changes(a, b, op, other, to_b)
        if a.name[op] != b.name[other]:
            moved.append((op, other))
        if what:
            changed.append((other, what))
        elif a.name[op] == b.name[other]:
            same += 1
    groups: dict[str, dict[str, int]] = defaultdict(
        lambda: {"added": 0, "removed": 0, "changed": 0}
    )
    for side, ops, kind in (
        (b, added, "added"),
        (a, removed, "removed"),
        (b, [op for op, _ in changed], "changed"),
    ):
        for op in ops:
            name = side.name[op]
            while name:
                name = name.rpartition("/")[0]
                groups[name][kind] += 1
    single = [(x, y) for x, y in moved if not _inside_any(a.name[x], moved_groups)]
    listed = sorted(moved_groups.items()) + [(a.name[x], b.name[y]) for x, y in single]
    return {
        "added": sorted(b.name[op] for op in added)[:LISTED],
        "removed": sorted(a.name[op] for op in removed)[:LISTED],
        "changed": [{"name": b.name[op], "what": what} for op, what in changed[:LISTED]],
        "moved": [{"from": x, "to": y} for x, y in listed[:LISTED]],
        "same": same,
        "counts": {
            "added": len(added),
            "removed": len(removed),
            "changed": len(changed),
            "moved": len(moved),
        },
        "prefix_a": a.prefix,
        "prefix_b": b.prefix,
        "groups": groups,
    }


def _op(side: _Side, op: int) -> str:
    columns = side.picture.columns
    return columns.ops[columns.op[op]]


def _inside_any(name: str, groups: dict[str, str]) -> bool:
    while "/" in name:
        name = name.rpartition("/")[0]
        if name in groups:
            return True
    return False


def _match_groups(a: _Side, b: _Side, to_b: dict[int, int]) -> dict[str, str]:
    """Matches groups that have no op in common with the other side yet, largest first."""
    free_a, free_b = _free_groups(a, set(to_b)), _free_groups(b, set(to_b.values()))
    by_hash: dict[int, list[int]] = defaultdict(list)
    for group in free_b:
        by_hash[_hash(b, group)].append(group)
    moved = {}
    done_a, done_b = set(to_b), set(to_b.values())
    for group in free_a:
        if _first_op(a, group) in done_a:
            continue
        here = a.picture.tree.path(group)[len(a.prefix) :]
        candidates = [g for g in by_hash.get(_hash(a, group), ()) if _first_op(b, g) not in done_b]
        if not candidates:
            continue
        # Of several, the one whose name has most in common at its end.
        other = max(candidates, key=lambda g: (_common_tail(here, b.picture.tree.path(g)), -g))
        pairs = _paired(a, group, b, other)
        if any(x in done_a or y in done_b for x, y in pairs):
            continue
        to_b.update(pairs)
        done_a.update(x for x, _ in pairs)
        done_b.update(y for _, y in pairs)
        moved[here] = b.picture.tree.path(other)[len(b.prefix) :]
    return moved


def _free_groups(side: _Side, matched: set[int]) -> list[int]:
    """Groups below, none of whose ops is matched; those of most ops first."""
    tree = side.picture.tree
    flags = np.zeros(tree.n_ops, bool)
    flags[list(matched)] = True
    walk = np.argsort(tree.order[: tree.n_ops], kind="stable")
    places = tree.order[: tree.n_ops][walk]
    total = np.concatenate([[0], np.cumsum(flags[walk])])
    groups = np.arange(tree.n_ops + 1, len(tree))
    below = (tree.order[groups] > tree.order[side.group]) & (
        tree.order[groups] <= tree.last[side.group]
    )
    groups = groups[below & ((tree.flags[groups] & 2) == 0)]
    count = (
        total[np.searchsorted(places, tree.last[groups], "right")]
        - total[np.searchsorted(places, tree.order[groups])]
    )
    free = groups[(count == 0) & (tree.size[groups] > 1)]
    return free[np.lexsort((free, -tree.size[free].astype(np.int64)))].tolist()


def _hash(side: _Side, vertex: int) -> int:
    templates = side.picture.templates
    return int(templates.hash[templates.of_vertex[vertex]])


def _first_op(side: _Side, vertex: int) -> int:
    tree = side.picture.tree
    while vertex >= tree.n_ops:
        vertex = int(tree.children(vertex)[0])
    return vertex


def _common_tail(a: str, b: str) -> int:
    x, y = a.split("/")[::-1], b.split("/")[::-1]
    count = 0
    while count < min(len(x), len(y)) and x[count] == y[count]:
        count += 1
    return count


def _paired(a: _Side, left: int, b: _Side, right: int) -> list[tuple[int, int]]:
    """The ops of two groups of one template, in the order that labels, then names, give."""
    pairs = []
    stack = [(left, right)]
    while stack:
        x, y = stack.pop()
        if x < a.picture.tree.n_ops and y < b.picture.tree.n_ops:
            pairs.append((x, y))
        elif x >= a.picture.tree.n_ops and y >= b.picture.tree.n_ops:
            stack += zip(_in_order(a, x), _in_order(b, y))
        else:  # a group of one child has its child's template
            x, y = _first_op(a, x), _first_op(b, y)
            pairs.append((x, y))
    return pairs


def _in_order(side: _Side, group: int) -> list[int]:
    tree, templates = side.picture.tree, side.picture.templates
    children = tree.children(group).tolist()
    return sorted(children, key=lambda v: (_hash(side, v), int(templates.label[v]), tree.labels[v]))


def _match_ops(a: _Side, b: _Side, to_b: dict[int, int]) -> None:
    """Matches single ops by leaf, inputs and readers, where that says which; a few rounds."""
    for _ in range(_ROUNDS):
        matched_b = set(to_b.values())
        left = [op for op in a.ops.tolist() if op not in to_b]
        right = [op for op in b.ops.tolist() if op not in matched_b]
        if not left or not right:
            return
        back = {y: x for x, y in to_b.items()}
        known: dict[Any, list[int]] = defaultdict(list)
        for op in right:
            known[_surroundings(b, op, back)].append(op)
        own: dict[Any, list[int]] = defaultdict(list)
        identity = {x: x for x in to_b}
        for op in left:
            own[_surroundings(a, op, identity)].append(op)
        before = len(to_b)
        for key, ops in own.items():
            others = known.get(key, [])
            if len(ops) == len(others) == 1 and any(key[1:]):
                to_b[ops[0]] = others[0]
        if len(to_b) == before:
            return


def _surroundings(side: _Side, op: int, to_a: dict[int, int]) -> tuple[Any, ...]:
    columns = side.picture.columns
    inputs = tuple(sorted((to_a[s], p) for s, p in side.inputs(op) if s in to_a))
    readers = tuple(sorted(to_a[r] for r in side.readers(op) if r in to_a))
    return columns.leaves[columns.leaf[op]], inputs, readers


def _changes(a: _Side, b: _Side, op: int, other: int, to_b: dict[int, int]) -> list[str]:
    """What differs between two matched ops, in words."""
    left, right = (node_def_of(s.graph_def, s.picture, o) for s, o in ((a, op), (b, other)))
    if left is None or right is None:
        return []
    what = []
    if left.op != right.op:
        what.append(f"op: {left.op} -> {right.op}")
    if left.device != right.device and a.prefix == b.prefix:
        what.append(f"device: {left.device or 'any'} -> {right.device or 'any'}")
    ours = sorted((to_b.get(s, -2) if s >= 0 else -1, p) for s, p in a.inputs(op))
    theirs = sorted((s, p) for s, p in b.inputs(other))
    if ours != theirs:
        what.append(f"inputs: {_ends(a, op)} -> {_ends(b, other)}")
    if left.attr != right.attr:
        for key in sorted({*left.attr, *right.attr}):
            words = [
                attribute_words(node.attr[key])["value"] if key in node.attr else "none"
                for node in (left, right)
            ]
            if key in left.attr and key in right.attr and left.attr[key] == right.attr[key]:
                continue
            title = "shapes" if key == "_output_shapes" else key
            what.append(f"{title}: {words[0][:100]} -> {words[1][:100]}")
    return what


def _ends(side: _Side, op: int) -> str:
    words = []
    for source, port in side.inputs(op)[:8]:
        name = side.name[source] if source >= 0 else _OUTSIDE
        words.append(f"^{name}" if port < 0 else name if port == 0 else f"{name}:{port}")
    return "[" + ", ".join(words) + "]"
