"""Auxiliary nodes: nodes with so many edges that they are drawn apart from the flow of data.

The base is TensorBoard's rule of degrees. Bookkeeping (saving, initialising, summaries, counters)
becomes auxiliary at a lower degree. Ops that compute, and ops on the main path, never do.
"""

from __future__ import annotations

import re

import numpy as np

from headrace.board.graph.structure.graph_columns import GraphColumns
from headrace.board.graph.structure.metaedges import MetaEdges
from headrace.board.graph.structure.scopes import ScopeTree
from headrace.board.graph.structure.tensor_shapes import OutputShapes

AUXILIARY = 1
KEPT_ON_MAIN_PATH = 2

_BASE_NODES = 15  # smaller groups have no outliers of degree
_MIN_DEGREE = 4
_PRIOR_NODES = 5
_PRIOR_DEGREE = 3
_MANY_READERS = 8
_COUNTER_OPS = 12

_BOOKKEEPING = re.compile(
    r"NoOp|Save|Restore|ShardedFilename|MergeV2Checkpoints|Assign(Variable.*)?$"
    r"|.*Initialize|.*IsInitialized|.*Initialized$|.*Summary(V2)?$|.*SummaryWriter"
)
_COMPUTES = re.compile(
    r"Conv|.*MatMul|DepthwiseConv|Einsum|.*(RNN|LSTM|GRU)|Cholesky|Svd|FFT|_FusedConv|_FusedMatMul"
    r"|aten::(_?conv|linear|addmm|(mat|b)mm|matmul|lstm|gru|scaled_dot)"
)
_VARIABLE = re.compile(r"Variable(V2)?$|VarHandleOp$")
_COUNTER = re.compile(r"global_?step|step_?count(er)?$", re.IGNORECASE)
_INTEGER = re.compile(r"dtype=u?int")


def auxiliary_nodes(
    columns: GraphColumns, tree: ScopeTree, metaedges: MetaEdges, shapes: OutputShapes
) -> np.ndarray:
    """Returns u8 by vertex: AUXILIARY, KEPT_ON_MAIN_PATH or 0."""
    priors = is_bookkeeping(columns, tree, shapes)
    computes = _below(tree, _matching(columns.ops, _COMPUTES)[columns.op]) > 0
    has_data = metaedges.meta_data > 0
    count = len(tree)
    inward, outward = metaedges.meta_dst, metaedges.meta_src
    data_in = np.bincount(inward[has_data], minlength=count)
    data_out = np.bincount(outward[has_data], minlength=count)
    control = np.bincount(inward[~has_data], minlength=count) + np.bincount(
        outward[~has_data], minlength=count
    )
    degree = data_in + data_out
    degree = np.where(degree > 0, degree, control)
    siblings = np.zeros(count, np.int64)
    inner = tree.child
    siblings[inner] = np.diff(tree.first_child)[tree.parent[inner] - tree.n_ops]
    out = priors & (degree >= _PRIOR_DEGREE) & (siblings >= _PRIOR_NODES)
    read_by_many = _scalar_constants(columns, shapes) & (data_out[: tree.n_ops] >= _MANY_READERS)
    out[: tree.n_ops] |= read_by_many
    priors[: tree.n_ops] |= read_by_many
    for group in np.flatnonzero(np.diff(tree.first_child) >= _BASE_NODES).tolist():
        children = tree.children(group + tree.n_ops)
        for degrees, spread in ((data_in[children], 1), (data_out[children], 4)):
            low, high = np.percentile(degrees, (25, 75), method="lower")
            limit = max(_MIN_DEGREE, high + spread * (high - low))
            out[children[degrees > limit]] = True
    # Bookkeeping that is connected only to auxiliary nodes becomes auxiliary too.
    kept_neighbours = np.bincount(inward[~out[outward]], minlength=count) + np.bincount(
        outward[~out[inward]], minlength=count
    )
    out |= priors & (kept_neighbours == 0) & (degree > 0) & (siblings >= _PRIOR_NODES)
    out &= ~computes
    side = np.where(out, AUXILIARY, 0).astype(np.uint8)
    groups = np.unique(tree.parent[np.flatnonzero(out & ~priors)])
    for group in groups.tolist():
        spine = heaviest_path(metaedges, group, priors)
        side[[v for v in spine if side[v]]] = KEPT_ON_MAIN_PATH
    return side


