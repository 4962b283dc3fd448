"""Fuses a convolution or a matrix product with the bias and the activation that follow it."""

from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder


cdef int fuse_epilogues(SegmentBuilder builder, Segments segments, Segment segment) except -1
