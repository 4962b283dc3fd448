"""Makes one pass over memory of several elementwise steps."""

from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.segment_draft cimport SegmentDraft

# Replaces groups of elementwise steps by one _FusedElementwise each, where a library has it.
cdef int fuse_elementwise(SegmentDraft draft, Segments segments, Segment segment) except -1
