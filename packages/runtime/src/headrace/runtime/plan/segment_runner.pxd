"""One segment of a program with its executables."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.runtime.state.context cimport SessionState
from headrace.runtime.plan.executable cimport Executable
from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segments
from headrace.runtime.passes.program cimport Program
from headrace.runtime.plan.segment_builder cimport PreparedNodes


cdef extern from "plan/executable_cache.hpp" namespace "headrace" nogil:
    uint64_t key_hash(const hr_tensor* inputs, const uint8_t* by_value, size_t n)

    cdef cppclass ExecutableCache:
        shared_ptr[Executable] find(uint64_t hash, const hr_tensor* inputs, int threads,
                                    int64_t resets)
        void keep(uint64_t hash, shared_ptr[Executable] executable) except +
        vector[shared_ptr[Executable]] all() except +


cdef class SegmentRunner:
    cdef readonly Program program
    cdef readonly Segments segments
    cdef readonly int number
    cdef SessionState* session
    cdef bint copy_small
    cdef int intra_op_threads                                # threads for heavy work
    cdef ExecutableCache executables
    cdef PreparedNodes* cache                    # guarded by `specialising`
    cdef int64_t cache_resets                    # count of resets when the cache was made
    cdef object specialising
    cdef uint64_t hash_of(self, const hr_tensor* inputs) noexcept nogil
    # The executable for these shapes; null: there is none.
    cdef shared_ptr[Executable] lookup(self, const hr_tensor* inputs, int threads) noexcept nogil
    # The same; plans it if there is none.
    cdef shared_ptr[Executable] find(self, const hr_tensor* inputs, int threads) except *
    cdef int account(self, Executable* executable, const hr_tensor* inputs) except -1
