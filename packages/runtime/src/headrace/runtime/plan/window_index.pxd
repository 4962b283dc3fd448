"""Lets MaxPool keep where each window's maximum was, for its gradient."""

from headrace.runtime.plan.segment_builder cimport SegmentBuilder

# Replaces MaxPool and the MaxPoolGrads that belong to it, where a library has both ops for it.
cdef int keep_window_indices(SegmentBuilder builder) except -1
