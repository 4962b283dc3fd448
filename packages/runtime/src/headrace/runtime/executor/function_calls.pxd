"""Functions of the graph's library as kernels call them."""

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.runtime.executor.executor_plan cimport ExecutorPlan
from headrace.runtime.memory.kernel_abi cimport hr_object
from headrace.runtime.memory.relaxed cimport Relaxed
from headrace.runtime.passes.program cimport Program
from headrace.runtime.plan.segment_runner cimport SegmentRunner
from headrace.runtime.state.session_owner cimport SessionFunctions, SessionOwner, hr_function


cdef class CompiledFunction:
    """A function's body as a program: its parameters are the feeds, its results the fetches."""
    cdef SessionOwner owner
    cdef readonly Program program
    cdef readonly SegmentRunner runner   # None: it runs on the dynamic executor
    cdef readonly ExecutorPlan plan      # None: it is one kernel schedule, or has no nodes
    cdef vector[int32_t] input_of        # per input of the segment: the parameter
    cdef vector[int32_t] output_of       # per result: its output value; -1 - parameter
    cdef Relaxed[int64_t] took_ns        # of the last call; 0: none has been measured
    # The fields above, for code without the GIL.
    cdef void* owner_pointer
    cdef void* runner_pointer
    cdef void* plan_pointer
    cdef readonly bint waits             # may wait for something other than the processor
    cdef bint calls_python(self)


# A handle of a function, which owns `compiled` until the session ends.
cdef hr_function* new_function(CompiledFunction compiled, bytes key, bytes name, list inputs,
                               list outputs, bint draws) except NULL
# What owns `compiled`.
cdef shared_ptr[void] body_pointer(object compiled)
# Drops the bodies that belong to iterators alone, once these have ended.
cdef void drop_bodies_of_scopes(SessionFunctions* session) noexcept nogil
# Ends all calls and scopes of a session's functions, and waits for their threads. Without the GIL.
cdef void close_session_functions(SessionFunctions* session, const char* why,
                                  cbool wait) noexcept nogil
# Ends all calls and scopes.
cdef void end_session_scopes(SessionFunctions* session, const char* why) noexcept nogil
# Ends them except for the iterators of a shared state. False: it has none.
cdef cbool leave_session_functions(SessionFunctions* session, const char* why) noexcept nogil
# Ends the scopes of objects that a reset has removed.
cdef void end_scopes_of_objects(SessionFunctions* session, const vector[hr_object*]& objects,
                                const char* why) noexcept nogil
