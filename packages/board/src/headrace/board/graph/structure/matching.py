"""Checks that groups with equal hashes have equal structure, child by child and edge by edge."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import ScopeTree

if TYPE_CHECKING:
    from headrace.board.graph.structure.templates import Labels

CHILD_LIMIT = 2000  # larger groups with ties are compared by hash only
_GUESSES = 64  # attempts to break ties, per pair of groups
_WORK = 400_000  # steps over children and edges in all searches of a graph, about 0.2 s


@dataclass
class Outcome:
    """The result of the check.

    Attributes:
      mismatched: groups with another structure than the first group of their hash, and a number
        that distinguishes it.
      unproven: groups whose ties could not be resolved within the limits.
    """

    mismatched: dict[int, int] = field(default_factory=dict)
    unproven: set[int] = field(default_factory=set)


def same_structure(
    columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges, labels: Labels
) -> Outcome:
    """Compares each group with the first group of the same hash, with children sorted by label."""
    outcome = Outcome()
    groups = np.arange(tree.n_ops, len(tree))
    groups = groups[np.diff(tree.first_child) > 1]
    groups = groups[np.argsort(labels.hash[groups], kind="stable")]
    runs = np.flatnonzero(np.diff(labels.hash[groups])) + 1
    child, child_start = _children_by_label(groups, tree, labels)
    edges, edge_start = _edges_by_rank(groups, child, child_start, tree, metaedges, labels)
    label = labels.label[child]
    work = _WorkBudget(_WORK)
    for same, at in zip(np.split(groups, runs), [0, *runs.tolist()]):
        if len(same) < 2:
            continue
        rows = [_rows(label, child_start, at, len(same))]
        rows += [_rows(column, edge_start, at, len(same)) for column in edges]
        unequal = np.zeros(len(same), bool)
        for table in rows:
            unequal |= True if table is None else (table != table[0]).any(axis=1)
        for k in np.flatnonzero(unequal).tolist():
            if k == 0:
                continue
            first, other = (
                _GroupGraph(
                    label[child_start[i] : child_start[i + 1]],
                    [column[edge_start[i] : edge_start[i + 1]] for column in edges],
                )
                for i in (at, at + k)
            )
            small = len(first.labels) <= CHILD_LIMIT
            result = _search(first, other, work) if small else None
            if result is False:
                outcome.mismatched[int(same[k])] = 1
            elif result is None:
                outcome.unproven.add(int(same[k]))
    return outcome


def _rows(column: np.ndarray, start: list[int], first: int, count: int) -> np.ndarray | None:
    """Returns one row for each of the groups; None if their lengths differ."""
    starts = start[first : first + count + 1]
    widths = {b - a for a, b in zip(starts, starts[1:])}
    if len(widths) > 1:
        return None
    at, end, width = starts[0], starts[-1], widths.pop()
    return column[at:end].reshape(count, width)


def _children_by_label(
    groups: np.ndarray, tree: ScopeTree, labels: Labels
) -> tuple[np.ndarray, list[int]]:
    """Returns the children of each group sorted by label, and where each group starts."""
    place = np.full(len(tree), -1, np.int64)
    place[groups] = np.arange(len(groups))
    at = place[tree.parent[tree.child]]
    child = tree.child[at >= 0]
    at = at[at >= 0]
    order = np.lexsort((labels.label[child], at))
    return child[order], np.searchsorted(at[order], np.arange(len(groups) + 1)).tolist()


def _edges_by_rank(
    groups: np.ndarray,
    child: np.ndarray,
    child_start: list[int],
    tree: ScopeTree,
    metaedges: MetaEdges,
    labels: Labels,
) -> tuple[list[np.ndarray], list[int]]:
    """Returns columns (rank of source, rank of destination, hash), and where each group starts."""
    place = np.full(len(tree), -1, np.int64)
    place[groups] = np.arange(len(groups))
    rank = np.zeros(len(tree), np.int64)
    rank[child] = np.arange(len(child)) - np.asarray(child_start)[place[tree.parent[child]]]
    at = place[metaedges.meta_group]
    src, dst = rank[metaedges.meta_src], rank[metaedges.meta_dst]
    order = np.lexsort((dst, src, at))
    start = np.searchsorted(at[order], np.arange(len(groups) + 1)).tolist()
    return [src[order], dst[order], labels.meta_hash[order]], start


class _WorkBudget:
    """The remaining steps of a search; counted, not timed, so that results are reproducible."""

    def __init__(self, amount: int):
        self.left = amount

    def take(self, amount: int) -> bool:
        self.left -= amount
        return self.left >= 0


class _GroupGraph:
    """One group as lists, for the search."""

    def __init__(self, labels: np.ndarray, edges: list[np.ndarray]):
        self.labels = labels.tolist()
        self.edges = list(zip(*(column.tolist() for column in edges)))

    def refined(self, colours: list[int], work: _WorkBudget) -> list[int] | None:
        """Returns colours refined along the edges until stable; None if the budget is used up."""
        parts = len(set(colours))
        while work.take(len(colours) + len(self.edges)):
            near: list[list[tuple[int, int, int]]] = [[] for _ in colours]
            for src, dst, kind in self.edges:
                near[src].append((0, kind, colours[dst]))
                near[dst].append((1, kind, colours[src]))
            colours = [hash((c, tuple(sorted(n)))) for c, n in zip(colours, near)]
            finer = len(set(colours))
            if finer == parts:
                return colours
            parts = finer
        return None


def _search(a: _GroupGraph, b: _GroupGraph, work: _WorkBudget) -> bool | None:
    """Returns whether a and b can be matched; None if the limits were reached.

    Ties are broken by giving one vertex of a the same new colour as each candidate of b in turn.
    """
    guesses = [_GUESSES]

    def match(left: list[int], right: list[int]) -> bool | None:
        fine_left, fine_right = a.refined(left, work), b.refined(right, work)
        if fine_left is None or fine_right is None:
            return None
        left, right = fine_left, fine_right
        sizes = Counter(left)
        if sizes != Counter(right):
            return False
        tied = [colour for colour, count in sizes.items() if count > 1]
        if not tied:
            to = {colour: at for at, colour in enumerate(right)}
            moved = sorted((to[left[s]], to[left[d]], kind) for s, d, kind in a.edges)
            return moved == sorted(b.edges)
        colour = min(tied, key=lambda c: (sizes[c], c))
        at = left.index(colour)
        one = hash((colour, 1))
        for candidate in [k for k, c in enumerate(right) if c == colour]:
            if guesses[0] == 0:
                return None
            guesses[0] -= 1
            result = match(
                [one if k == at else c for k, c in enumerate(left)],
                [one if k == candidate else c for k, c in enumerate(right)],
            )
            if result is not False:
                return result
        return False

    return match(a.labels, b.labels)
