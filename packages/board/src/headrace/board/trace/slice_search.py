"""Searches for slices by the names of their nodes, in one step or in all steps of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.board.trace.trace_cache import LoadedTrace, TraceCache
from headrace.formats.errors import DataLossError

_MAX_FOUND = 5000
# A search over steps does not read a trace above this size that no page has opened yet.
_MAX_BYTES_UNOPENED = 32 << 20
_MAX_STEPS_SEARCHED = 16


def name_table(loaded: LoadedTrace) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns header and columns with the op, the count and the total time of each name."""
    step = loaded.trace
    n = len(step.names)
    first = np.full(n, -1, np.int64)
    first[step.name[::-1]] = np.arange(len(step) - 1, -1, -1)
    op = np.where(first >= 0, step.op[first] if len(step) else 0, 0)
    columns: dict[str, np.ndarray] = {
        "op": op.astype(np.int32),
        "count": np.bincount(step.name, minlength=n).astype(np.uint32),
        "total": np.bincount(step.name, step.duration, n).astype(np.float64),
    }
    renamed = {
        at: node
        for at, (node, own) in enumerate(zip(loaded.graph_nodes(), step.names, strict=True))
        if node not in ("", own)
    }
    return {"names": step.names, "ops": step.ops, "graph_nodes": renamed}, columns


def names_below(step: StepTrace, scope: str) -> list[int]:
    """Returns the indices of the name `scope` and of all names below it."""
    below = f"{scope}/"
    return [i for i, text in enumerate(step.names) if text == scope or text.startswith(below)]


def slice_columns(step: StepTrace, names: Sequence[int]) -> tuple[int, dict[str, np.ndarray]]:
    """Returns how many slices the names have, and columns of the first ones by start time."""
    parts = [step.slices_of(i) for i in sorted(set(names))]
    at = np.concatenate(parts) if parts else np.empty(0, np.int64)
    total = len(at)
    at = at[np.argsort(step.start[at], kind="stable")][:_MAX_FOUND]
    return total, {
        "slice": at.astype(np.int32),
        "lane": step.lane[at],
        "start": step.start[at].astype(np.float64),
        "dur": step.duration[at].astype(np.float64),
    }


def slices_across_steps(cache: TraceCache, here: LoadedTrace, name: str) -> dict[str, list[Any]]:
    """Returns the slices of a node in the run's traces by step, and the traces not searched.

    Args:
      here: the trace whose run is searched; the nearest steps are.
      name: of the node, as traces have it.
    """
    step_here = here.entry.step
    entries = [
        (e.step, e) for e in cache.entries() if e.run is here.entry.run and e.step is not None
    ]
    if step_here is None:  # trace files are not steps of one training
        entries = []
    else:
        entries.sort(key=lambda one: abs(one[0] - step_here))
    rows: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for _, entry in sorted(entries[:_MAX_STEPS_SEARCHED], key=lambda one: one[0]):
        row = {"trace": entry.id, "step": entry.step}
        if cache.known(entry.id) is None and entry.length > _MAX_BYTES_UNOPENED:
            skipped.append({**row, "error": f"it has {entry.length >> 20} MB and is not open"})
            continue
        try:
            step = cache.load(entry.id).trace
        except (TraceError, DataLossError) as error:
            skipped.append({**row, "error": str(error)})
            continue
        except KeyError:
            continue  # the trace was removed meanwhile
        at = step.name_ids.get(name)
        if at is None:
            continue
        for i in step.slices_of(at)[:_MAX_FOUND].tolist():
            rows.append(
                {
                    **row,
                    "slice": i,
                    "lane": int(step.lane[i]),
                    "start": int(step.start[i]),
                    "dur": int(step.duration[i]),
                }
            )
    return {"slices": rows[:_MAX_FOUND], "skipped": skipped}
