"""The last walk: a segment's steps as entries of the kernel schedule."""

from headrace.runtime.plan.segment_builder cimport SegmentBuilder

# Takes the builder's tensors and arguments.
cdef int write_schedule(SegmentBuilder builder) except -1
