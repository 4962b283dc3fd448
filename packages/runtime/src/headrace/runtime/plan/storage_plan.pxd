"""Who owns the memory of each value of a segment."""

from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder

# Elides steps whose outputs have no reader, for example because only a shape was needed.
cdef void drop_unused(SegmentBuilder builder, Segments segments, Segment segment) noexcept
# Decides the storage of every tensor, the size of the arena and the outputs.
cdef int plan_storage(SegmentBuilder builder, Segments segments, Segment segment,
                      bint copy_small) except -1
