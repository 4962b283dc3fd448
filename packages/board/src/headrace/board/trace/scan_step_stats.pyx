# cython: language_level=3
# distutils: language = c++
"""The step_stats of a RunMetadata as columns, read off the wire by scan_step_stats.hpp."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from headrace.board.trace.step_columns import BadTrace, StepColumns


cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        const char* data()
        size_t size()


cdef extern from "headrace/board/trace/scan_step_stats.hpp" namespace "headrace_board" nogil:
    cdef cppclass Strings:
        vector[string_view] all

    cdef struct ThreadName:
        int32_t device
        uint32_t thread
        string_view name

    cdef cppclass StepStatsColumns:
        vector[int32_t] device, name, label, length, memory_slice, memory_allocator
        vector[uint32_t] thread
        vector[int64_t] scheduled, start, end, output_bytes, offset, memory_micros, memory_bytes
        Strings devices, names, labels, allocators
        vector[ThreadName] thread_names
        int64_t bad_at

    void scan_step_stats(const uint8_t* begin, size_t size, StepStatsColumns& to) except +
    int32_t pack_rows(const int64_t* start, const int64_t* end, int64_t n, int32_t* row) except +


cdef object array_i64(vector[int64_t]& of):
    made = np.empty(of.size(), np.int64)
    cdef int64_t[::1] to = made
    if of.size():
        memcpy(&to[0], of.data(), of.size() * sizeof(int64_t))
    of.clear()
    of.shrink_to_fit()
    return made


cdef object array_i32(vector[int32_t]& of):
    made = np.empty(of.size(), np.int32)
    cdef int32_t[::1] to = made
    if of.size():
        memcpy(&to[0], of.data(), of.size() * sizeof(int32_t))
    of.clear()
    of.shrink_to_fit()
    return made


cdef object array_u32(vector[uint32_t]& of):
    made = np.empty(of.size(), np.uint32)
    cdef uint32_t[::1] to = made
    if of.size():
        memcpy(&to[0], of.data(), of.size() * sizeof(uint32_t))
    return made


cdef str text_of(string_view text):
    return text.data()[:text.size()].decode("utf-8", "replace") if text.size() else ""


cdef list texts_of(Strings& of):
    return [text_of(of.all[i]) for i in range(of.all.size())]


def step_columns(const uint8_t[::1] metadata):
    """Reads all nodes of the step_stats.

    Args:
      metadata: a serialised RunMetadata.
    Returns: StepColumns, in order of the bytes.
    Raises: BadTrace if the bytes are not a RunMetadata.
    """
    cdef StepStatsColumns found
    if metadata.shape[0]:
        with nogil:
            scan_step_stats(&metadata[0], metadata.shape[0], found)
    if found.bad_at >= 0:
        raise BadTrace(f"the step trace is damaged before byte {found.bad_at} of {len(metadata)}")
    return StepColumns(
        device=array_i32(found.device),
        thread=array_u32(found.thread),
        name=array_i32(found.name),
        label=array_i32(found.label),
        scheduled=array_i64(found.scheduled),
        start=array_i64(found.start),
        end=array_i64(found.end),
        output_bytes=array_i64(found.output_bytes),
        offset=array_i64(found.offset),
        length=array_i32(found.length),
        devices=texts_of(found.devices),
        names=texts_of(found.names),
        labels=texts_of(found.labels),
        allocators=texts_of(found.allocators),
        memory_slice=array_i32(found.memory_slice),
        memory_allocator=array_i32(found.memory_allocator),
        memory_micros=array_i64(found.memory_micros),
        memory_bytes=array_i64(found.memory_bytes),
        thread_names={
            (found.thread_names[i].device, found.thread_names[i].thread):
                text_of(found.thread_names[i].name)
            for i in range(found.thread_names.size())
        },
    )


def rows_of(const int64_t[::1] start, const int64_t[::1] end):
    """Gives each slice the lowest row that is free when it starts.

    Args:
      start: i64[n], sorted.
      end: i64[n].
    Returns: i32[n].
    """
    made = np.zeros(start.shape[0], np.int32)
    cdef int32_t[::1] row = made
    if start.shape[0]:
        with nogil:
            pack_rows(&start[0], &end[0], start.shape[0], &row[0])
    return made
