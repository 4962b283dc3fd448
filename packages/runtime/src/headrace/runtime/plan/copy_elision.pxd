"""Finds steps that would copy their input unchanged."""

from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step

# Whether a prepared step's output 0 is its input 0, under another shape at most.
cdef bint copies_input(SegmentBuilder builder, const Step* step) except -1
