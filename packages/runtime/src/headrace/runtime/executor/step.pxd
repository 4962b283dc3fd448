"""The part of a step that does not depend on how it runs."""

from headrace.runtime.passes.program cimport Program
from headrace.runtime.state.context cimport Run
from headrace.runtime.state.session_owner cimport SessionOwner


cdef class Step:
    cdef SessionOwner owner
    cdef readonly Program program

    # Runs the step once.
    #   values: one per feed.
    #   timeout: in seconds; 0: none.
    #   trace: gets the RunMetadata message of the run; None: the run is not traced.
    #   pool: number of the inter-op pool in ConfigProto.
    cdef list execute(self, values, double timeout, list trace, int pool)
    # Raises an error where the number of values differs from that of the feeds.
    cdef int check_count(self, values) except -1


# The error that a run recorded, as an exception.
cdef object run_error(Run* run)
# Adds an exception to a Python list, for the thread that called the step; null: makes it the run's
# error. program: has the node that the exception may name; None: it names none.
cdef void keep_error(Run* run, void* exceptions, object error, Program program) noexcept
