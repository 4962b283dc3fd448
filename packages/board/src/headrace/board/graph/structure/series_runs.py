"""Runs: siblings of the same structure that follow one another in the flow of data."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import MODULE, ScopeTree

FEWEST = 3
FEWEST_LARGE = 2  # of scopes with scopes inside, or of this many ops
LARGE_OPS = 12
_VARYING = re.compile(r"_?[0-9]+[a-z]?(?![a-z])")
_LONGEST_SEARCH = 2_000_000  # edges followed in one group, over all its stacks


class Siblings:
    """The data edges between the children of a group."""

    def __init__(self, group: int, metaedges: MetaEdges, without: np.ndarray):
        rows = slice(*np.searchsorted(metaedges.meta_group, (group, group + 1)).tolist())
        self.after: dict[int, list[int]] = defaultdict(list)
        for a, b, data in zip(
            metaedges.meta_src[rows].tolist(),
            metaedges.meta_dst[rows].tolist(),
            metaedges.meta_data[rows].tolist(),
        ):
            if data and not without[a] and not without[b]:
                self.after[a].append(b)
        self._left = _LONGEST_SEARCH

    def is_convex(self, members: list[int]) -> bool:
        """Returns whether no data leave the members and come back through other siblings.

        Shown as one node, other members would lie on both sides of what is between them.
        """
        inside = set(members)
        seen: set[int] = set()
        stack = [b for v in members for b in self.after.get(v, ()) if b not in inside]
        while stack:
            v = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            after = self.after.get(v, ())
            self._left -= len(after)
            if self._left < 0:
                return True  # too many edges to tell
            for b in after:
                if b in inside:
                    return False
                stack.append(b)
        return True


def find_runs(
    tree: ScopeTree, scopes: list[int], structure: dict[int, tuple[int, int]], siblings: Siblings
) -> list[tuple[str, list[int]]]:
    """Returns pattern and members of each run, the members in the order of the data."""
    kind = {v: (structure[v], _VARYING.sub("", tree.labels[v])) for v in scopes}
    following: dict[int, int] = {}
    heads = set(scopes)
    fed: dict[int, int] = defaultdict(int)
    for v in scopes:
        alike = [w for w in siblings.after.get(v, ()) if w in kind and kind[w] == kind[v]]
        for w in alike:
            fed[w] += 1
        if len(alike) == 1:
            following[v] = alike[0]
    following = {v: w for v, w in following.items() if fed[w] == 1 and v != w}
    heads -= set(following.values())
    runs = []
    for head in sorted(heads):
        run = [head]
        while run[-1] in following:
            run.append(following[run[-1]])
        large = all(_is_large(tree, v) for v in run)
        if len(run) >= (FEWEST_LARGE if large else FEWEST) and siblings.is_convex(run):
            runs.append((run_pattern([tree.labels[v] for v in run]), run))
    return runs


def _is_large(tree: ScopeTree, v: int) -> bool:
    if tree.size[v] >= LARGE_OPS:
        return True
    return bool(tree.flags[v] & MODULE) and any(tree.children(v) >= tree.n_ops)


def run_pattern(labels: list[str]) -> str:
    """Returns the first and the last label as one text: Mixed_5[b-d], Conv2d_[1a-2b]_3x3."""
    first, last = labels[0], labels[-1]
    if first == last:
        return first
    most = min(len(first), len(last))
    begin = next((i for i in range(most) if first[i] != last[i]), most)
    while begin and first[begin - 1].isdigit() and _goes_on(first, last, begin):
        begin -= 1
    most -= begin
    end = next((i for i in range(most) if first[-1 - i] != last[-1 - i]), most)
    while end and first[len(first) - end].isdigit():
        end -= 1
    middle = [label[begin : len(label) - end] or "0" for label in (first, last)]
    head = first[:begin]
    if middle[0] == "0" and not head.endswith("_") and middle[1].startswith("_"):
        head, middle[1] = head + "_", middle[1][1:]
    tail = first[len(first) - end :]
    between = f"{middle[0]}-{middle[1]}"
    if head.endswith("[") and tail.startswith("]"):  # PyTorch's Bottleneck[1]
        return f"{head}{between}{tail}"
    return f"{head}[{between}]{tail}"


def _goes_on(first: str, last: str, at: int) -> bool:
    """Returns whether a number that ends at a place in one label goes on in the other."""
    return first[at : at + 1].isdigit() or last[at : at + 1].isdigit()
