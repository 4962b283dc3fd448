"""Finds slices that duplicate others, so that sums count all work once."""

from __future__ import annotations

import numpy as np

from headrace.board.trace.reading.step_trace import TRANSFER, StepTrace


def duplicate_lanes(trace: StepTrace) -> np.ndarray:
    """Returns bool by lane: a GPU's `stream:all` if the trace has its other streams too."""
    repeats = np.zeros(len(trace.lanes), bool)
    single = {
        (lane.task, device)
        for lane, (device, stream) in _streams(trace)
        if stream.startswith("stream:") and stream != "stream:all"
    }
    for lane, (device, stream) in _streams(trace):
        repeats[lane.id] = stream == "stream:all" and (lane.task, device) in single
    return repeats


def unique_slices(trace: StepTrace) -> np.ndarray:
    """Returns bool by slice: False for slices that duplicate others.

    A GPU's `stream:all` duplicates its other streams. Slices of the GPU device itself are kernel
    launches, which duplicate the kernels on its streams.
    """
    repeats = duplicate_lanes(trace)
    once = ~repeats[trace.lane]
    devices: dict[tuple[str, str], int] = {}
    of_lane = np.full(len(trace.lanes), -1, np.int64)
    on_stream = np.zeros(len(trace.lanes), bool)
    for lane, (device, stream) in _streams(trace):
        of_lane[lane.id] = devices.setdefault((lane.task, device), len(devices))
        on_stream[lane.id] = bool(stream)
    if not on_stream.any():
        return once
    key = of_lane[trace.lane] * len(trace.names) + trace.name
    kernels = on_stream[trace.lane] & once & (trace.kind != TRANSFER)
    return once & ~(~on_stream[trace.lane] & np.isin(key, np.unique(key[kernels])))


def _streams(trace: StepTrace) -> list[tuple]:
    result = []
    for lane in trace.lanes:
        device, _, stream = lane.device.partition("/")
        result.append((lane, (device, stream)))
    return result
