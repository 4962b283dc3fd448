"""The nodes of a RunMetadata as plain columns, in the order of its bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


class TraceError(ValueError):
    """The bytes are not a valid step trace; the message says why."""


@dataclass(frozen=True)
class StepColumns:
    """All n nodes of the step_stats; times are absolute nanoseconds on the clock of each task.

    Nanosecond fields take precedence over microsecond fields. Missing times are 0, except for
    scheduled, which then equals start. offset and length give the place of each NodeExecStats.
    """

    device: np.ndarray  # i32[n], into devices
    thread: np.ndarray  # u32[n]
    name: np.ndarray  # i32[n], into names
    label: np.ndarray  # i32[n], into labels
    scheduled: np.ndarray  # i64[n]
    start: np.ndarray  # i64[n]
    end: np.ndarray  # i64[n]
    output_bytes: np.ndarray  # i64[n]
    offset: np.ndarray  # i64[n]
    length: np.ndarray  # i32[n]
    devices: list[str]
    names: list[str]
    labels: list[str]
    allocators: list[str]
    # One row per allocation, or per release if memory_bytes is negative. If memory_micros is -1,
    # memory_bytes is what the allocator held when the node ended.
    memory_slice: np.ndarray  # i32[m]
    memory_allocator: np.ndarray  # i32[m], into allocators
    memory_micros: np.ndarray  # i64[m]
    memory_bytes: np.ndarray  # i64[m]
    thread_names: dict[tuple[int, int], str]  # by device and thread

    def __len__(self) -> int:
        return len(self.start)
