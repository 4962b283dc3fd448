"""One segment of a program with its specialisations."""

from libc.stdint cimport int64_t

from headrace.runtime.context cimport SessionState
from headrace.runtime.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.program cimport Program
from headrace.runtime.specialisation cimport Specialisation


cdef class SegmentRunner:
    cdef readonly Program program
    cdef readonly Segments segments
    cdef readonly int number
    cdef SessionState* session
    cdef bint copy_small
    cdef int team                     # threads that heavy work may use
    cdef Specialisation latest        # the one that the last run took: likely the next one's too
    cdef Specialisation latest_wide   # the same for several threads
    cdef readonly list made           # most recently used first, at most LIMIT
    cdef object lock
    # The specialisation for these shapes; the caller keeps its reference while it runs it.
    cdef Specialisation find(self, const hr_tensor* entering, int threads)
    # For callers without the GIL: a specialisation, which lives until `forget_retired`.
    cdef void* ready_pointer          # the latest for one thread
    cdef list retired
    cdef void* find_pointer(self, const hr_tensor* entering, int threads) except NULL
    cdef void forget_retired(self)
