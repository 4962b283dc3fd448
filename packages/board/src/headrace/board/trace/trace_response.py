"""Traces, slices and their analyses as JSON objects and columns of replies."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.trace.analysis.memory_curve import MemoryCurve
from headrace.board.trace.analysis.totals import totals_of
from headrace.board.trace.reading.device_name import read_device
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.board.trace.trace_cache import LoadedTrace, TraceEntry
from headrace.board.web.columns import smallest_dtype
from headrace.formats.dtypes import as_dtype

MAX_ON_PATH = 500
MAX_LANES_LISTED = 2000
MAX_HOPS = 2000
MAX_TRANSFERS = 2000


def trace_row(entry: TraceEntry, loaded: LoadedTrace | None) -> dict[str, Any]:
    """Returns a row of /traces; fields that need the trace to be read are None before."""
    trace = loaded.trace if loaded else None
    return {
        "id": entry.id,
        "key": entry.key,
        "run": entry.run.id,
        "tag": entry.tag.name,
        "step": entry.step,
        "title": entry.title,
        "wall": entry.wall,
        "bytes": entry.length,
        "slices": None if trace is None else len(trace),
        "lane_count": None if trace is None else len(trace.lanes),
        "duration_ns": None if trace is None else trace.duration_ns,
    }


def window_response(
    loaded: LoadedTrace, t0: float, t1: float, px: int, lanes: list[int] | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns header and columns of a window of time, reduced to its pixels.

    Args:
      t0, t1: the window in ns.
      px: its width in pixels.
      lanes: ids of lanes; None for all.
    """
    step = loaded.trace
    items = loaded.window(t0, t1, px, lanes)
    name_ids, names = np.unique(step.name[items.slice], return_inverse=True)
    duration = items.end - items.start
    header = {
        **trace_row(loaded.entry, loaded),
        "t0": t0,
        "t1": t1,
        "px": px,
        "analysed": loaded.analysed,
        "lanes": lane_rows(step),
        "skew_ns": dict(step.skew_ns),
        "untimed": step.untimed,
        "origin_ns": str(step.origin_ns),
        "names": [step.names[i] for i in name_ids.tolist()],
        "ops": step.ops,
        "n": items.n,
        "drawn": len(items),
    }
    columns = {
        "lane": smallest_dtype(items.lane),
        "start": smallest_dtype(items.start),
        "dur": smallest_dtype(duration),
        "name": smallest_dtype(names),
        "op": smallest_dtype(items.op),
        "kind": items.kind,
        "busy": _share(items.busy_ns, duration, where_zero=1.0),
        "count": smallest_dtype(items.count),
        "slice": smallest_dtype(items.slice),
        "wait": smallest_dtype(items.wait_ns),
        "critical": _share(items.critical_ns, items.busy_ns, where_zero=0.0),
    }
    return header, columns


def _share(part: np.ndarray, whole: np.ndarray, where_zero: float) -> np.ndarray:
    """Returns part / whole as f32, at most 1; where_zero where the whole is 0."""
    filled = np.full(len(whole), where_zero)
    share = np.divide(part, whole, out=filled, where=whole > 0)
    return np.minimum(share, 1).astype(np.float32)


def memory_row(curve: MemoryCurve) -> dict[str, Any]:
    """Returns what a response says about a memory curve, without its points."""
    return {
        "name": curve.allocator,
        "task": curve.task,
        "source": curve.source,
        "peak": curve.peak,
        "peak_ns": curve.peak_ns,
        "n": len(curve.time),
    }


def lane_rows(trace: StepTrace) -> list[dict[str, Any]]:
    """Returns the first lanes in order of display; lane_count is the number of all."""
    return [
        {
            "id": lane.id,
            "task": lane.task,
            "task_title": read_device(lane.task).title_of_task,
            "device": lane.device,
            "device_title": lane.device_title,
            "thread": lane.thread,
            "row": lane.row,
            "slices": lane.last - lane.first,
            "busy_ns": lane.busy_ns,
        }
        for lane in trace.lanes[:MAX_LANES_LISTED]
    ]


def summary_of(
    loaded: LoadedTrace, t0: float, t1: float, lanes: list[int] | None, whole: bool
) -> dict[str, Any]:
    """Returns totals of a window; for the whole step also critical path, stalls and transfers."""
    trace = loaded.trace
    document: dict[str, Any] = {"totals": vars(totals_of(trace, t0, t1, lanes))}
    if not whole:
        return document
    path, stalls, _ = loaded.analysis()
    own = path.self_ns
    longest = np.sort(np.argsort(-own, kind="stable")[:MAX_ON_PATH])
    document["critical_path"] = [
        {
            **_ends(loaded, int(path.slices[i])),
            "self_ns": int(own[i]),
            "gap_ns": int(path.gap_ns[i]),
            "why": path.why[i],
        }
        for i in longest.tolist()
    ]
    document["critical"] = {
        "slices": len(path),
        "self_ns": int(own.sum()),
        "gap_ns": int(path.gap_ns.sum()),
        "by_op": _by_op(trace, path.slices, own),
    }
    if path.cut_short:
        document["notes"] = [
            f"of {path.cut_short} nodes not all inputs were followed: there are thousands of nodes"
            " between them and what the trace shows"
        ]
    document["hops"] = _hops(trace, path.slices, path.why)
    document["stalls"] = [
        {
            "from": _ends(loaded, stall.source) if stall.source >= 0 else None,
            "to": _ends(loaded, stall.target),
            "wait_ns": stall.wait_ns,
            "begin": stall.begin_ns,
            "kind": stall.kind,
        }
        for stall in stalls
    ]
    document["transfers"] = _transfers(trace)
    document["transfer_count"] = len(trace.transfers)
    document["skew_ns"] = dict(trace.skew_ns)
    return document


