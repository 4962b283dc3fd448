"""The last walk: a segment's steps as entries of the kernel schedule."""

from headrace.runtime.plan.segment_draft cimport SegmentDraft

# Takes the draft's tensors and arguments.
cdef int write_schedule(SegmentDraft draft) except -1
