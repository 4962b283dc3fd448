"""Reads the same columns as scan_step_stats.pyx by protobuf messages, for builds without it."""

from __future__ import annotations

import heapq

import numpy as np
from google.protobuf.message import DecodeError

from headrace.board.trace.reading.step_columns import StepColumns, TraceError
from headrace.formats.proto import step_stats_pb2
from headrace.formats.wire import MalformedError, fields

MAX_NANOS = 1 << 62  # as in scan_step_stats.hpp


class _Strings(dict):
    def __missing__(self, text: str) -> int:
        self[text] = result = len(self)
        return result


def step_columns(metadata: bytes | memoryview) -> StepColumns:
    """Reads all nodes of the step_stats.

    Args:
      metadata: a serialised RunMetadata.
    Returns: StepColumns, in order of the bytes; see _offsets for where the nodes lie.
    Raises: TraceError if the bytes are not a RunMetadata.
    """
    data = bytes(metadata)
    # Only this field: errors in others, and their size, matter to those who read them.
    parts = [data[begin:end] for begin, end in _parts(data, 0, len(data), 1)]
    try:
        stats = step_stats_pb2.StepStats.FromString(b"".join(parts))
    except DecodeError as error:
        raise TraceError(f"the step trace is corrupted: {error}") from None
    devices, names, labels, allocators = _Strings(), _Strings(), _Strings(), _Strings()
    rows: list[tuple[int, ...]] = []
    memory: list[tuple[int, int, int, int]] = []
    thread_names: dict[tuple[int, int], str] = {}
    for of_device in stats.dev_stats:
        device = devices[of_device.device]
        thread_names.update(((device, t), name) for t, name in of_device.thread_names.items())
        for node in of_device.node_stats:
            start = _either(node.all_start_nanos, node.all_start_micros)
            took = _either(node.all_end_rel_nanos, node.all_end_rel_micros)
            scheduled = _either(node.scheduled_nanos, node.scheduled_micros)
            if scheduled == 0 or scheduled > start:
                scheduled = start
            rows.append(
                (
                    device,
                    node.thread_id,
                    names[node.node_name],
                    labels[node.timeline_label],
                    scheduled,
                    start,
                    min(start + took, MAX_NANOS),
                    _output_bytes(node),
                )
            )
            memory += _memory(node, len(rows) - 1, allocators)
    columns = np.array(rows, np.int64).reshape(-1, 8).T
    events = np.array(memory, np.int64).reshape(-1, 4).T
    offset, length = _offsets(data, len(rows))
    return StepColumns(
        device=columns[0].astype(np.int32),
        thread=columns[1].astype(np.uint32),
        name=columns[2].astype(np.int32),
        label=columns[3].astype(np.int32),
        scheduled=columns[4].copy(),
        start=columns[5].copy(),
        end=columns[6].copy(),
        output_bytes=columns[7].copy(),
        offset=offset,
        length=length,
        devices=list(devices),
        names=list(names),
        labels=list(labels),
        allocators=list(allocators),
        memory_slice=events[0].astype(np.int32),
        memory_allocator=events[1].astype(np.int32),
        memory_micros=events[2].copy(),
        memory_bytes=events[3].copy(),
        thread_names=thread_names,
    )


def first_rows(label: np.ndarray, name: np.ndarray, labels: int) -> tuple[np.ndarray, bool]:
    """Finds the first row of each label.

    Args:
      label: i32[n], below labels.
      name: i32[n].
    Returns: i64[labels], -1 where no row has the label; whether all rows of a label have one name.
    """
    first = np.full(labels, -1, np.int64)
    first[label[::-1]] = np.arange(len(label) - 1, -1, -1)
    return first, bool((name[first[label]] == name).all())


def numbered_pairs(device: np.ndarray, thread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers the distinct pairs of device and thread, in order of appearance.

    Args:
      device: i32[n].
      thread: i64[n].
    Returns: the rows where each pair first appears, i64[k]; the number of each row's pair, i32[n].
    """
    pair = (device.astype(np.int64) << 33) | thread
    _, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int32)
    number[np.argsort(first)] = np.arange(len(first))
    return np.sort(first), number[inverse]


def rows_of(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Gives each slice the lowest row that is free when it starts.

    Args:
      start: i64[n], sorted.
      end: i64[n].
    Returns: i32[n].
    """
    row = np.zeros(len(start), np.int32)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    rows = 0
    for i, (begins, ends) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begins:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            chosen = heapq.heappop(free)
        else:
            chosen, rows = rows, rows + 1
        row[i] = chosen
        heapq.heappush(busy, (ends, chosen))
    return row


def _either(nanos: int, micros: int) -> int:
    return max(0, min(nanos if nanos else micros * 1000, MAX_NANOS))


def _output_bytes(node: step_stats_pb2.NodeExecStats) -> int:
    total = 0
    for output in node.output:
        allocation = output.tensor_description.allocation_description
        size = (
            allocation.requested_bytes if allocation.requested_bytes else allocation.allocated_bytes
        )
        total = min(total + max(0, min(size, MAX_NANOS)), MAX_NANOS)
    return total


def _memory(
    node: step_stats_pb2.NodeExecStats, index: int, allocators: _Strings
) -> list[tuple[int, int, int, int]]:
    rows = []
    for used in node.memory:
        events = [(max(0, r.alloc_micros), r.alloc_bytes) for r in used.allocation_records]
        if used.allocator_bytes_in_use:
            events.append((-1, used.allocator_bytes_in_use))
        for micros, count in events:
            held = max(-MAX_NANOS, min(count, MAX_NANOS))
            rows.append((index, allocators[used.allocator_name], micros, held))
    return rows


def _offsets(data: bytes, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns offset and length of each NodeExecStats: fields step_stats, dev_stats, node_stats."""
    found: list[tuple[int, int]] = []
    for stats in _parts(data, 0, len(data), 1):
        for device in _parts(data, *stats, 1):
            found += _parts(data, *device, 2)
    spans = np.array(found, np.int64).reshape(-1, 2)
    if len(spans) != n:
        raise TraceError(f"the step trace has {n} nodes in {len(spans)} places")
    return spans[:, 0].copy(), (spans[:, 1] - spans[:, 0]).astype(np.int32)


def _parts(data: bytes, begin: int, end: int, requested: int) -> list[tuple[int, int]]:
    """Returns start and end of each submessage with a field number."""
    try:
        return [
            (a, b) for n, wire, a, b in fields(data, begin, end) if n == requested and wire == 2
        ]
    except MalformedError:
        raise TraceError("the step trace is corrupted: its bytes are not a message") from None
