"""Traces, slices and what was found out about them, as the objects of replies."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.board.trace.reading.device_name import read_device
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.board.trace.analysis.totals import totals_of
from headrace.board.trace.trace_cache import LoadedTrace, TraceEntry
from headrace.formats.dtypes import as_dtype

MOST_ON_PATH = 500
MOST_LANES_LISTED = 2000
MOST_HOPS = 2000
MOST_TRANSFERS = 2000


def described_trace(entry: TraceEntry, loaded: LoadedTrace | None) -> dict[str, Any]:
    """A row of /traces; what only reading tells is null until then."""
    trace = loaded.trace if loaded else None
    return {
        "id": entry.id,
        "key": entry.key,
        "run": entry.run.id,
        "tag": entry.tag.name,
        "step": entry.step,
        "wall": entry.wall,
        "bytes": entry.length,
        "slices": None if trace is None else len(trace),
        "lane_count": None if trace is None else len(trace.lanes),
        "duration_ns": None if trace is None else trace.duration_ns,
    }


def lane_rows(trace: StepTrace) -> list[dict[str, Any]]:
    """The lanes, in order of the page; lane_count tells whether there are more."""
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
        for lane in trace.lanes[:MOST_LANES_LISTED]
    ]


def summary_of(
    loaded: LoadedTrace, t0: float, t1: float, lanes: list[int] | None, whole: bool
) -> dict[str, Any]:
    """Totals of the window; of the whole step its critical path, stalls and transfers as well."""
    trace = loaded.trace
    document: dict[str, Any] = {"totals": vars(totals_of(trace, t0, t1, lanes))}
    if not whole:
        return document
    path, stalls, _ = loaded.analysis()
    own = path.self_ns
    longest = np.sort(np.argsort(-own, kind="stable")[:MOST_ON_PATH])
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


def described_slice(loaded: LoadedTrace, at: int, stats: Any) -> dict[str, Any]:
    """All that the trace says of a slice; stats is its NodeExecStats."""
    trace = loaded.trace
    label = trace.labels[int(trace.label[at])]
    lane = trace.lanes[int(trace.lane[at])]
    outputs = []
    for output in stats.output:
        told = output.tensor_description
        allocation = told.allocation_description
        outputs.append(
            {
                "slot": output.slot,
                "dtype": _dtype_name(told.dtype),
                "shape": [dim.size for dim in told.shape.dim],
                "unknown_rank": told.shape.unknown_rank,
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
        "inputs": list(label.inputs) or list(loaded.wiring.inputs.get(stats.node_name, ())),
        "fused": list(label.fused),
        "outputs": outputs,
        "memory": memory,
        "temporary_bytes": stats.memory_stats.temp_memory_size,
        "persistent_bytes": stats.memory_stats.persistent_memory_size,
        "wall_start_ns": str(trace.origin_ns + int(trace.start[at])),
        "transfers": _transfers_of(trace, at),
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
    """Where the critical path goes from one lane to another, the longest slices' first."""
    lane = trace.lane[slices]
    at = np.flatnonzero(lane[1:] != lane[:-1])
    heavy = np.maximum(trace.duration[slices[at]], trace.duration[slices[at + 1]])
    at = np.sort(at[np.argsort(-heavy, kind="stable")[:MOST_HOPS]])
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
    longest = np.sort(np.argsort(-took, kind="stable")[:MOST_TRANSFERS])
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
