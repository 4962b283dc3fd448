"""What a RunMetadata says of each node that ran, as plain columns in the order of its bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


class TraceError(ValueError):
    """The bytes are not a step trace; the text says why."""


@dataclass(frozen=True)
class StepColumns:
    """All n nodes of the step_stats; times are absolute nanoseconds of the task's own clock.

    Nanosecond fields win over microsecond fields; what no field tells is 0, but for scheduled,
    which is then start. offset and length tell where each NodeExecStats lies in the bytes.
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
    # An allocation (or, below 0, a release) each; memory_micros is -1 where memory_bytes is all
    # that the allocator held when the node had ended.
    memory_slice: np.ndarray  # i32[m]
    memory_allocator: np.ndarray  # i32[m], into allocators
    memory_micros: np.ndarray  # i64[m]
    memory_bytes: np.ndarray  # i64[m]
    thread_names: dict[tuple[int, int], str]  # by device and thread

    def __len__(self) -> int:
        return len(self.start)
