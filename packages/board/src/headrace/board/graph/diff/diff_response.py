"""The replies of /graph/diff and /graph/diff/kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.graph.diff.diff_side import Side
from headrace.board.graph.diff.graph_diff import Difference
from headrace.board.graph.structure.scopes import ScopeTree

LISTED = 5000  # items of each list; the counts are of all
SAME, ADDED, CHANGED, MOVED = range(4)  # of an op; in a, ADDED is removed
WHOLE, PARTLY = 1, 2  # of a group


def diff_document(difference: Difference) -> dict[str, Any]:
    """Returns the names and vertices of a difference."""
    a, b = difference.a, difference.b
    added, removed = (
        sorted(ops, key=side.name.__getitem__)[:LISTED]
        for side, ops in ((b, difference.added), (a, difference.removed))
    )
    moved: list[dict[str, Any]] = [
        {"from": _path(a, x), "to": _path(b, y), "vertex_a": x, "vertex": y}
        for x, y in difference.moved_groups.items()
    ]
    moved.sort(key=lambda pair: pair["from"])
    single = [
        pair
        for pair, inside in zip(difference.moved, difference.in_moved_group, strict=True)
        if not inside
    ]
    moved += [
        {"from": a.name[x], "to": b.name[y], "vertex_a": x, "vertex": y}
        for x, y in single[: max(0, LISTED - len(moved))]
    ]
    return {
        "added": [b.name[op] for op in added],
        "added_vertices": added,
        "removed": [a.name[op] for op in removed],
        "removed_vertices": removed,
        "changed": [
            {"name": b.name[y], "vertex": y, "vertex_a": x, "what": what}
            for x, y, what in difference.changed[:LISTED]
        ],
        "moved": moved[:LISTED],
        "same": difference.same,
        "counts": {
            "added": len(difference.added),
            "removed": len(difference.removed),
            "changed": len(difference.changed),
            "moved": len(difference.moved),
        },
        "prefix_a": a.prefix,
        "prefix_b": b.prefix,
    }


def diff_columns(difference: Difference) -> dict[str, np.ndarray]:
    """Returns the kind of change of every vertex of a and b, and counts by group of b."""
    a, b = difference.a, difference.b
    tree = b.analysis.tree
    before, after = np.zeros(len(a.analysis.tree), np.uint8), np.zeros(len(tree), np.uint8)
    after[difference.added], before[difference.removed] = ADDED, ADDED
    if difference.moved:
        before[[x for x, _ in difference.moved]] = MOVED
        after[[y for _, y in difference.moved]] = MOVED
    if difference.changed:
        before[[x for x, _, _ in difference.changed]] = CHANGED
        after[[y for _, y, _ in difference.changed]] = CHANGED
    gone = np.zeros(len(tree), np.int64)
    here = _groups_of_b(difference)
    parents = a.analysis.tree.parent[np.array(difference.removed, np.int64)]
    np.add.at(gone, here[parents - a.analysis.tree.n_ops], 1)
    columns = {
        name: _below(tree, after == kind)[tree.n_ops :].astype(np.uint32)
        for name, kind in (("added", ADDED), ("changed", CHANGED), ("moved", MOVED))
    }
    columns["removed"] = _below(tree, gone)[tree.n_ops :].astype(np.uint32)
    _mark_groups(after, tree, difference.moved_groups.values(), columns["removed"])
    _mark_groups(before, a.analysis.tree, difference.moved_groups, None)
    return {"kinds": after, "kinds_a": before, **columns}


def _mark_groups(
    kinds: np.ndarray, tree: ScopeTree, moved: Any, removed: np.ndarray | None
) -> None:
    """Marks each group as completely or partly different, or as moved."""
    groups = slice(tree.n_ops, len(tree))
    ops = kinds.copy()
    fresh, any_kind, not_moved = (
        _below(tree, which)[groups]
        for which in (ops == ADDED, ops != SAME, (ops == ADDED) | (ops == CHANGED))
    )
    partly = any_kind > 0 if removed is None else (any_kind > 0) | (removed > 0)
    of_group = np.where(partly, PARTLY, 0).astype(np.uint8)
    of_group[(fresh == tree.size[groups]) & (fresh > 0)] = WHOLE
    for group in moved:
        if not not_moved[group - tree.n_ops]:
            of_group[group - tree.n_ops] = MOVED
    kinds[groups] = of_group


def _groups_of_b(difference: Difference) -> np.ndarray:
    """Returns i64: for each group of a the same group of b, or the nearest one that contains it."""
    a, b = difference.a, difference.b
    ours, theirs = a.analysis.tree, b.analysis.tree
    named = {
        (int(theirs.parent[group]), theirs.labels[group]): group
        for group in range(theirs.n_ops + 1, len(theirs))
    }
    found = np.full(len(ours) - ours.n_ops, b.group, np.int64)
    for group in range(ours.n_ops + 1, len(ours)):
        if not ours.is_below(group, a.group) or group == a.group:
            continue
        other = difference.moved_groups.get(group)
        if other is None:
            around = int(found[ours.parent[group] - ours.n_ops])
            other = named.get((around, ours.labels[group]), around)
        found[group - ours.n_ops] = other
    return found


def _below(tree: ScopeTree, of_vertex: np.ndarray) -> np.ndarray:
    """Returns i64: sums over everything at or below each vertex."""
    walked = np.zeros(len(tree), np.int64)
    walked[tree.order] = of_vertex
    total = np.concatenate([[0], np.cumsum(walked)])
    return total[tree.last + 1] - total[tree.order]


def _path(side: Side, group: int) -> str:
    return side.analysis.tree.path(group)[len(side.prefix) :]