def slice_details(loaded: LoadedTrace, at: int, stats: Any) -> dict[str, Any]:
    """Returns all that the trace records about a slice; stats is its NodeExecStats."""
    trace = loaded.trace
    label = trace.labels[int(trace.label[at])]
    lane = trace.lanes[int(trace.lane[at])]
    outputs = []
    for output in stats.output:
        description = output.tensor_description
        allocation = description.allocation_description
        outputs.append(
            {
                "slot": output.slot,
                "dtype": _dtype_name(description.dtype),
                "shape": [dim.size for dim in description.shape.dim],
                "unknown_rank": description.shape.unknown_rank,
                "requested_bytes": allocation.requested_bytes,
                "allocated_bytes": allocation.allocated_bytes,
                "allocator": allocation.allocator_name,
            }
        )
    memory = [
        {
            "allocator": used.allocator_name,
            "total_bytes": used.total_bytes,
            "peak_bytes": used.peak_bytes,
            "live_bytes": used.live_bytes,
            "records": len(used.allocation_records),
        }
        for used in stats.memory
    ]
    in_op = (
        stats.op_start_rel_nanos or stats.op_start_rel_micros * 1000,
        stats.op_end_rel_nanos or stats.op_end_rel_micros * 1000,
    )
    document = {
        **_ends(loaded, at),
        "op": trace.ops[int(trace.op[at])],
        "kind": int(trace.kind[at]),
        "device": f"{lane.task}/{lane.device}" if lane.task else lane.device,
        "thread": lane.thread,
        "scheduled": int(trace.scheduled[at]),
        "end": int(trace.end[at]),
        "op_start": int(trace.start[at]) + in_op[0],
        "op_end": int(trace.start[at]) + in_op[1],
        "label": stats.timeline_label,
        "inputs": list(label.inputs) or list(loaded.graph_edges.inputs.get(stats.node_name, ())),
        "fused": list(label.fused),
        "outputs": outputs,
        "memory": memory,
        "temporary_bytes": stats.memory_stats.temp_memory_size,
        "persistent_bytes": stats.memory_stats.persistent_memory_size,
        "wall_start_ns": str(trace.origin_ns + int(trace.start[at])),
        "transfers": _transfers_of(trace, at),
        "arguments": trace.nested.arguments(int(trace.row[at])) if trace.nested else {},
    }
    if loaded.analysed:
        path, _, marked = loaded.analysis()
        document["critical"] = bool(marked[at])
    return document


def _ends(loaded: LoadedTrace, at: int) -> dict[str, Any]:
    trace = loaded.trace
    name = int(trace.name[at])
    return {
        "slice": at,
        "node": trace.names[name],
        "graph_node": loaded.graph_nodes()[name],
        "op": trace.ops[int(trace.op[at])],
        "lane": int(trace.lane[at]),
        "start": int(trace.start[at]),
        "dur": int(trace.duration[at]),
    }


def _by_op(trace: StepTrace, slices: np.ndarray, own: np.ndarray) -> list[dict[str, Any]]:
    if not len(slices):
        return []
    op = trace.op[slices]
    total = np.bincount(op, own, len(trace.ops)).astype(np.int64)
    count = np.bincount(op, minlength=len(trace.ops))
    order = np.argsort(-total, kind="stable")
    return [
        {"op": trace.ops[i], "count": int(count[i]), "total_ns": int(total[i])}
        for i in order.tolist()
        if count[i]
    ]


def _hops(trace: StepTrace, slices: np.ndarray, why: list[str]) -> list[dict[str, Any]]:
    """Returns the changes of lane along the critical path; of many, those of the longest slices."""
    lane = trace.lane[slices]
    at = np.flatnonzero(lane[1:] != lane[:-1])
    heavy = np.maximum(trace.duration[slices[at]], trace.duration[slices[at + 1]])
    at = np.sort(at[np.argsort(-heavy, kind="stable")[:MAX_HOPS]])
    return [
        {
            "from_lane": int(lane[i]),
            "from": int(trace.end[slices[i]]),
            "to_lane": int(lane[i + 1]),
            "to": int(trace.start[slices[i + 1]]),
            "to_end": int(trace.end[slices[i + 1]]),
            "why": why[i],
        }
        for i in at.tolist()
    ]


def _transfers(trace: StepTrace) -> list[dict[str, Any]]:
    moves = trace.transfers
    took = trace.end[moves.target] - trace.start[moves.source]
    longest = np.sort(np.argsort(-took, kind="stable")[:MAX_TRANSFERS])
    return [_transfer(trace, i) for i in longest.tolist()]


def _transfers_of(trace: StepTrace, at: int) -> list[dict[str, Any]]:
    moves = trace.transfers
    mine = np.flatnonzero((moves.source == at) | (moves.target == at))
    return [_transfer(trace, i) for i in mine[:50].tolist()]


def _transfer(trace: StepTrace, i: int) -> dict[str, Any]:
    moves = trace.transfers
    source, target = int(moves.source[i]), int(moves.target[i])
    direct = bool(moves.direct[i])
    return {
        "name": moves.tensor[i],
        "from_slice": source,
        "from_lane": int(trace.lane[source]),
        "from": int(trace.end[source]),
        "to_slice": target,
        "to_lane": int(trace.lane[target]),
        "to": int(trace.end[target] if direct else trace.start[target]),
        "bytes": int(moves.bytes[i]),
        "direct": direct,
    }


def _dtype_name(number: int) -> str:
    try:
        return str(as_dtype(number).name) if number else ""
    except (TypeError, ValueError, KeyError):
        return f"dtype {number}"
