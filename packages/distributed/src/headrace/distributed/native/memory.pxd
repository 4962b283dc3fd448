# cython: language_level=3
from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp cimport bool as cbool

cdef extern from "headrace/worker.h" nogil:
    ctypedef int32_t hr_dtype
    ctypedef int32_t hr_code
    ctypedef struct hr_buffer:
        pass
    ctypedef struct hr_tensor:
        void* data
        int64_t bytes
        hr_dtype dtype
        int32_t rank
        int64_t dims[8]
        int64_t layout
        hr_buffer* owner
    ctypedef struct hr_string:
        const char* data
        size_t size
        hr_buffer* owner
    ctypedef struct hr_worker:
        uint32_t size
        uint32_t abi
    int HR_MAX_RANK
    int HR_WORKER_ABI
    hr_code HR_OK
    hr_code HR_CANCELLED
    hr_code HR_DEADLINE_EXCEEDED
    hr_dtype HR_STRING
    const char* HR_WORKER_CAPSULE
    int64_t hr_dtype_size(hr_dtype)

cdef extern from "native/memory.hpp" namespace "headrace::distributed" nogil:
    cdef cppclass Memory:
        hr_code (*set_string)(hr_string*, const char*, size_t)
    cdef cppclass Value:
        Value()
        cbool allocate(const hr_tensor&, const Memory*)
        void take(Value&)
        cbool empty()
        void reset()
        hr_tensor tensor
        const Memory* memory
        cbool exclusive

cdef extern from "native/tensor_payload.hpp" namespace "headrace::distributed" nogil:
    bint is_sendable(hr_dtype)
