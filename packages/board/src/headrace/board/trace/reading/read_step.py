"""Reads a StepTrace from the bytes of a RunMetadata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headrace.board.trace.reading.clock_skew import clock_shifts
from headrace.board.trace.reading.device_name import DeviceName, in_reading_order, read_device
from headrace.board.trace.reading.graph_edges import GraphEdges, partitions_of, read_edges
from headrace.board.trace.reading.lanes import lay_lanes
from headrace.board.trace.reading.step_columns import StepColumns, TraceError
from headrace.board.trace.reading.step_trace import (
    OP,
    RECV,
    SEND,
    SYNC,
    TRANSFER,
    StepTrace,
    Transfers,
)
from headrace.board.trace.reading.timeline_label import TimelineLabel, is_recv, is_send, read_label
from headrace.board.trace.reading.transfers import Matches, match_transfers

try:
    from headrace.board.trace.reading.scan_step_stats import first_rows, step_columns
except ImportError:  # not compiled
    from headrace.board.trace.reading.scan_step_stats_python import first_rows, step_columns

_MAX_SHIFT_NS = 1 << 60  # 36 years; times are below 2^62, so that no sum overflows
_WAITING_OPS = ("QueueDequeue", "BarrierTakeMany", "Unstage", "IteratorGetNext")


def read_step(metadata: bytes | memoryview, graph_edges: GraphEdges | None = None) -> StepTrace:
    """Reads a step trace.

    Args:
      metadata: a serialised RunMetadata.
      graph_edges: edges of the partition graphs; None: read from the metadata.
    Raises: TraceError if the bytes are not a RunMetadata, or its clocks make no sense.
    """
    columns = step_columns(metadata)
    if graph_edges is None:
        graph_edges = read_edges(partitions_of(metadata))
    timed = columns.start > 0
    untimed = int(len(columns) - np.count_nonzero(timed))
    if untimed:
        columns = _only(columns, np.flatnonzero(timed))
    devices = [read_device(text) for text in columns.devices]
    columns, labels, label = _read_labels(columns, devices)
    matches = match_transfers(columns, labels, label, devices, graph_edges)
    tasks = sorted({d.task for d in devices}, key=in_reading_order)
    number = {name: i for i, name in enumerate(tasks)}
    task = np.array([number[d.task] for d in devices], np.int64)
    apart = clock_shifts(
        len(tasks),
        task[columns.device[matches.source]],
        task[columns.device[matches.target]],
        matches.cause,
        matches.effect,
    )
    if any(abs(shift) > _MAX_SHIFT_NS for shift in apart):
        raise TraceError(
            "the clocks of its tasks are decades apart, so that its times mean nothing"
        )
    skew = {name: int(shift) for name, shift in zip(tasks, apart, strict=True)}
    arrived = np.array([t.op == "RecvTensor" for t in labels], bool)[label]
    lanes, order, lane = lay_lanes(columns, devices, arrived)
    start, end, scheduled = (c[order] for c in (columns.start, columns.end, columns.scheduled))
    # In place and lane by lane: copying a million slices would take longer than the sums.
    origin = min((int(start[one.first]) + skew[one.task] for one in lanes), default=0)
    for one in lanes:
        for times in (start, end, scheduled):
            times[one.first : one.last] += skew[one.task] - origin
    ops, op_of_label = _ops(labels)
    kinds = np.array([_kind(t, ops) for t in labels], np.uint8)
    of_slice = label[order]
    return StepTrace(
        lanes=lanes,
        lane=lane,
        start=start,
        end=end,
        scheduled=scheduled,
        name=columns.name[order],
        op=op_of_label[of_slice],
        kind=_kinds_of_streams(kinds[of_slice], columns, devices, order),
        label=of_slice,
        output_bytes=columns.output_bytes[order],
        row=order,
        names=columns.names,
        ops=ops,
        labels=labels,
        origin_ns=origin,
        duration_ns=int(end.max()) if len(end) else 0,
        transfers=_transfers(matches, order, columns),
        skew_ns={name or "this process": shift for name, shift in skew.items()},
        untimed=untimed,
        columns=_rest(columns),
    )


def _rest(columns: StepColumns) -> StepColumns:
    """Returns the columns without those that the trace keeps in its own order."""
    whole, small = np.empty(0, np.int64), np.empty(0, np.int32)
    return replace(
        columns,
        device=small,
        thread=small,
        name=small,
        label=small,
        scheduled=whole,
        start=whole,
        end=whole,
        output_bytes=whole,
    )


def _only(columns: StepColumns, rows: np.ndarray) -> StepColumns:
    """Returns the columns of some rows, with their memory events."""
    to = np.full(len(columns), -1, np.int32)
    to[rows] = np.arange(len(rows), dtype=np.int32)
    memory = to[columns.memory_slice] >= 0
    by_row = ("device", "thread", "name", "label", "scheduled", "start", "end")
    changed = {key: getattr(columns, key)[rows] for key in (*by_row, "output_bytes", "offset")}
    changed["length"] = columns.length[rows]
    changed["memory_slice"] = to[columns.memory_slice[memory]]
    for key in ("memory_allocator", "memory_micros", "memory_bytes"):
        changed[key] = getattr(columns, key)[memory]
    return replace(columns, **changed)


def _read_labels(
    columns: StepColumns, devices: list[DeviceName]
) -> tuple[StepColumns, list[TimelineLabel], np.ndarray]:
    """Parses each distinct pair of name and label once.

    Returns: the columns with the names of nodes (`node:Op` of a stream becomes node, a RecvTensor
      gets the name of its tensor); the labels; i32[n], the label of each slice.
    """
    on_stream = np.array([d.is_stream for d in devices], bool)
    first, one_name = first_rows(columns.label, columns.name, len(columns.labels))
    if one_name and not on_stream.any() and not (first < 0).any():
        # The usual case: each label belongs to one node, so labels are the distinct pairs.
        label = columns.label
    else:
        pair = (columns.name.astype(np.int64) * max(1, len(columns.labels)) + columns.label) * 2
        pair += on_stream[columns.device]
        first, label = _distinct(pair)
    labels: list[TimelineLabel] = []
    names: dict[str, int] = {}
    name_of_label = np.empty(len(first), np.int32)
    for i, row in enumerate(first.tolist()):
        name = columns.names[columns.name[row]]
        streams = bool(on_stream[columns.device[row]])
        read = read_label(name, columns.labels[columns.label[row]], streams)
        if streams and ":" in name:
            name = name.rpartition(":")[0]
        elif read.op == "RecvTensor" and read.tensor:
            name = read.tensor
        labels.append(read)
        name_of_label[i] = names.setdefault(name, len(names))
    renamed = replace(columns, name=name_of_label[label], names=list(names))
    return renamed, labels, label


def _distinct(pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns both indices of np.unique; faster for few values in a wide range."""
    values = np.unique(pair)  # without indices, NumPy uses a faster algorithm
    inverse = np.searchsorted(values, pair).astype(np.int32)
    first = np.full(len(values), len(pair), np.int64)
    first[inverse[::-1]] = np.arange(len(pair) - 1, -1, -1)
    return first, inverse


