"""A program that is one segment: fed, run on its tape, fetched."""

from headrace.runtime.state.context cimport Run

# Raises what a run recorded.
cdef object run_error(Run* run)
