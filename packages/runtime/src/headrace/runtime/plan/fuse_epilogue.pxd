"""Lets a convolution add the bias and apply the activation that follow it."""

from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_draft cimport SegmentDraft


cdef int fuse_epilogues(SegmentDraft draft, Segments segments, Segment segment) except -1
