"""One segment of a program with its executables."""

from libc.stdint cimport int64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.runtime.buffer cimport SpinLock
from headrace.runtime.context cimport SessionState
from headrace.runtime.executable cimport Executable
from headrace.runtime.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.program cimport Program
from headrace.runtime.segment_draft cimport PreparedNodes


cdef class SegmentRunner:
    cdef readonly Program program
    cdef readonly Segments segments
    cdef readonly int number
    cdef SessionState* session
    cdef bint copy_small
    cdef int team                                # threads that heavy work may use
    cdef vector[shared_ptr[Executable]] made     # most recently used first, at most LIMIT
    cdef SpinLock made_lock
    cdef PreparedNodes* cache                    # guarded by `specialising`
    cdef int64_t cache_resets                    # of the state, when the cache was made
    cdef object specialising
    # The executable for these shapes; null: there is none yet.
    cdef shared_ptr[Executable] lookup(self, const hr_tensor* entering, int threads) noexcept nogil
    # The same, made if need be.
    cdef shared_ptr[Executable] find(self, const hr_tensor* entering, int threads) except *
    cdef int account(self, Executable* made, const hr_tensor* entering) except -1
