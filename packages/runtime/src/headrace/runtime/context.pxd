"""One execution of a step (run.hpp), and the function table that kernels call through."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.kernel_abi cimport (
    hr_code, hr_ctx, hr_ctx_api, hr_dtype, hr_object, hr_tensor,
)


cdef extern from "run.hpp" namespace "headrace" nogil:
    cdef cppclass SessionState:
        SessionState() except +

    cdef cppclass Run:
        Run() except +
        hr_ctx ctx
        int32_t cancelled
        SessionState* session
        hr_code code
        void* failed
        int64_t deadline_ns
        char* message

    hr_code run_fail_text(Run* run, hr_code code, const char* text)
    void run_cancel(Run* run)
    hr_code session_lookup(SessionState* session, const char* container, const char* name,
                           const char* kind, hr_object* (*make)(void*) noexcept nogil,
                           void* argument, hr_object** object, string* error)
    void session_clear(SessionState* session, const vector[string]& containers)
    int64_t next_step "headrace::next_step"(SessionState* session)

    cdef cppclass Mutex "std::mutex":
        void lock()
        void unlock()

    cdef cppclass Slot:
        Slot() except +
        hr_object object
        Mutex lock
        hr_tensor value
        cbool initialised
        int64_t version
        hr_dtype dtype
        string name


# Readies a run for kernels; `threads` of the team may be used.
cdef void run_begin(Run* run, SessionState* session, int threads) noexcept nogil

# The slot behind a reference or a resource scalar; null if it is neither.
cdef Slot* slot_of(const hr_tensor* ref) noexcept nogil
cdef Slot* slot_new(hr_dtype dtype, const char* name) noexcept nogil
# A pinned value: the caller releases value.owner. FAILED_PRECONDITION: uninitialised.
cdef hr_code slot_pin(Slot* slot, hr_tensor* value) noexcept nogil
cdef hr_code slot_set(Slot* slot, const hr_tensor* value) noexcept nogil
