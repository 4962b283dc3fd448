"""The dynamic executor: one run of an ExecutorPlan."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.executor.executor_state cimport ExecutionState
from headrace.runtime.state.session_owner cimport SessionOwner


# How far drive_execution came.
cdef enum Driven:
    PARKED       # nothing was ready; it may already be over or gone
    OVER
    FOR_POOL     # only heavy units are ready, and the state is `light_only`: a pool goes on

# Begins an execution in a new state: owner is a SessionOwner, plan an ExecutorPlan. False: out of
# memory.
cdef bint begin_execution(ExecutionState* state, void* owner_pointer, void* plan_pointer,
                          bint traced) noexcept nogil
# Runs the ready units of an execution that has `resume` and no thread of its own.
cdef Driven drive_execution(ExecutionState* state, ExecutorPlan plan) noexcept nogil

cdef class Execution:
    """One run of a dynamic step, from its first unit until nothing is outstanding."""
    cdef void* state            # ExecutionState of executor_state.hpp, owned
    cdef ExecutorPlan plan
    cdef SessionOwner owner
    cdef list errors            # Python exceptions; the first one ends the step
    cdef list kept              # arrays that feeds borrow
    cdef object __weakref__

    cdef int feed(self, int number, object value) except -1
    # Runs until nothing is ready. True: the step is over, or all of `fetches` are available.
    # deadline_ns: on the steady clock; 0: none.
    cdef bint advance(self, vector[int32_t]& fetches, int64_t deadline_ns) except -1
    cdef object fetch(self, int number)
    cdef int take_pool(self, int number) except -1   # RunOptions.inter_op_thread_pool
    cdef bint has_fetch(self, int number) noexcept
    cdef bytes metadata(self)   # RunMetadata of a traced step
