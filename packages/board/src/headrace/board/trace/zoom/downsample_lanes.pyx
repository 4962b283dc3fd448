# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""Reduces lanes of slices to pixels: wraps downsample_lanes.hpp."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np


cdef extern from "headrace/board/trace/zoom/downsample_lanes.hpp" namespace "headrace_board" nogil:
    cdef struct SliceColumns:
        const int64_t* start
        const int64_t* end
        const int64_t* scheduled
        const int32_t* op
        const uint8_t* kind
        const uint8_t* critical

    cdef cppclass ItemColumns:
        vector[int32_t] lane, op
        vector[int64_t] start, end, slice, count, busy, wait, critical
        vector[uint8_t] kind

    cdef cppclass LaneDownsampler:
        LaneDownsampler(SliceColumns of, double t0, double pixel_ns, int32_t ops, uint8_t merged) except +
        void reduce(int32_t lane, int64_t low, int64_t high, ItemColumns& to) except +


cdef object array_of(const void* data, size_t n, object dtype):
    result = np.empty(n, dtype)
    cdef uint8_t[::1] to
    if n:
        to = result.view(np.uint8)
        memcpy(&to[0], data, to.shape[0])
    return result


def downsample_lanes(
    spans, const int64_t[::1] start, const int64_t[::1] end, const int64_t[::1] scheduled,
    const int32_t[::1] op, const uint8_t[::1] kind, critical, double t0, double pixel_ns,
    int32_t ops, uint8_t merged,
):
    """Reduces spans of slices to items.

    Args:
      spans: (lane, low, high) each, of slices [low, high).
      start: i64[n], as are end and scheduled.
      op: i32[n], below ops.
      kind: u8[n].
      critical: u8[n], or None.
      merged: the kind of an item that stands for several slices.
    Returns: lane, start, end, slice, op, kind, count, busy, wait, critical, in order of the spans.
    """
    cdef const uint8_t[::1] marked
    cdef SliceColumns of
    cdef ItemColumns to
    if start.shape[0] == 0:
        spans = []
    else:
        of.start, of.end, of.scheduled = &start[0], &end[0], &scheduled[0]
        of.op, of.kind, of.critical = &op[0], &kind[0], <const uint8_t*>NULL
        if critical is not None:
            marked = critical
            of.critical = &marked[0]
    cdef LaneDownsampler* cutter = new LaneDownsampler(of, t0, pixel_ns, ops, merged)
    cdef int32_t lane
    cdef int64_t low, high
    try:
        for lane, low, high in spans:
            if not 0 <= low <= high <= start.shape[0]:
                raise IndexError(f"span {low} to {high} of {start.shape[0]} slices")
            with nogil:
                cutter.reduce(lane, low, high, to)
    finally:
        del cutter
    return (
        array_of(to.lane.data(), to.lane.size(), np.int32),
        array_of(to.start.data(), to.start.size(), np.int64),
        array_of(to.end.data(), to.end.size(), np.int64),
        array_of(to.slice.data(), to.slice.size(), np.int64),
        array_of(to.op.data(), to.op.size(), np.int32),
        array_of(to.kind.data(), to.kind.size(), np.uint8),
        array_of(to.count.data(), to.count.size(), np.int64),
        array_of(to.busy.data(), to.busy.size(), np.int64),
        array_of(to.wait.data(), to.wait.size(), np.int64),
        array_of(to.critical.data(), to.critical.size(), np.int64),
    )
