"""Makes MaxPool keep the position of each window's maximum for its gradient."""

from headrace.runtime.plan.segment_builder cimport SegmentBuilder

# Replaces MaxPool and its MaxPoolGrads, if a library has both ops for it.
cdef int keep_window_indices(SegmentBuilder builder) except -1
