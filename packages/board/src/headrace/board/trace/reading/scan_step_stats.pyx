# cython: language_level=3
# distutils: language = c++
"""The step_stats of a RunMetadata as columns, read off the wire by scan_step_stats.hpp."""

import os
from concurrent.futures import ThreadPoolExecutor

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from headrace.board.trace.reading.step_columns import TraceError, StepColumns


cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        const char* data()
        size_t size()


cdef extern from "headrace/board/trace/reading/scan_step_stats.hpp" namespace "headrace_board" nogil:
    cdef cppclass Strings:
        vector[string_view] all

    cdef struct ThreadName:
        int32_t device
        uint32_t thread
        string_view name

    cdef struct Chunk:
        const uint8_t* begin
        const uint8_t* end
        int64_t row

    cdef cppclass Layout:
        vector[Chunk] chunks
        int64_t rows
        Strings devices
        vector[ThreadName] thread_names
        int64_t bad_at

    cdef struct Rows:
        int32_t *device
        int32_t *name
        int32_t *label
        int32_t *length
        uint32_t* thread
        int64_t *scheduled
        int64_t *start
        int64_t *end
        int64_t *output_bytes
        int64_t *offset

    cdef cppclass Part:
        Strings names, labels, allocators
        vector[int32_t] memory_slice, memory_allocator
        vector[int64_t] memory_micros, memory_bytes
        int64_t bad_at

    void lay_out(const uint8_t* begin, size_t size, Layout& to) except +
    void scan_chunks(const Layout& layout, size_t first, size_t last, const uint8_t* origin,
                     const Rows& rows, Part& to) except +
    void renumber(Strings& all, const Strings& part, int32_t* ids, int64_t n) except +
    bint first_of_labels(const int32_t* label, const int32_t* name, int64_t n, int64_t* first)
    void number_pairs(const int32_t* device, const int64_t* thread, int64_t n, int32_t* group,
                      vector[int64_t]& keys) except +
    int32_t pack_rows(const int64_t* start, const int64_t* end, int64_t n, int32_t* row) except +


# A thread for each so many bytes; below that starting one takes longer than it saves.
BYTES_OF_THREAD = 4 << 20
MAX_THREADS = 8


cdef void* data_of(result) except NULL:
    cdef uint8_t[::1] as_bytes = result.view(np.uint8)
    return &as_bytes[0]


cdef object array_i64(vector[int64_t]& of):
    result = np.empty(of.size(), np.int64)
    cdef int64_t[::1] to = result
    if of.size():
        memcpy(&to[0], of.data(), of.size() * sizeof(int64_t))
    return result


cdef object array_i32(vector[int32_t]& of):
    result = np.empty(of.size(), np.int32)
    cdef int32_t[::1] to = result
    if of.size():
        memcpy(&to[0], of.data(), of.size() * sizeof(int32_t))
    return result


cdef str text_of(string_view text):
    return text.data()[:text.size()].decode("utf-8", "replace") if text.size() else ""


cdef list texts_of(Strings& of):
    return [text_of(of.all[i]) for i in range(of.all.size())]


