"""headrace/worker.h for Cython."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from headrace.runtime.memory.kernel_abi cimport hr_buffer, hr_code, hr_string, hr_tensor


cdef extern from "headrace/worker.h" nogil:
    const char* HR_WORKER_CAPSULE
    const char* HR_RENDEZVOUS_CAPSULE
    const int HR_WORKER_ABI
    enum:
        HR_RUN_HERE, HR_RUN_TRACED

    ctypedef struct hr_edge_key:
        int64_t edge
        uint64_t frame
        int64_t iteration

    ctypedef void (*hr_received)(void*, hr_code, const char*, hr_tensor*, int32_t) noexcept nogil

    ctypedef struct hr_rendezvous:
        uint32_t size
        hr_code (*send)(hr_rendezvous*, const hr_edge_key*, const hr_tensor*,
                        int32_t) noexcept nogil
        void (*recv)(hr_rendezvous*, const hr_edge_key*, hr_received, void*) noexcept nogil
        void (*abort)(hr_rendezvous*, hr_code, const char*) noexcept nogil

    ctypedef void (*hr_run_done)(void*, hr_code, const char*, const char*, const char*,
                                 size_t) noexcept nogil

    ctypedef struct hr_worker:
        uint32_t size
        uint32_t abi
        void (*run)(hr_worker*, int64_t, int64_t, uint32_t, hr_rendezvous*, hr_run_done,
                    void*) noexcept nogil
        void (*cancel)(hr_worker*, int64_t, hr_code, const char*) noexcept nogil
        void (*begin_deliveries)() noexcept nogil
        void (*end_deliveries)() noexcept nogil
        hr_code (*allocate)(hr_tensor*) noexcept nogil
        void (*retain)(hr_buffer*) noexcept nogil
        void (*release)(hr_buffer*) noexcept nogil
        hr_code (*set_string)(hr_string*, const char*, size_t) noexcept nogil
        hr_buffer* (*wrap)(void*, int64_t, void (*)(void*) noexcept nogil, void*) noexcept nogil
