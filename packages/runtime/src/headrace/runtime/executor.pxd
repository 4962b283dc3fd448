"""The dynamic executor: one run of an ExecutorPlan."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.executor_plan cimport ExecutorPlan
from headrace.runtime.step cimport SessionOwner


cdef class Execution:
    """One dynamic step, from its first unit until nothing of it is outstanding."""
    cdef void* state            # executor_state.hpp's; freed with this
    cdef ExecutorPlan plan
    cdef SessionOwner owner
    cdef list errors            # Python exceptions; the first one ends the step
    cdef list kept              # arrays that feeds borrow
    cdef object __weakref__

    cdef int feed(self, int number, object value) except -1
    # Runs until nothing is ready. True: the step is over, or every wanted fetch is there.
    cdef bint advance(self, vector[int32_t]& wanted, double deadline) except -1
    cdef object fetch(self, int number)
    cdef bint has_fetch(self, int number) noexcept
    cdef bytes metadata(self)   # RunMetadata of a traced step
