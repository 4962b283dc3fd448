"""Offsets in one arena for values whose lifetimes are known."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector


cdef struct Lifetime:
    int64_t bytes
    int32_t first, last   # steps, inclusive; last < first: never read
    int64_t offset        # the result

# Lifetimes come sorted by `first`. Returns the arena's size.
cdef int64_t plan_memory(vector[Lifetime]& lifetimes) except -1
