# cython: language_level=3, boundscheck=False, wraparound=False
"""The native scanner of event files: wraps scan_events.hpp and returns NumPy arrays."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np

from headrace.board.reading.scan_batch import Gap, Rows, ScanBatch
from headrace.board.store.tag_entry import TagEntry


cdef extern from "headrace/board/reading/scan_events.hpp" namespace "headrace_board" nogil:
    struct CGap "headrace_board::Gap":
        int kind
        uint64_t offset, bytes, records

    struct NewTag:
        string name, plugin, display, description, content
        int kind

    struct Start:
        int32_t tag
        int64_t row, step

    cdef cppclass ScalarRows:
        vector[int32_t] tag
        vector[int64_t] step
        vector[double] wall, value

    cdef cppclass BlobRows:
        vector[int32_t] tag
        vector[int64_t] step
        vector[double] wall
        vector[int64_t] offset, length
        vector[int32_t] value

    cdef cppclass RecordFrames:
        uint64_t offset
        int state, error
        vector[CGap] gaps
        cbool has_open_gap()
        CGap open_gap()

    cdef cppclass CScanner "headrace_board::EventScanner":
        RecordFrames frames
        uint64_t records, dropped
        int64_t dropped_from
        double last_wall, first_wall
        vector[NewTag] new_tags
        vector[Start] starts
        ScalarRows scalars
        BlobRows blobs
        vector[uint8_t] wide
        size_t tags()
        void scan(int fd, uint64_t limit) except +
        void clear()

    void c_release_memory "headrace_board::release_memory"()

    cdef cppclass TagOrder:
        vector[int32_t] tags
        vector[int64_t] bounds
        TagOrder(const vector[int32_t]& tag, size_t count) except +
        void scatter[T](const vector[T]& source, T* to)


# In the order of the enums in scan_events.hpp and record_frames.hpp.
_KINDS = (
    "scalar", "image", "histogram", "audio", "text", "pr_curve", "hparams", "mesh",
    "custom_scalars", "tensor", "graph", "run_metadata",
)
_GAPS = ("payload", "length", "event", "name")


def release_memory():
    """Returns the memory that was freed to the system."""
    with nogil:
        c_release_memory()


cdef class EventScanner:
    """Reads one event file over many passes, without holding the GIL."""

    cdef CScanner scanner

    def scan(self, int fd, uint64_t limit):
        """Scans about `limit` more bytes of the file, which is read by position."""
        with nogil:
            self.scanner.scan(fd, limit)
        cdef RecordFrames* frames = &self.scanner.frames
        open_gap = None
        if frames.has_open_gap():
            open_gap = _gap(frames.open_gap())
        scalars, wide = self._scalar_rows()
        batch = ScanBatch(
            offset=frames.offset,
            state=frames.state,
            records=self.scanner.records,
            first_wall=self.scanner.first_wall,
            last_wall=self.scanner.last_wall,
            new_tags=[_entry(tag) for tag in self.scanner.new_tags],
            scalars=scalars,
            wide=wide,
            blobs=self._blob_rows(),
            starts=[(start.tag, start.row, start.step) for start in self.scanner.starts],
            gaps=[_gap(gap) for gap in frames.gaps],
            open_gap=open_gap,
            dropped=self.scanner.dropped,
            dropped_from=self.scanner.dropped_from,
            error=frames.error,
        )
        self.scanner.clear()
        return batch

    cdef _scalar_rows(self):
        cdef ScalarRows* rows = &self.scanner.scalars
        cdef TagOrder* order = new TagOrder(rows.tag, self.scanner.tags())
        cdef Py_ssize_t n = rows.tag.size()
        step = np.empty(n, np.int64)
        wall = np.empty(n)
        value = np.empty(n)
        try:
            if n:
                _scatter_int64(order, rows.step, step)
                _scatter_double(order, rows.wall, wall)
                _scatter_double(order, rows.value, value)
            wide = np.array([self.scanner.wide[tag] != 0 for tag in order.tags], np.bool_)
            return _rows(order, (step, wall, value)), wide
        finally:
            del order

    cdef _blob_rows(self):
        cdef BlobRows* rows = &self.scanner.blobs
        cdef TagOrder* order = new TagOrder(rows.tag, self.scanner.tags())
        cdef Py_ssize_t n = rows.tag.size()
        step = np.empty(n, np.int64)
        wall = np.empty(n)
        offset = np.empty(n, np.int64)
        length = np.empty(n, np.int64)
        value = np.empty(n, np.int32)
        try:
            if n:
                _scatter_int64(order, rows.step, step)
                _scatter_double(order, rows.wall, wall)
                _scatter_int64(order, rows.offset, offset)
                _scatter_int64(order, rows.length, length)
                _scatter_int32(order, rows.value, value)
            return _rows(order, (step, wall, offset, length, value))
        finally:
            del order


cdef _scatter_int64(TagOrder* order, const vector[int64_t]& source, int64_t[::1] to):
    with nogil:
        order.scatter[int64_t](source, &to[0])


cdef _scatter_double(TagOrder* order, const vector[double]& source, double[::1] to):
    with nogil:
        order.scatter[double](source, &to[0])


cdef _scatter_int32(TagOrder* order, const vector[int32_t]& source, int32_t[::1] to):
    with nogil:
        order.scatter[int32_t](source, &to[0])


cdef _rows(TagOrder* order, columns):
    return Rows(np.array(order.tags, np.int32), np.array(order.bounds, np.int64), columns)


cdef _gap(CGap gap):
    return Gap(_GAPS[gap.kind], gap.offset, gap.bytes, gap.records)


cdef _entry(const NewTag& tag):
    return TagEntry(
        (<bytes> tag.name).decode("utf-8", "replace"),
        _KINDS[tag.kind],
        (<bytes> tag.plugin).decode("utf-8", "replace"),
        (<bytes> tag.display).decode("utf-8", "replace"),
        (<bytes> tag.description).decode("utf-8", "replace"),
        <bytes> tag.content,
    )
