"""Matches the slices that sent tensors with those that received them on another device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headrace.board.trace.reading.device_name import DeviceName, read_device
from headrace.board.trace.reading.graph_edges import GraphEdges, Rendezvous
from headrace.board.trace.reading.step_columns import StepColumns
from headrace.board.trace.reading.timeline_label import (
    TimelineLabel,
    is_copy,
    is_recv,
    is_send,
    producer_of,
)


@dataclass(frozen=True)
class Matches:
    """Pairs of rows of the columns, in order of arrival.

    On a common clock, cause must not be after effect: a tensor cannot arrive before it was sent.
    """

    source: np.ndarray  # i64[t]
    target: np.ndarray  # i64[t]
    cause: np.ndarray  # i64[t], each on the clock of the source's task
    effect: np.ndarray  # i64[t], each on the clock of the target's task
    tensor: list[str]
    direct: np.ndarray  # bool[t]

    def __len__(self) -> int:
        return len(self.source)


def match_transfers(
    columns: StepColumns,
    labels: Sequence[TimelineLabel],
    label: np.ndarray,
    devices: Sequence[DeviceName],
    graph_edges: GraphEdges,
) -> Matches:
    """Finds the transfers of a step.

    Copies between the memories of the host and of a device have a slice on the thread that asks
    for them, and one on the device's stream. For transfers between devices there are three kinds of
    traces. If _Send and _Recv are slices, the i-th _Send of a rendezvous
    key is matched with the i-th _Recv. If the network's RecvTensor is a slice, it is matched with
    the node that computed the tensor. If neither is a slice (TensorFlow, between devices of one
    task), the partition graphs show which node read the tensor first.

    Args:
      labels: the distinct labels.
      label: i32[n], into labels.
      devices: one for each of columns.devices.
      graph_edges: edges of the step's partition graphs; empty if it has none.
    """
    finder = _Finder(columns, labels, label, devices, graph_edges)
    finder.match_slices()
    finder.match_copies()
    finder.match_arrivals()
    finder.match_readers()
    return finder.matches()


class _Finder:
    def __init__(
        self,
        columns: StepColumns,
        labels: Sequence[TimelineLabel],
        label: np.ndarray,
        devices: Sequence[DeviceName],
        graph_edges: GraphEdges,
    ) -> None:
        self.columns, self.labels, self.label = columns, labels, label
        self.devices, self.graph_edges = devices, graph_edges
        self.name_ids = {name: i for i, name in enumerate(columns.names)}
        self.parts: list[
            tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str], bool]
        ] = []
        self.matched_tensors: set[str] = set()
        self._first_reads: dict[tuple[str, tuple[str, str]], int] = {}

    def match_slices(self) -> None:
        """Matches _Send and _Recv slices."""
        moves = np.array([is_send(t.op) or is_recv(t.op) for t in self.labels], bool)
        rows = np.flatnonzero(moves[self.label]) if len(moves) else np.empty(0, np.int64)
        if not len(rows):
            return
        pair = self.label[rows].astype(np.int64) * len(self.devices) + self.columns.device[rows]
        pair = pair * len(self.columns.names) + self.columns.name[rows]
        distinct, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
        keys: dict[tuple, int] = {}
        key_of = np.empty(len(distinct), np.int64)
        sends = np.empty(len(distinct), bool)
        tensors: list[str] = []
        for i, at in enumerate(rows[first].tolist()):
            rendezvous = self._rendezvous_of(at)
            key = (
                rendezvous.tensor,
                self._device(rendezvous.source),
                self._device(rendezvous.target),
            )
            key_of[i] = keys.setdefault(key, len(keys))
            if key_of[i] == len(tensors):
                tensors.append(rendezvous.tensor)
            sends[i] = is_send(rendezvous.op)
        is_sent, numbers = sends[inverse], key_of[inverse]
        source, source_key = self._numbered(rows[is_sent], numbers[is_sent], self.columns.start)
        target, target_key = self._numbered(rows[~is_sent], numbers[~is_sent], self.columns.end)
        _, a, b = np.intersect1d(source_key, target_key, return_indices=True)
        source, target = source[a], target[b]
        names = [tensors[k] for k in (source_key[a] >> 32).tolist()]
        self.matched_tensors.update(names)
        start, end = self.columns.start[source], self.columns.end[target]
        self.parts.append((source, target, start, end, names, True))

    def _rendezvous_of(self, row: int) -> Rendezvous:
        """Returns tensor and devices of a _Send or _Recv slice, from its label or its node."""
        label = self.labels[self.label[row]]
        name = self.columns.names[self.columns.name[row]]
        own = self.columns.devices[self.columns.device[row]]
        rendezvous = self.graph_edges.rendezvous.get(name)
        if not label.tensor and rendezvous is not None:
            return rendezvous
        source = label.source or (own if is_send(label.op) else "")
        target = label.target or (own if is_recv(label.op) else "")
        return Rendezvous(label.op, label.tensor or name, source, target)

    def _device(self, text: str) -> tuple[str, str]:
        read = read_device(text)
        return read.task, read.device

    def _numbered(
        self, rows: np.ndarray, key: np.ndarray, time: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns rows sorted by key and time, and (key, number within the key) as one i64."""
        order = np.lexsort((time[rows], key))
        rows, key = rows[order], key[order]
        fresh = np.flatnonzero(np.diff(key, prepend=-1))
        number = np.arange(len(key)) - np.repeat(fresh, np.diff(np.append(fresh, len(key))))
        return rows, (key << 32) | number

    def match_copies(self) -> None:
        """Matches the slice that asks for a copy with that of the device, in its direction."""
        copies = np.array([is_copy(t.op) for t in self.labels], bool)
        rows = np.flatnonzero(copies[self.label]) if len(copies) else np.empty(0, np.int64)
        asked: dict[tuple[str, str, tuple[str, str]], list[int]] = {}
        done: dict[tuple[str, str, tuple[str, str]], list[int]] = {}
        for row in rows.tolist():
            device = self.devices[self.columns.device[row]]
            op = self.labels[self.label[row]].op
            name = self.columns.names[self.columns.name[row]]
            where = (name, op, (device.task, device.device))
            (done if device.is_stream else asked).setdefault(where, []).append(row)
        source, target, names = [], [], []
        for where, stream_rows in done.items():
            host_rows = sorted(asked.get(where, []), key=lambda row: int(self.columns.start[row]))
            stream_rows.sort(key=lambda row: int(self.columns.start[row]))
            for host, stream in zip(host_rows, stream_rows, strict=False):
                to_host = where[1] == "_CopyToHost"
                source.append(stream if to_host else host)
                target.append(host if to_host else stream)
                names.append(where[0])
        if source:
            a, b = np.array(source), np.array(target)
            self.parts.append((a, b, self.columns.start[a], self.columns.end[b], names, True))

    def match_arrivals(self) -> None:
        """Matches RecvTensor slices of the network with the slices that computed the tensors."""
        arrived = np.array([t.op == "RecvTensor" and bool(t.tensor) for t in self.labels], bool)
        rows = np.flatnonzero(arrived[self.label]) if len(arrived) else np.empty(0, np.int64)
        source, target, names = [], [], []
        for row in rows.tolist():
            label = self.labels[self.label[row]]
            self.matched_tensors.add(label.tensor)
            result = self._latest(
                producer_of(label.tensor), self._device(label.source), self.columns.end[row]
            )
            if result >= 0:
                source.append(result)
                target.append(row)
                names.append(label.tensor)
        if source:
            a, b = np.array(source), np.array(target)
            self.parts.append((a, b, self.columns.end[a], self.columns.end[b], names, True))

    def match_readers(self) -> None:
        """Matches transfers without slices: the producer of each tensor with its first reader."""
        readers: dict[str, list[str]] = {}
        for name, inputs in self.graph_edges.inputs.items():
            for feed in inputs:
                rendezvous = self.graph_edges.rendezvous.get(feed)
                if rendezvous is not None and is_recv(rendezvous.op):
                    readers.setdefault(feed, []).append(name)
        source, target, names = [], [], []
        for recv, by in readers.items():
            rendezvous = self.graph_edges.rendezvous[recv]
            if rendezvous.tensor in self.matched_tensors or recv in self.name_ids:
                continue
            where = self._device(rendezvous.target)
            firsts = [r for reader in by if (r := self._first(reader, where)) >= 0]
            if not firsts:
                continue
            first = min(firsts, key=lambda r: int(self.columns.start[r]))
            result = self._latest(
                producer_of(rendezvous.tensor),
                self._device(rendezvous.source),
                self.columns.start[first],
            )
            if result >= 0:
                source.append(result)
                target.append(first)
                names.append(rendezvous.tensor)
        if source:
            a, b = np.array(source), np.array(target)
            self.parts.append((a, b, self.columns.end[a], self.columns.start[b], names, False))

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[tuple[str, str], int]]:
        """Rows sorted by name, device and end; their keys and ends; device numbers."""
        places: dict[tuple[str, str], int] = {}
        numbers = [places.setdefault((d.task, d.device), len(places)) for d in self.devices]
        place = np.array(numbers or [0], np.int64)[self.columns.device]
        key = self.columns.name.astype(np.int64) * max(1, len(places)) + place
        order = np.lexsort((self.columns.end, key))
        return order, key[order], self.columns.end[order], places

    def _span(self, name: str, device: tuple[str, str]) -> tuple[int, int]:
        """Returns the range of a node's rows on a device within the sorted rows."""
        at = self.name_ids.get(name)
        _, keys, _, places = self._sorted
        place = places.get(device)
        if at is None or place is None:
            return 0, 0
        key = at * len(places) + place
        low, high = np.searchsorted(keys, [key, key + 1]).tolist()
        return low, high

    def _first(self, name: str, device: tuple[str, str]) -> int:
        """Returns the row of a node that started first; -1 if it has none."""
        known = self._first_reads.get((name, device))
        if known is None:
            low, high = self._span(name, device)
            rows = self._sorted[0][low:high]
            known = int(rows[np.argmin(self.columns.start[rows])]) if high > low else -1
            self._first_reads[name, device] = known
        return known

    def _latest(self, name: str, device: tuple[str, str], until: int) -> int:
        """Returns the last row of a node that ended by a time, else its first; -1 if none."""
        low, high = self._span(name, device)
        if low == high:
            return -1
        order, _, ends, _ = self._sorted
        ended = low + int(np.searchsorted(ends[low:high], until, side="right"))
        return int(order[max(low, ended - 1)])

    def matches(self) -> Matches:
        empty = np.empty(0, np.int64)
        source, target, cause, effect = (
            np.concatenate([empty, *[part[i] for part in self.parts]]) for i in range(4)
        )
        direct = np.concatenate(
            [np.empty(0, bool), *[np.full(len(p[0]), p[5], bool) for p in self.parts]]
        )
        names = [name for part in self.parts for name in part[4]]
        order = np.argsort(effect, kind="stable")
        return Matches(
            source[order],
            target[order],
            cause[order],
            effect[order],
            [names[i] for i in order.tolist()],
            direct[order],
        )
