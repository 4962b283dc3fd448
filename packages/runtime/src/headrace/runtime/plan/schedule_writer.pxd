"""The last stage: a segment's steps become entries of the kernel schedule."""

from headrace.runtime.plan.segment_builder cimport SegmentBuilder

# Writes the entries from the builder's steps.
cdef int write_schedule(SegmentBuilder builder) except -1
