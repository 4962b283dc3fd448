"""Slices of a profiler's trace file, and the step trace that the page shows of them."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from headrace.board.trace.reading.device_name import DeviceName
from headrace.board.trace.reading.lanes import Lane, lay_lanes
from headrace.board.trace.reading.step_columns import StepColumns
from headrace.board.trace.reading.step_trace import (
    OP,
    RECV,
    SEND,
    TRANSFER,
    Nested,
    StepTrace,
    Transfers,
)
from headrace.board.trace.reading.timeline_label import TimelineLabel

_MAX_NAME = 4096
_MAX_ARGUMENTS_BYTES = 128 << 20  # of all slices; arguments of further slices are not kept
_MAX_NS = 1 << 61
_NUMBERED = re.compile(r"[.#]\d+$")


class ForeignSlices:
    """Collects slices in any order: processes as devices, threads, names, times and arguments."""

    def __init__(self) -> None:
        self.left_out = 0  # events that have no valid time
        self.threads: dict[tuple[int, int], str] = {}  # title by device and thread
        self._devices: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._device: list[int] = []
        self._thread: list[int] = []
        self._name: list[int] = []
        self._start: list[int] = []
        self._end: list[int] = []
        self._arguments: dict[int, bytes] = {}
        self._arguments_bytes = 0
        self._flows: list[tuple[int, int, str]] = []

    def __len__(self) -> int:
        return len(self._start)

    def device(self, title: str) -> int:
        """Returns the number of a device."""
        return self._devices.setdefault(title[:_MAX_NAME], len(self._devices))

    def add(
        self, device: int, thread: int, name: str, start_ns: float, took_ns: float, arguments: Any
    ) -> int:
        """Adds a slice. Returns: its row, or -1 if its time makes no sense."""
        end_ns = start_ns + took_ns
        if not (-_MAX_NS < start_ns <= end_ns < _MAX_NS):  # also false for NaN
            self.left_out += 1
            return -1
        row = len(self._start)
        self._device.append(device)
        self._thread.append(thread)
        self._name.append(self._names.setdefault(name[:_MAX_NAME], len(self._names)))
        self._start.append(round(start_ns))
        self._end.append(round(end_ns))
        if arguments and self._arguments_bytes < _MAX_ARGUMENTS_BYTES:
            text = json.dumps(arguments, default=str).encode()
            self._arguments[row] = text
            self._arguments_bytes += len(text)
        return row

    def add_flow(self, source: int, target: int, name: str) -> None:
        """Adds an arrow from one slice to another."""
        self._flows.append((source, target, name))

    def trace(self) -> StepTrace:
        """Returns the step trace."""
        start, end = np.array(self._start, np.int64), np.array(self._end, np.int64)
        origin = int(start.min()) if len(start) else 0
        start -= origin
        end -= origin
        name = np.array(self._name, np.int32)
        columns = self._columns(name, start, end)
        devices = [DeviceName("", title, "") for title in self._devices]
        lanes, order, lane = lay_lanes(columns, devices, np.zeros(len(start), bool))
        names = list(self._names)
        labels = [TimelineLabel(op=op_of(text)) for text in names]
        ops: dict[str, int] = {}
        op_of_name = np.array([ops.setdefault(label.op, len(ops)) for label in labels], np.int32)
        kind_of_name = np.array([_kind(text) for text in names], np.uint8)
        start, end, name = start[order], end[order], name[order]
        return StepTrace(
            lanes=lanes,
            lane=lane,
            start=start,
            end=end,
            scheduled=start,
            name=name,
            op=op_of_name[name],
            kind=kind_of_name[name],
            label=name,
            output_bytes=np.zeros(len(start), np.int64),
            row=order,
            names=names,
            ops=list(ops),
            labels=labels,
            origin_ns=origin,
            duration_ns=int(end.max()) if len(end) else 0,
            transfers=self._transfers(order, end),
            skew_ns={},
            untimed=self.left_out,
            columns=columns,
            nested=Nested(callers(lanes, start, end), self._arguments),
        )

    def _columns(self, name: np.ndarray, start: np.ndarray, end: np.ndarray) -> StepColumns:
        n = len(start)
        zeros, none = np.zeros(n, np.int64), np.empty(0, np.int64)
        return StepColumns(
            device=np.array(self._device, np.int32),
            thread=np.array(self._thread, np.uint32),
            name=name,
            label=name,
            scheduled=start,
            start=start,
            end=end,
            output_bytes=zeros,
            offset=zeros,
            length=np.zeros(n, np.int32),
            devices=list(self._devices),
            names=list(self._names),
            labels=[],
            allocators=[],
            memory_slice=none.astype(np.int32),
            memory_allocator=none.astype(np.int32),
            memory_micros=none,
            memory_bytes=none,
            thread_names=self.threads,
        )

    def _transfers(self, order: np.ndarray, end: np.ndarray) -> Transfers:
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        source = place[np.array([flow[0] for flow in self._flows], np.int64)]
        target = place[np.array([flow[1] for flow in self._flows], np.int64)]
        by_arrival = np.argsort(end[target], kind="stable")
        return Transfers(
            source=source[by_arrival],
            target=target[by_arrival],
            bytes=np.zeros(len(source), np.int64),
            tensor=[self._flows[i][2] for i in by_arrival.tolist()],
            direct=np.ones(len(source), bool),
        )


def callers(lanes: list[Lane], start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Returns i64[n]: the slice that each slice lies within, one row above on the same thread."""
    caller = np.full(len(start), -1, np.int64)
    for above, lane in zip(lanes, lanes[1:]):
        if lane.row == 0:
            continue
        mine, theirs = slice(lane.first, lane.last), slice(above.first, above.last)
        at = np.searchsorted(start[theirs], start[mine], side="right") - 1
        around = np.maximum(at, 0) + above.first
        caller[mine] = np.where((at >= 0) & (end[around] >= end[mine]), around, -1)
    return caller


def op_of(name: str) -> str:
    """Returns the op of a slice's name: without a number at its end and without C++ templates."""
    if "::" in name and ("<" in name or "(" in name):
        function = name.removeprefix("void ").split("<", 1)[0].split("(", 1)[0].strip()
        return function.rpartition("::")[2] or name
    return _NUMBERED.sub("", name) or name


def _kind(name: str) -> int:
    if name.startswith(("Memcpy", "MEMCPY", "Memset")):
        return TRANSFER
    if name.startswith(("_Recv", "Recv")):
        return RECV
    return SEND if name.startswith(("_Send", "Send")) else OP
