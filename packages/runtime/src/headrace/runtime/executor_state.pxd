"""What one dynamic step keeps while it runs (executor_state.hpp)."""

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.runtime.buffer cimport OwnedTensor
from headrace.runtime.context cimport Run
from headrace.runtime.executable cimport Executable
from headrace.runtime.kernel_abi cimport hr_buffer, hr_code, hr_tensor
from headrace.runtime.threads cimport ActiveRun, InterOpPool
from headrace.runtime.trace cimport TraceRecord


cdef extern from "executor_state.hpp" namespace "headrace" nogil:
    cdef cppclass StepLock:
        void lock()
        void unlock()
        void let_others()

    cdef cppclass Condition "std::condition_variable":
        void notify_all()

    cdef struct UnitState:
        int32_t pending
        int32_t dead
        int32_t merged

    cdef cppclass Iteration:
        FrameRun* frame
        int64_t number
        int32_t outstanding
        FrameRun* children
        UnitState* units
        hr_tensor* slots

    cdef cppclass Held:
        int32_t unit
        int32_t port
        OwnedTensor value
        cbool dead

    cdef cppclass FrameRun:
        FrameRun() except +
        int32_t number
        FrameRun* sibling
        Iteration* parent
        int32_t enters_left
        cbool dead
        int64_t oldest
        int64_t next_number
        vector[Iteration*] live
        vector[Held] constants
        vector[Held] deferred

    cdef cppclass Ready:
        int32_t unit
        Iteration* iteration

    ctypedef void (*ReceivedDone)(void*, hr_code, const char*, const hr_tensor*,
                                  int32_t) noexcept nogil

    cdef cppclass LocalRendezvous:
        hr_code send(const char* key, const hr_tensor* value, int32_t dead)
        void recv(const char* key, ReceivedDone done, void* argument)
        void abort(hr_code code, const char* message)

    cdef cppclass ExecutionState:
        ExecutionState() except +
        Run run
        Run wide
        void* plan
        void* errors
        int32_t team
        shared_ptr[InterOpPool] pool
        cbool takes_long
        ActiveRun active
        StepLock lock
        Condition changed
        vector[Ready] light
        vector[Ready] heavy
        int32_t outstanding
        int32_t helpers
        int32_t waiting
        cbool failed
        FrameRun root
        Iteration* root_iteration
        vector[vector[Iteration*]] pools
        vector[OwnedTensor] fetched
        vector[int32_t] fetch_state
        LocalRendezvous rendezvous
        cbool traced
        vector[TraceRecord] records
        vector[shared_ptr[Executable]] named

    # Keeps a value for later; null: a dead one.
    void hold(vector[Held]& held, int32_t unit, int32_t port, const hr_tensor* counted)
    void wait_for_change(ExecutionState* state)
    Iteration* allocate_iteration(int32_t n_units, int32_t n_slots)
