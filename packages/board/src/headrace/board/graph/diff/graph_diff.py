"""The difference between two graphs, or between two groups of one graph.

Ops are matched by name. Renamed groups are matched by template and their ops by the label within
it; renamed single ops are matched by their neighbours.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from headrace.board.graph.diff.diff_side import Side
from headrace.board.graph.diff.op_changes import changes
from headrace.board.graph.graph_bundle import GraphAnalysis

_ROUNDS = 3
_TRIED = 32  # candidates for a group that moved
Graph = tuple[Any, GraphAnalysis]


@dataclass(frozen=True)
class Difference:
    """The difference between a and b; ops are vertices of their graph.

    Attributes:
      added: ops of b; removed: ops of a.
      changed: (op of a, op of b, descriptions of what differs).
      moved: pairs of ops with different names; moved_groups: pairs of groups that moved as a whole.
      in_moved_group: for each of `moved`, whether it moved with such a group.
      same: number of equal ops with equal names.
    """

    a: Side
    b: Side
    added: list[int]
    removed: list[int]
    changed: list[tuple[int, int, list[str]]]
    moved: list[tuple[int, int]]
    moved_groups: dict[int, int]
    in_moved_group: list[bool]
    same: int


def diff_graphs(a: Graph, b: Graph) -> Difference:
    """Returns how graph b differs from graph a."""
    return _diff(Side(*a, a[1].tree.root), Side(*b, b[1].tree.root))


def diff_groups(graph_def: Any, analysis: GraphAnalysis, group_a: int, group_b: int) -> Difference:
    """Returns how two groups of a graph differ; names are within the group."""
    return _diff(Side(graph_def, analysis, group_a), Side(graph_def, analysis, group_b))


def _diff(a: Side, b: Side) -> Difference:
    to_b: dict[int, int] = {}
    for name, op in a.by_name.items():
        other = b.by_name.get(name)
        if other is not None and _op(a, op) == _op(b, other):
            to_b[op] = other
    known = set(to_b)
    moved_groups = _match_groups(a, b, to_b)
    by_group = set(to_b) - known
    _match_ops(a, b, to_b)
    taken = set(to_b.values())
    for name, op in a.by_name.items():  # equal name but different op: it changed
        other = b.by_name.get(name)
        if other is not None and op not in to_b and other not in taken:
            to_b[op] = other
            taken.add(other)
    moved, changed, same = [], [], 0
    for op, other in to_b.items():
        what = changes(a, b, op, other, to_b)
        if a.name[op] != b.name[other]:
            moved.append((op, other))
        if what:
            changed.append((op, other, what))
        elif a.name[op] == b.name[other]:
            same += 1
    return Difference(
        a=a,
        b=b,
        added=[op for op in b.ops.tolist() if op not in taken],
        removed=[op for op in a.ops.tolist() if op not in to_b],
        changed=changed,
        moved=moved,
        moved_groups=moved_groups,
        in_moved_group=[op in by_group for op, _ in moved],
        same=same,
    )


def _op(side: Side, op: int) -> str:
    columns = side.analysis.columns
    return columns.ops[columns.op[op]]


def _match_groups(a: Side, b: Side, to_b: dict[int, int]) -> dict[int, int]:
    """Matches groups without any matched op, the largest first."""
    free_a, free_b = _free_groups(a, set(to_b)), _free_groups(b, set(to_b.values()))
    pools: dict[int, _Pool] = defaultdict(_Pool)
    for group in free_b:
        pools[_hash(b, group)].add(group, _likely(b, group))
    moved: dict[int, int] = {}
    done_a, done_b = set(to_b), set(to_b.values())
    # First groups that kept their label or their parent scope, then any.
    for likely in (True, False):
        for group in free_a:
            pool = pools.get(_hash(a, group))
            if pool is None or _first_op(a, group) in done_a:
                continue
            keys: list[str | None] = _likely(a, group) if likely else [None]
            candidates = pool.some(keys, lambda g: _first_op(b, g) not in done_b)
            if not candidates:
                continue
            # Among several, the one whose name has the longest common suffix.
            here = a.analysis.tree.path(group)
            other = max(candidates, key=lambda g: (_common_tail(here, b.analysis.tree.path(g)), -g))
            pairs = _paired(a, group, b, other)
            if any(x in done_a or y in done_b for x, y in pairs):
                continue
            to_b.update(pairs)
            done_a.update(x for x, _ in pairs)
            done_b.update(y for _, y in pairs)
            moved[group] = other
    return moved


def _likely(side: Side, group: int) -> list[str | None]:
    """Returns what a moved group has probably kept: its label, or its parent scope."""
    tree = side.analysis.tree
    around = tree.path(int(tree.parent[group]))[len(side.prefix) :]
    return [f"label {tree.labels[group]}", f"in {around}"]


class _Pool:
    """Groups of one structure that may be matched; only some of very many are considered."""

    def __init__(self) -> None:
        self._by_key: dict[str | None, deque[int]] = {}

    def add(self, group: int, keys: list[str | None]) -> None:
        for key in (*keys, None):
            self._by_key.setdefault(key, deque()).append(group)

    def some(self, keys: list[str | None], free: Callable[[int], bool]) -> list[int]:
        """Returns up to _TRIED free groups of the first key that has any."""
        for key in keys:
            groups = self._by_key.get(key, deque())
            while groups and not free(groups[0]):
                groups.popleft()  # a matched group stays matched
            found = [group for group in islice(groups, _TRIED) if free(group)]
            if found:
                return found
        return []


def _free_groups(side: Side, matched: set[int]) -> list[int]:
    """Groups below, none of whose ops is matched; those of most ops first."""
    tree = side.analysis.tree
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


def _hash(side: Side, vertex: int) -> int:
    templates = side.analysis.templates
    return int(templates.hash[templates.of_vertex[vertex]])


def _first_op(side: Side, vertex: int) -> int:
    tree = side.analysis.tree
    while vertex >= tree.n_ops:
        vertex = int(tree.children(vertex)[0])
    return vertex


def _common_tail(a: str, b: str) -> int:
    x, y = a.split("/")[::-1], b.split("/")[::-1]
    count = 0
    while count < min(len(x), len(y)) and x[count] == y[count]:
        count += 1
    return count


def _paired(a: Side, left: int, b: Side, right: int) -> list[tuple[int, int]]:
    """Returns the pairs of ops of two groups with one template, ordered by label, then by name."""
    pairs = []
    stack = [(left, right)]
    while stack:
        x, y = stack.pop()
        if x < a.analysis.tree.n_ops and y < b.analysis.tree.n_ops:
            pairs.append((x, y))
        elif x >= a.analysis.tree.n_ops and y >= b.analysis.tree.n_ops:
            stack += zip(_in_order(a, x), _in_order(b, y))
        else:  # a group of one child has its child's template
            x, y = _first_op(a, x), _first_op(b, y)
            pairs.append((x, y))
    return pairs


def _in_order(side: Side, group: int) -> list[int]:
    tree, templates = side.analysis.tree, side.analysis.templates
    children = tree.children(group).tolist()
    return sorted(children, key=lambda v: (_hash(side, v), int(templates.label[v]), tree.labels[v]))


def _match_ops(a: Side, b: Side, to_b: dict[int, int]) -> None:
    """Matches single ops by leaf, inputs and readers where these are unique; in several rounds."""
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


def _surroundings(side: Side, op: int, to_a: dict[int, int]) -> tuple[Any, ...]:
    columns = side.analysis.columns
    inputs = tuple(sorted((to_a[s], p) for s, p in side.inputs(op) if s in to_a))
    readers = tuple(sorted(to_a[r] for r in side.readers(op) if r in to_a))
    return columns.leaves[columns.leaf[op]], inputs, readers
