"""The state of a dynamic step while it runs (executor_state.hpp)."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.state.context cimport Run
from headrace.runtime.plan.executable cimport Executable
from headrace.runtime.memory.kernel_abi cimport hr_buffer, hr_code, hr_device, hr_tensor
from headrace.runtime.memory.worker_abi cimport hr_rendezvous
from headrace.runtime.threads.pools cimport ActiveRun, InterOpPool
from headrace.runtime.executor.trace cimport DeviceTrace, TraceRecord


cdef extern from "state/rendezvous.hpp" namespace "headrace" nogil:
    uint64_t name_number(const char* data, size_t size)
    uint64_t frame_number(uint64_t parent, int64_t iteration, uint64_t name)

cdef extern from "executor/executor_state.hpp" namespace "headrace" nogil:
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
        unique_ptr[FrameRun] children
        UnitState* units
        OwnedTensor* slots

    cdef cppclass Held:
        int32_t unit
        int32_t port
        OwnedTensor value
        cbool dead

    cdef cppclass FrameRun:
        FrameRun() except +
        int32_t number
        uint64_t key
        unique_ptr[FrameRun] sibling
        Iteration* parent
        int32_t enters_left
        cbool dead
        int64_t oldest
        int64_t next_number
        vector[unique_ptr[Iteration]] live
        vector[Held] constants
        vector[Held] deferred

    cdef cppclass Ready:
        int32_t unit
        Iteration* iteration

    cdef cppclass LocalRendezvous:
        void abort(hr_code code, const char* message)

    cdef enum:
        AWAITED "headrace::ExecutionState::AWAITED"
        BUSY "headrace::ExecutionState::BUSY"

    cdef cppclass ExecutionState
    cdef cppclass DeviceWork:
        ExecutionState* state
        hr_device* device
        int64_t kernels
        int32_t notices
        int64_t per_notice
        int64_t asked_ns
        void (*poll)(void*) noexcept nogil
        void* poll_argument
        cbool listed

    cdef cppclass ExecutionState:
        ExecutionState(size_t n_frames, size_t n_fetches) except +
        Run run
        Run wide
        vector[unique_ptr[Run]] on_devices
        vector[DeviceWork] work
        vector[char] busy
        void* plan
        void* errors
        int32_t intra_op_threads
        shared_ptr[InterOpPool] pool
        cbool takes_long
        ActiveRun active
        StepLock lock
        Condition changed
        vector[Ready] light
        vector[Ready] heavy
        int32_t outstanding
        int32_t pool_tasks
        int32_t waiting
        cbool parked
        void (*resume)(void*) noexcept nogil
        void* resume_argument
        cbool failed
        cbool partial
        FrameRun root
        Iteration* root_iteration
        vector[vector[unique_ptr[Iteration]]] pools
        vector[OwnedTensor] fetched
        vector[int32_t] fetch_state
        LocalRendezvous rendezvous
        hr_rendezvous* between_tasks
        cbool light_only
        cbool traced
        vector[TraceRecord] records
        unique_ptr[DeviceTrace] device_trace
        vector[shared_ptr[Executable]] named

    # Keeps a value for a later iteration; null: a dead one. False: out of memory.
    cbool hold(vector[Held]& held, int32_t unit, int32_t port, OwnedTensor* value)
    cbool add_device_runs(ExecutionState* state, size_t n)
    void wait_for_change(ExecutionState* state, bint handles_signals)
    # Wakes the driver of a step; called with the lock.
    void wake(ExecutionState* state)
    # Null: out of memory.
    FrameRun* add_child(Iteration* parent)
    void remove_child(Iteration* parent, FrameRun* child)
    Iteration* add_iteration(ExecutionState* state, FrameRun* frame, int32_t n_units,
                             int32_t n_slots)
    void end_oldest(ExecutionState* state, FrameRun* frame, int32_t n_units)
    # Keeps an executable whose nodes an error or a trace names.
    void keep_named(ExecutionState* state, const shared_ptr[Executable]& executable)
