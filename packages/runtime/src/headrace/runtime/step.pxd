"""A program that is one segment: fed, run on its tape, fetched."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from headrace.runtime.context cimport Run, SessionState
from headrace.runtime.kernel_abi cimport hr_dtype, hr_tensor
from headrace.runtime.program cimport Program
from headrace.runtime.segment_runner cimport SegmentRunner


cdef class SessionOwner:
    """A session's resources, kept alive by its steps, and whether it may still run."""
    cdef SessionState* state
    cdef bint closed
    cdef int generation          # of forks, when it was made
    cdef readonly int team
    cdef int check(self) except -1

# Raises what a run recorded.
cdef object run_error(Run* run)