def is_bookkeeping(columns: GraphColumns, tree: ScopeTree, shapes: OutputShapes) -> np.ndarray:
    """Returns bool by vertex: mostly saves, initialises or summarises, or is a counter."""
    books = _matching(columns.ops, _BOOKKEEPING)[columns.op]
    counters = _counters(columns, tree, shapes)
    silent = _matching(columns.ops, re.compile(r"(Const|Identity|Placeholder)$"))[columns.op]
    booked = _below(tree, books)
    speaking = _below(tree, ~silent)
    mostly = (booked > 0) & (booked * 2 > speaking)
    counts = (_below(tree, counters) > 0) & (tree.size <= _COUNTER_OPS)
    prior = mostly | counts
    prior[tree.root] = False
    return prior


def heaviest_path(metaedges: MetaEdges, group: int, without: np.ndarray) -> list[int]:
    """Returns the path with the most tensor bytes between a group's children; cycles are cut.

    Args:
      without: bool by vertex; vertices that paths must avoid.
    """
    edges = slice(*np.searchsorted(metaedges.meta_group, (group, group + 1)).tolist())
    src, dst = metaedges.meta_src[edges], metaedges.meta_dst[edges]
    keep = (metaedges.meta_data[edges] > 0) & ~without[src] & ~without[dst]
    weight = np.maximum(metaedges.meta_bytes[edges], 1.0)[keep].tolist()
    after: dict[int, list[tuple[int, float]]] = {}
    for a, b, w in zip(src[keep].tolist(), dst[keep].tolist(), weight):
        after.setdefault(a, []).append((b, w))
    best: dict[int, tuple[float, int]] = {}  # weight from here on, next vertex
    open_now: set[int] = set()
    for start in sorted(after):
        stack = [(start, iter(after[start]))] if start not in best else []
        while stack:
            at, edges_left = stack[-1]
            open_now.add(at)
            for to, _ in edges_left:
                if to not in best and to not in open_now:
                    stack.append((to, iter(after.get(to, ()))))
                    break
            else:
                stack.pop()
                open_now.discard(at)
                best[at] = max(
                    ((w + best[to][0], to) for to, w in after.get(at, ()) if to in best),
                    default=(0.0, -1),
                )
    if not best:
        return []
    at = max(best, key=lambda v: (best[v][0], -v))
    path = []
    while at >= 0:
        path.append(at)
        at = best[at][1]
    return path


def _matching(texts: list[str], pattern: re.Pattern[str]) -> np.ndarray:
    return np.array([bool(pattern.match(text)) for text in texts] or [False], bool)


def _below(tree: ScopeTree, of_op: np.ndarray) -> np.ndarray:
    """Returns the number of marked ops at or below each vertex."""
    walk = np.argsort(tree.order[: tree.n_ops], kind="stable")
    total = np.concatenate([[0], np.cumsum(of_op[walk].astype(np.int64))])
    places = tree.order[: tree.n_ops][walk]
    return (
        total[np.searchsorted(places, tree.last, "right")]
        - total[np.searchsorted(places, tree.order)]
    )


def _scalar(shapes: OutputShapes) -> np.ndarray:
    scalars = np.array([text.endswith("[]") and ";" not in text for text in shapes.texts], bool)
    if not len(scalars):
        return np.zeros(len(shapes.text), bool)
    return scalars[shapes.text] & (shapes.text >= 0)


def _scalar_constants(columns: GraphColumns, shapes: OutputShapes) -> np.ndarray:
    constant = np.array([op == "Const" for op in columns.ops] or [False], bool)
    return constant[columns.op] & _scalar(shapes)


def _counters(columns: GraphColumns, tree: ScopeTree, shapes: OutputShapes) -> np.ndarray:
    variable = _matching(columns.ops, _VARIABLE)[columns.op]
    integer = np.array([bool(_INTEGER.search(leaf)) for leaf in columns.leaves] or [False], bool)
    counter = variable & integer[columns.leaf] & _scalar(shapes)
    for at in np.flatnonzero(variable).tolist():
        if _COUNTER.search(columns.names[at]):
            counter[at] = True
    return counter