cdef class _Scan:
    """One scan: the layout, the columns, and a part for each thread."""

    cdef const uint8_t[::1] metadata
    cdef Layout layout
    cdef Rows rows
    cdef dict columns
    cdef vector[Part] parts
    cdef vector[size_t] bounds  # of the parts, in chunks

    def __init__(self, const uint8_t[::1] metadata):
        self.metadata = metadata
        if metadata.shape[0]:
            with nogil:
                lay_out(&self.metadata[0], self.metadata.shape[0], self.layout)

    def check(self, int64_t bad_at):
        if bad_at >= 0:
            raise TraceError(
                f"the step trace is corrupted before byte {bad_at} of {len(self.metadata)}"
            )

    def read(self):
        cdef size_t i, count
        self.check(self.layout.bad_at)
        self.make_columns()
        chunks = self.layout.chunks.size()
        count = max(1, min(
            MAX_THREADS, os.cpu_count() or 1, self.metadata.shape[0] // BYTES_OF_THREAD, chunks
        ))
        self.parts.resize(count)
        for i in range(count + 1):
            self.bounds.push_back(chunks * i // count)
        if count == 1:
            self.scan(0)
        else:
            with ThreadPoolExecutor(count) as pool:
                list(pool.map(self.scan, range(count)))
        for i in range(count):
            self.check(self.parts[i].bad_at)

    def scan(self, size_t part):
        if self.metadata.shape[0]:
            with nogil:
                scan_chunks(
                    self.layout, self.bounds[part], self.bounds[part + 1], &self.metadata[0],
                    self.rows, self.parts[part],
                )

    cdef make_columns(self):
        cdef int64_t n = max(1, self.layout.rows)  # an empty array has no first element to point at
        result = self.columns = {
            key: np.empty(n, np.int32) for key in ("device", "name", "label", "length")
        }
        result["thread"] = np.empty(n, np.uint32)
        for key in ("scheduled", "start", "end", "output_bytes", "offset"):
            result[key] = np.empty(n, np.int64)
        self.rows.device = <int32_t*>data_of(result["device"])
        self.rows.name = <int32_t*>data_of(result["name"])
        self.rows.label = <int32_t*>data_of(result["label"])
        self.rows.length = <int32_t*>data_of(result["length"])
        self.rows.thread = <uint32_t*>data_of(result["thread"])
        self.rows.scheduled = <int64_t*>data_of(result["scheduled"])
        self.rows.start = <int64_t*>data_of(result["start"])
        self.rows.end = <int64_t*>data_of(result["end"])
        self.rows.output_bytes = <int64_t*>data_of(result["output_bytes"])
        self.rows.offset = <int64_t*>data_of(result["offset"])

    def found(self):
        """Returns: StepColumns, once all parts have been read."""
        cdef Strings names, labels, allocators
        cdef int64_t first, last, rows = self.layout.rows
        cdef size_t i, chunks = self.layout.chunks.size()
        memory = []
        for i in range(self.parts.size()):
            first = self.layout.chunks[self.bounds[i]].row if self.bounds[i] < chunks else rows
            last = (
                self.layout.chunks[self.bounds[i + 1]].row if self.bounds[i + 1] < chunks else rows
            )
            part = &self.parts[i]
            with nogil:
                renumber(names, part.names, self.rows.name + first, last - first)
                renumber(labels, part.labels, self.rows.label + first, last - first)
                renumber(
                    allocators, part.allocators, part.memory_allocator.data(),
                    part.memory_allocator.size(),
                )
            memory.append((
                array_i32(part.memory_slice),
                array_i32(part.memory_allocator),
                array_i64(part.memory_micros),
                array_i64(part.memory_bytes),
            ))
        held = [np.concatenate(column) if len(column) > 1 else column[0] for column in zip(*memory)]
        threads = self.layout.thread_names
        return StepColumns(
            **{key: column[:rows] for key, column in self.columns.items()},
            devices=texts_of(self.layout.devices),
            names=texts_of(names),
            labels=texts_of(labels),
            allocators=texts_of(allocators),
            memory_slice=held[0],
            memory_allocator=held[1],
            memory_micros=held[2],
            memory_bytes=held[3],
            thread_names={
                (threads[i].device, threads[i].thread): text_of(threads[i].name)
                for i in range(threads.size())
            },
        )


def step_columns(const uint8_t[::1] metadata):
    """Reads all nodes of the step_stats; of many, in several threads.

    Args:
      metadata: a serialised RunMetadata.
    Returns: StepColumns, in order of the bytes.
    Raises: TraceError if the bytes are not a RunMetadata.
    """
    scan = _Scan(metadata)
    scan.read()
    return scan.found()


def rows_of(const int64_t[::1] start, const int64_t[::1] end):
    """Gives each slice the lowest row that is free when it starts.

    Args:
      start: i64[n], sorted.
      end: i64[n].
    Returns: i32[n].
    """
    result = np.zeros(start.shape[0], np.int32)
    cdef int32_t[::1] row = result
    if start.shape[0]:
        with nogil:
            pack_rows(&start[0], &end[0], start.shape[0], &row[0])
    return result


def first_rows(const int32_t[::1] label, const int32_t[::1] name, int64_t labels):
    """Finds the first row of each label.

    Args:
      label: i32[n], below labels.
      name: i32[n].
    Returns: i64[labels], -1 where no row has the label; whether all rows of a label have one name.
    """
    result = np.full(labels, -1, np.int64)
    cdef int64_t[::1] first = result
    cdef bint one_name = True
    if label.shape[0]:
        with nogil:
            one_name = first_of_labels(&label[0], &name[0], label.shape[0], &first[0])
    return result, one_name


def numbered_pairs(const int32_t[::1] device, const int64_t[::1] thread):
    """Numbers the distinct pairs of device and thread, in order of appearance.

    Args:
      device: i32[n].
      thread: i64[n].
    Returns: the rows where each pair first appears, i64[k]; the number of each row's pair, i32[n].
    """
    result = np.zeros(device.shape[0], np.int32)
    cdef int32_t[::1] group = result
    cdef vector[int64_t] keys
    if device.shape[0]:
        with nogil:
            number_pairs(&device[0], &thread[0], device.shape[0], &group[0], keys)
    return array_i64(keys), result