def _ops(labels: list[TimelineLabel]) -> tuple[list[str], np.ndarray]:
    ops: dict[str, int] = {}
    of_label = [ops.setdefault(t.op or "unknown", len(ops)) for t in labels]
    return list(ops), np.array(of_label, np.int32)


def _kind(label: TimelineLabel, ops: list[str]) -> int:
    if is_recv(label.op):
        return RECV
    if is_send(label.op):
        return SEND
    if label.op == "RecvTensor" or label.op.startswith(("MEMCPY", "Memcpy")):
        return TRANSFER
    return SYNC if label.op.startswith(_WAITING_OPS) else OP


def _kinds_of_streams(
    kind: np.ndarray, columns: StepColumns, devices: list[DeviceName], order: np.ndarray
) -> np.ndarray:
    copies = np.array([d.stream.startswith("memcpy") for d in devices], bool)
    if copies.any():
        kind = np.where(copies[columns.device[order]], np.uint8(TRANSFER), kind)
    return kind


def _transfers(matches: Matches, order: np.ndarray, columns: StepColumns) -> Transfers:
    """Returns the matches as slices in the order of the trace."""
    moved = columns.output_bytes[matches.target]
    result = columns.output_bytes[matches.source]
    return Transfers(
        source=_places(order, matches.source),
        target=_places(order, matches.target),
        bytes=np.where(matches.direct & (moved > 0), moved, result),
        tensor=matches.tensor,
        direct=matches.direct,
    )


def _places(order: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns i64: the positions of some rows in an order of all rows."""
    requested = np.zeros(len(order), bool)
    requested[rows] = True
    at = np.flatnonzero(requested[order])
    found = order[at]
    by_row = np.argsort(found)
    return at[by_row[np.searchsorted(found, rows, sorter=by_row)]]
