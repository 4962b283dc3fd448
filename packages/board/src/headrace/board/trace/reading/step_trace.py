"""A step trace ready for display: slices sorted by lane and time, on one clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from headrace.board.trace.reading.lanes import Lane
from headrace.board.trace.reading.step_columns import StepColumns
from headrace.board.trace.reading.timeline_label import TimelineLabel

OP, RECV, SEND, TRANSFER = 0, 2, 3, 4  # kinds of slices
MERGED = 5  # kind of an item that stands for several slices
SYNC = 6  # waits for a queue or a barrier


@dataclass(frozen=True)
class Transfers:
    """Tensors that were sent from one device to another, in order of arrival.

    source and target are slices: the _Send and the _Recv; if the trace has no slices of the
    transfer itself, the slice that computed the tensor and the one that first read it.
    """

    source: np.ndarray  # i64[t]
    target: np.ndarray  # i64[t]
    bytes: np.ndarray  # i64[t], 0 where unknown
    tensor: list[str]
    direct: np.ndarray  # bool[t], whether they are the _Send and the _Recv

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class Nested:
    """What only traces of profilers have: calls within calls, and arguments.

    caller: i64[n], the slice around each slice on its thread, -1 for none. arguments: JSON by row.
    """

    caller: np.ndarray
    _arguments: Mapping[int, bytes] = field(repr=False)

    def arguments(self, row: int) -> dict[str, Any]:
        """Returns the arguments of a slice by its row, as they were logged."""
        found = json.loads(self._arguments.get(row, b"{}"))
        return found if isinstance(found, dict) else {"value": found}


@dataclass(frozen=True)
class StepTrace:
    """All slices of a step. Times are ns from origin_ns, on the clock of the first task."""

    lanes: list[Lane]
    lane: np.ndarray  # i32[n]
    start: np.ndarray  # i64[n]
    end: np.ndarray  # i64[n]
    scheduled: np.ndarray  # i64[n], at most start
    name: np.ndarray  # i32[n], into names
    op: np.ndarray  # i32[n], into ops
    kind: np.ndarray  # u8[n]
    label: np.ndarray  # i32[n], into labels
    output_bytes: np.ndarray  # i64[n]
    row: np.ndarray  # i64[n], index of the slice in columns
    names: list[str]
    ops: list[str]
    labels: list[TimelineLabel]
    origin_ns: int
    duration_ns: int
    transfers: Transfers
    skew_ns: Mapping[str, int]  # added to the times of each task
    untimed: int  # number of nodes without a time, which are left out
    columns: StepColumns = field(repr=False)  # places of nodes, and memory; the rest is above
    nested: Nested | None = None  # of a trace that a profiler of another program wrote

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def duration(self) -> np.ndarray:
        """i64[n], end - start."""
        return self.end - self.start

    @cached_property
    def name_ids(self) -> dict[str, int]:
        """The index of each name."""
        return {name: i for i, name in enumerate(self.names)}

    def ops_of_names(self) -> list[str]:
        """Returns the op of each name, taken from one of its slices."""
        op = np.full(len(self.names), -1, np.int64)
        op[self.name] = self.op
        return [self.ops[i] if i >= 0 else "" for i in op.tolist()]

    @cached_property
    def by_name(self) -> tuple[np.ndarray, np.ndarray]:
        """i64[n], slices sorted by name and end; i64[names + 1], the start of each name."""
        order = np.lexsort((self.end, self.name))
        return order, np.searchsorted(self.name[order], np.arange(len(self.names) + 1))

    def slices_of(self, name: int) -> np.ndarray:
        """Returns i64[k]: all slices of a name, sorted by end."""
        order, bounds = self.by_name
        return order[bounds[name] : bounds[name + 1]]
