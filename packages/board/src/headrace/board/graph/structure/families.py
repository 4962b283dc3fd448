"""Families: similar templates, which share a hue.

Similarity is the weighted Jaccard index of the features of two templates: their ops with types and
number of inputs, and the pairs of such ops that an edge connects.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.label_hash import joined, mixed
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import ScopeTree
from headrace.board.graph.structure.templates import Templates

LIKENESS = 0.9
FEW_OPS = 20  # smaller templates are considered only if they are repeated
_PAIRS = 5_000  # maximum number of comparisons in one graph
_HUES = 24  # hues that the eye can distinguish; families of one hue differ in tone
_APART = 5  # preferred distance between families in one scope: 75 degrees
_TOGETHER = 100  # scopes with more families are not considered


@dataclass
class Families:
    """Families of similar templates; a family covers two groups or more.

    Attributes:
      of_template: i32 by template; -1 for a template without a family.
      near: u32 by template: number of ops that differ from the main template of the family, at
        least 1; 0 for the main template.
      main: the main template of each family, in order of importance; hue: degrees; tone: 0, 1, 2.
    """

    of_template: np.ndarray
    near: np.ndarray
    main: list[int]
    hue: list[float]
    tone: list[int]


@dataclass
class _Bag:
    """A multiset of features, by sorted hash."""

    keys: np.ndarray
    counts: np.ndarray

    def likeness(self, other: _Bag) -> float:
        total = int(self.counts.sum() + other.counts.sum())
        common = self.common(other)
        return common / max(total - common, 1)

    def common(self, other: _Bag) -> int:
        _, a, b = np.intersect1d(self.keys, other.keys, assume_unique=True, return_indices=True)
        return int(np.minimum(self.counts[a], other.counts[b]).sum())


def _bag(values: np.ndarray) -> _Bag:
    return _Bag(*np.unique(values, return_counts=True))


class Features:
    """The ops and edges below each group, as slices of two sorted arrays."""

    def __init__(
        self, columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges, leaf_hash: np.ndarray
    ):
        self.tree = tree
        walk = np.argsort(tree.order[: tree.n_ops], kind="stable")
        self.op_order = tree.order[: tree.n_ops][walk]
        self.op_hash = leaf_hash[columns.leaf[walk]]
        by_group = np.argsort(tree.order[metaedges.group], kind="stable")
        self.edge_order = tree.order[metaedges.group][by_group]
        src = leaf_hash[columns.leaf[columns.edge_src[by_group]]]
        dst = leaf_hash[columns.leaf[columns.edge_dst[by_group]]]
        control = (columns.edge_port[by_group] < 0).astype(np.uint64)
        self.edge_hash = joined(joined(src, dst), mixed(control))

    def ops(self, vertex: int) -> np.ndarray:
        return self.op_hash[self._slice(self.op_order, vertex)]

    def edges(self, vertex: int) -> np.ndarray:
        return self.edge_hash[self._slice(self.edge_order, vertex)]

    def _slice(self, order: np.ndarray, vertex: int) -> slice:
        ends = (self.tree.order[vertex], self.tree.last[vertex] + 1)
        return slice(*np.searchsorted(order, ends).tolist())


def find_families(
    columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges, templates: Templates
) -> Families:
    """Clusters templates around those with the most ops times groups; assigns hues."""
    features = Features(columns, tree, metaedges, templates.leaf_hash)
    candidates = np.flatnonzero(
        templates.is_group & (templates.ops > 1)
        & ((templates.groups > 1) | (templates.ops >= FEW_OPS))
        & (templates.example != tree.root)
    )  # fmt: skip
    bags: dict[int, _Bag] = {}

    def bag(template: int) -> _Bag:
        if template not in bags:
            at = int(templates.example[template])
            bags[template] = _bag(np.concatenate([features.ops(at), features.edges(at)]))
        return bags[template]

    members: list[list[int]] = []
    by_size: dict[int, list[list[int]]] = defaultdict(
        list
    )  # only sizes within a factor of 0.9 can be similar
    pairs = 0
    for template in candidates.tolist():
        ops = int(templates.ops[template])
        size = int(math.log(ops) / -math.log(LIKENESS))
        buckets = (size, size - 1, size + 1) if pairs < _PAIRS else ()
        for family in [f for bucket in buckets for f in by_size[bucket]]:
            main = int(templates.ops[family[0]])
            if min(ops, main) < LIKENESS * max(ops, main):
                continue
            if _nested(tree, templates, template, family[0]):
                continue
            pairs += 1
            alike = bag(template).likeness(bag(family[0]))
            # Equal ops and edges that are divided into scopes differently are not similar.
            if alike >= LIKENESS and (
                alike < 1 or _common_children(tree, templates, template, family[0])
            ):
                family.append(template)
                break
        else:
            members.append([template])
            by_size[size].append(members[-1])
    members = [m for m in members if int(templates.groups[m].sum()) > 1]
    of_template = np.full(len(templates.hash), -1, np.int32)
    near = np.zeros(len(templates.hash), np.uint32)
    for number, family in enumerate(members):
        of_template[family] = number
        for template in family[1:]:
            near[template] = _difference(features, templates, family[0], template)
    mains = [family[0] for family in members]
    beside = _seen_together(tree, templates, of_template, len(members))
    hue, tone = hues([int(templates.hash[main]) for main in mains], beside)
    return Families(of_template, near, mains, hue, tone)


def _nested(tree: ScopeTree, templates: Templates, a: int, b: int) -> bool:
    """Returns whether one contains the other; a scope is always similar to its largest part."""
    x, y = int(templates.example[a]), int(templates.example[b])
    return tree.is_below(x, y) or tree.is_below(y, x)


def _common_children(tree: ScopeTree, templates: Templates, a: int, b: int) -> bool:
    """Returns whether at least half of the children have an equal one in the other group."""
    of = [templates.of_vertex[tree.children(int(templates.example[t]))] for t in (a, b)]
    bags = [_bag(children) for children in of]
    return bags[0].common(bags[1]) * 2 >= max(len(children) for children in of)


def _difference(features: Features, templates: Templates, main: int, other: int) -> int:
    ends = [int(templates.example[t]) for t in (main, other)]
    for part in (features.ops, features.edges):
        a, b = (_bag(part(at)) for at in ends)
        differ = int(max(a.counts.sum(), b.counts.sum())) - a.common(b)
        if differ:
            return differ
    return 1


def _seen_together(
    tree: ScopeTree, templates: Templates, of_template: np.ndarray, count: int
) -> list[set[int]]:
    """Returns for each family the families that occur beside it in some scope."""
    groups = np.arange(tree.n_ops + 1, len(tree))
    family = of_template[templates.of_vertex[groups]]
    groups, family = groups[family >= 0], family[family >= 0]
    pairs = np.unique(np.stack([tree.parent[groups].astype(np.int64), family], axis=1), axis=0)
    beside: list[set[int]] = [set() for _ in range(count)]
    for together in np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1):
        if 1 < len(together) <= _TOGETHER:
            members = set(together.tolist())
            for one in members:
                beside[one] |= members
    return beside


def hues(hashes: list[int], beside: list[set[int]]) -> tuple[list[float], list[int]]:
    """Returns hue and tone of each family, the most important first.

    The hash determines the preferred hue. A family gets the hue nearby that is far from the hues
    of the families beside it and rarely used; families that share a hue differ in tone.

    Args:
      beside: for each family, the families that occur beside it.
    """
    place: list[int] = []
    used = [0] * _HUES
    tone = []
    for number, value in enumerate(hashes):
        preferred = value % 3600 / 3600 * _HUES
        others = [place[o] for o in beside[number] if o < number]

        def cost(
            at: int, preferred: float = preferred, others: list[int] = others
        ) -> tuple[float, int]:
            close = sum(max(0.0, _APART - _arc(at, o)) ** 2 for o in others)
            return 3 * close + 2 * used[at] + 0.2 * _arc(at, preferred), at

        best = min(range(_HUES), key=cost)
        place.append(best)
        tone.append(used[best] % 3)
        used[best] += 1
    return [at * 360.0 / _HUES for at in place], tone


def _arc(a: float, b: float) -> float:
    apart = abs(a - b) % _HUES
    return min(apart, _HUES - apart)
