"""The children of one scope with the data edges between them, for finding modules."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import ScopeTree

COMPUTES = re.compile(
    r"(Depthwise|Separable)?Conv|.*MatMul|Einsum|.*(RNN|LSTM|GRU)|Dense$|.*Attention|Embedding"
    r"|aten::(_?conv|linear|addmm|(mat|b)mm|matmul|lstm|gru|scaled_dot)"
)
LIGHT = re.compile(
    r".*BatchNorm|.*Normalization|.*Dropout|Activation|.*Re[Ll][Uu]6?$|.*Sigmoid|.*Softmax|Tanh"
    r"|[GS]elu|Swish|Silu|BiasAdd|aten::(relu|batch_norm|dropout|gelu|silu)"
)
_LIGHT_NAMES = re.compile(
    r"(.*_)?(bn|batch_?norm(alization)?|relu|activation|dropout)(_[0-9]+)*$", re.I
)
_PLUMBING = re.compile(
    r"Const|Identity|Placeholder|ReadVariableOp|VarHandleOp|Variable|NoOp|Cast|Shape|Reshape"
)


@dataclass
class Part:
    """A child of the scope, or a module of several.

    Attributes:
      kind: equal for parts that have the same structure, as far as ops tell it.
    """

    label: str
    kind: str
    vertices: list[int]
    parts: list[Part]
    computes: bool = False
    light: bool = False
    block: bool = False  # a module around a join, not just a chain
    named: bool = False  # a module of parts whose names begin alike

    @property
    def is_module(self) -> bool:
        return bool(self.parts)


def merged(label: str, parts: list[Part], block: bool = True, named: bool = False) -> Part:
    """Returns a module of parts."""
    kinds = Counter(part.kind for part in parts)
    kind = "(" + ",".join(f"{count}{kind}" for kind, count in sorted(kinds.items())) + ")"
    return Part(
        label,
        kind if len(kind) < 4000 else f"({hash(kind)})",
        [v for part in parts for v in part.vertices],
        parts,
        computes=any(part.computes for part in parts),
        block=block,
        named=named,
    )


class Parts:
    """Makes a Part of a vertex: what it computes is told by the ops below."""

    def __init__(self, columns: GraphColumns, tree: ScopeTree):
        self._columns, self._tree = columns, tree
        self._walk = np.argsort(tree.order[: tree.n_ops], kind="stable")
        self._places = tree.order[: tree.n_ops][self._walk]

    def of(self, vertex: int) -> Part:
        tree, columns = self._tree, self._columns
        ends = (tree.order[vertex], tree.last[vertex] + 1)
        first, end = np.searchsorted(self._places, ends).tolist()
        counts = Counter(columns.op[self._walk[first:end]].tolist())
        ops = {columns.ops[op]: count for op, count in counts.items()}
        telling = {op: count for op, count in ops.items() if not _PLUMBING.match(op)}
        named = telling or ops
        kind = "+".join(f"{count}{op}" for op, count in sorted(named.items())[:40])
        computes = any(COMPUTES.match(op) for op in ops)
        light = not computes and any(LIGHT.match(op) for op in named) and len(named) <= 8
        if vertex >= tree.n_ops and not computes:
            light = light or _LIGHT_NAMES.match(tree.labels[vertex]) is not None
        return Part(tree.labels[vertex], kind, [vertex], [], computes, light)


class Flow:
    """A directed acyclic graph of parts.

    Attributes:
      after, before: by part, the parts that it feeds, and that feed it.
      order: the parts from the inputs to the outputs; sources come just before what they feed.
    """

    def __init__(self, parts: list[Part], edges: set[tuple[int, int]]):
        self.parts = parts
        self.after: list[list[int]] = [[] for _ in parts]
        self.before: list[list[int]] = [[] for _ in parts]
        for a, b in sorted(edges):
            self.after[a].append(b)
            self.before[b].append(a)
        self.order = self._sorted()

    @property
    def acyclic(self) -> bool:
        return len(self.order) == len(self.parts)

    def _sorted(self) -> list[int]:
        """Sorts depth first from the outputs, which puts each source next to its first reader."""
        waiting = [len(b) for b in self.after]
        ready = [v for v in range(len(self.parts)) if waiting[v] == 0]
        order = []
        while ready:
            v = ready.pop()
            order.append(v)
            for u in self.before[v]:
                waiting[u] -= 1
                if waiting[u] == 0:
                    ready.append(u)
        # Among several that could come next, the deepest does, so that sources stay late.
        return order[::-1]

    def contracted(self, groups: list[tuple[Part, list[int]]]) -> Flow:
        """Returns the flow in which each group of parts is one part."""
        home: dict[int, int] = {}
        parts: list[Part] = []
        for part, members in groups:
            for v in members:
                home[v] = len(parts)
            parts.append(part)
        for v, part in enumerate(self.parts):
            if v not in home:
                home[v] = len(parts)
                parts.append(part)
        edges = {
            (home[a], home[b])
            for a in range(len(self.parts))
            for b in self.after[a]
            if home[a] != home[b]
        }
        return Flow(parts, edges)


def flow_of(
    group: int, tree: ScopeTree, metaedges: MetaEdges, parts: Parts, without: np.ndarray
) -> Flow:
    """Returns the flow of data between the children of a group.

    Args:
      without: bool by vertex; children that are left out, such as bookkeeping.
    """
    children = [v for v in tree.children(group).tolist() if not without[v]]
    place = {v: i for i, v in enumerate(children)}
    rows = slice(*np.searchsorted(metaedges.meta_group, (group, group + 1)).tolist())
    edges = {
        (place[a], place[b])
        for a, b, data in zip(
            metaedges.meta_src[rows].tolist(),
            metaedges.meta_dst[rows].tolist(),
            metaedges.meta_data[rows].tolist(),
        )
        if data and a in place and b in place
    }
    return Flow([parts.of(v) for v in children], edges)


def is_convex(flow: Flow, members: set[int]) -> bool:
    """Returns whether no path leaves the members and comes back."""
    seen: set[int] = set()
    stack = [b for v in members for b in flow.after[v] if b not in members]
    while stack:
        v = stack.pop()
        if v in seen:
            continue
        seen.add(v)
        for b in flow.after[v]:
            if b in members:
                return False
            stack.append(b)
    return True
