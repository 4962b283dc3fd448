"""Series nodes: siblings whose names differ only in an integer, shown as one node."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import ScopeTree
from headrace.board.graph.structure.series_runs import Siblings, find_runs

MIN_SCOPES = 3
MIN_OPS = 5
MOST_VARIED_APART = 12  # scopes of different structures in sequence that are shown one by one
_KIN = 0.5  # share of common op types for a series of different structures
_LONGEST = 256  # longer labels are not considered
_NUMBERS = 4  # how many integers of a label are tried, from its end
_DIGIT = re.compile("[0-9]")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Series:
    """A series node.

    Attributes:
      pattern: such as "Mixed_[0-10]".
      members: vertices, sorted by their integers.
      chain: whether most members feed the next one; otherwise they run side by side.
      varied: whether the members have similar op types but different structures.
    """

    parent: int
    pattern: str
    members: tuple[int, ...]
    chain: bool
    varied: bool


def find_series(
    columns: GraphColumns,
    tree: ScopeTree,
    metaedges: MetaEdges,
    template: np.ndarray,
    family_of_template: np.ndarray,
    bookkeeping: np.ndarray,
) -> list[Series]:
    """Returns the series nodes, by parent; a vertex is in at most one.

    Args:
      bookkeeping: bool by vertex; data that pass through such nodes do not make a sequence.
    """
    kinds = _Kinds(columns, tree)
    found: list[Series] = []
    counts = np.diff(tree.first_child)
    for group in (np.flatnonzero(counts >= 2) + tree.n_ops).tolist():
        children = tree.children(group)
        is_op = children < tree.n_ops
        scopes, ops = children[~is_op].tolist(), children[is_op].tolist()
        siblings = Siblings(group, metaedges, bookkeeping)
        stacks: list[tuple[str, list[int], bool]] = []
        if len(scopes) > 1:
            of = {v: _structure(int(template[v]), family_of_template) for v in scopes}
            runs = find_runs(tree, scopes, of, siblings)
            found += [Series(group, name, tuple(run), True, False) for name, run in runs]
            in_runs = {v for _, run in runs for v in run}
            left = [v for v in scopes if v not in in_runs]
            for stem, members in _patterns(tree, left, MIN_SCOPES):
                stacks += _scope_stacks(stem, members, of, kinds)
        if len(ops) >= MIN_OPS:
            by_op = defaultdict(list)
            for op in ops:
                by_op[int(columns.op[op])].append(op)
            for same in by_op.values():
                if len(same) >= MIN_OPS:
                    for stem, members in _patterns(tree, same, MIN_OPS):
                        stacks.append((stem, [v for _, v in members], False))
        joined = _joined(group, metaedges) if stacks else set()
        for stem, vertices, varied in stacks:
            if not siblings.is_convex(vertices):
                continue
            numbers = [_number_at(tree.labels[v], stem) for v in vertices]
            pattern = stem.replace("\0", f"[{_ranges(numbers)}]")
            chain = _is_chain(vertices, joined)
            if chain and varied and len(vertices) <= MOST_VARIED_APART:
                continue  # which structures come in which order is what readers look for
            found.append(Series(group, pattern, tuple(vertices), chain, varied))
    return found


class _Kinds:
    """Returns the op types below a group."""

    def __init__(self, columns: GraphColumns, tree: ScopeTree):
        self.columns, self.tree = columns, tree
        self.walk = np.argsort(tree.order[: tree.n_ops], kind="stable")
        self.order = tree.order[: tree.n_ops][self.walk]

    def of(self, vertex: int) -> frozenset[int]:
        ends = (self.tree.order[vertex], self.tree.last[vertex] + 1)
        first, end = np.searchsorted(self.order, ends).tolist()
        return frozenset(np.unique(self.columns.op[self.walk[first:end]]).tolist())


def _patterns(
    tree: ScopeTree, vertices: list[int], least: int
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Returns stems ("Mixed_" NUL "") with their (integer, vertex), the largest series first.

    Each vertex is used once. "Conv" is number 0 of "Conv_" NUL, because TensorFlow makes names
    unique by appending _1, _2 and so on.
    """
    stems: dict[str, list[tuple[int, int]]] = defaultdict(list)
    bare = {}
    for vertex in vertices:
        label = tree.labels[vertex]
        bare[label] = vertex
        if not _DIGIT.search(label):
            continue
        if len(label) > _LONGEST:
            continue
        for match in list(_NUMBER.finditer(label))[-_NUMBERS:]:
            stem = f"{label[: match.start()]}\0{label[match.end() :]}"
            stems[stem].append((int(match.group()), vertex))
    out = []
    if sum(map(len, stems.values())) < least - 1:  # "Conv" itself counts as well
        return []
    used: set[int] = set()
    for stem in list(stems):
        if stem.endswith("_\0") and stem[:-2] in bare and all(n > 0 for n, _ in stems[stem]):
            stems[stem].append((0, bare[stem[:-2]]))
    for stem, members in sorted(stems.items(), key=lambda item: (-len(item[1]), item[0])):
        left = {n: v for n, v in sorted(members, reverse=True) if v not in used}
        if len(left) >= least:
            used.update(left.values())
            out.append((stem, sorted(left.items())))
    return out


def _scope_stacks(
    stem: str,
    members: list[tuple[int, int]],
    of: dict[int, tuple[int, int]],
    kinds: _Kinds,
) -> list[tuple[str, list[int], bool]]:
    vertices = [v for _, v in members]
    if len({of[v] for v in vertices}) == 1:
        return [(stem, vertices, False)]
    sets = [kinds.of(v) for v in vertices]
    whole = frozenset.union(*sets)
    if all(len(s) >= 3 and len(s) >= _KIN * len(whole) for s in sets):
        return [(stem, vertices, True)]
    by_structure = defaultdict(list)
    for v in vertices:
        by_structure[of[v]].append(v)
    return [(stem, same, False) for same in by_structure.values() if len(same) >= MIN_SCOPES]


def _structure(template: int, family_of_template: np.ndarray) -> tuple[int, int]:
    family = int(family_of_template[template])
    return (1, family) if family >= 0 else (0, template)


def _number_at(label: str, stem: str) -> int:
    before, _, after = stem.partition("\0")
    inner = label[len(before) : len(label) - len(after)]
    return int(inner) if inner.isdecimal() else 0


def _ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in parts]
    return ",".join(words if len(words) <= 6 else [*words[:5], "...", words[-1]])


def _joined(parent: int, metaedges: MetaEdges) -> set[tuple[int, int]]:
    """Returns the pairs of a group's children that an edge connects."""
    edges = slice(*np.searchsorted(metaedges.meta_group, (parent, parent + 1)).tolist())
    return set(zip(metaedges.meta_src[edges].tolist(), metaedges.meta_dst[edges].tolist()))


def _is_chain(vertices: list[int], joined: set[tuple[int, int]]) -> bool:
    """Returns whether an edge connects at least half of the consecutive members."""
    steps = list(zip(vertices, vertices[1:]))
    return sum(s in joined or s[::-1] in joined for s in steps) * 2 >= len(steps)
