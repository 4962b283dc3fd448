"""Compares several steps: the time of each op and node in each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.trace.analysis.unique_slices import unique_slices
from headrace.board.trace.reading.step_trace import StepTrace

MAX_NODES = 200


def compare_steps(traces: list[StepTrace]) -> dict[str, list[dict[str, Any]]]:
    """Adds up each step by op and by node, without slices that duplicate others.

    Returns: `ops` sorted by the largest total, `nodes` by the largest difference between steps.
    """
    once = [np.flatnonzero(unique_slices(t)) for t in traces]
    by_op = [_sums(t.ops, t.op[at], t.duration[at]) for t, at in zip(traces, once, strict=True)]
    by_node = [
        _sums(t.names, t.name[at], t.duration[at]) for t, at in zip(traces, once, strict=True)
    ]
    ops = [
        {"op": op, "totals_ns": totals} for op, totals in _side_by_side(by_op, lambda row: max(row))
    ]
    nodes = [
        {"name": name, "durations": totals}
        for name, totals in _side_by_side(by_node, lambda row: max(row) - min(row))[:MAX_NODES]
    ]
    return {"ops": ops, "nodes": nodes}


def _sums(titles: list[str], group: np.ndarray, took: np.ndarray) -> dict[str, int]:
    totals = np.bincount(group, took, len(titles)).astype(np.int64)
    there = np.bincount(group, minlength=len(titles)) > 0
    return {titles[i]: int(totals[i]) for i in np.flatnonzero(there).tolist()}


def _side_by_side(sums: list[dict[str, int]], weight: Any) -> list[tuple[str, list[int]]]:
    titles = dict.fromkeys(title for of_step in sums for title in of_step)
    rows = [(title, [of_step.get(title, 0) for of_step in sums]) for title in titles]
    rows.sort(key=lambda row: (-weight(row[1]), row[0]))
    return rows
