"""Who owns the memory of each value of a segment."""

from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder

# Elides what nobody reads any more, such as a value of which only the shape was asked.
cdef void drop_unused(SegmentBuilder builder, Segments segments, Segment segment) noexcept
# Decides the storage of every tensor, the arena's size and what leaves.
cdef int plan_storage(SegmentBuilder builder, Segments segments, Segment segment,
                      bint copy_small) except -1
