"""The last walk: a segment's steps as entries of a tape."""

from headrace.runtime.segment_draft cimport SegmentDraft

# Takes the draft's tensors and arguments.
cdef int write_tape(SegmentDraft draft) except -1
