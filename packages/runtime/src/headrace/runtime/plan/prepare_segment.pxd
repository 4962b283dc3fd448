"""The first stage of a specialisation: every kernel's `prepare` is called for the shapes at hand."""

from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder


# Adds the segment's inputs to the builder's tensors. Inputs whose values are part of the
# executable's key are copied.
cdef int add_inputs(SegmentBuilder builder, Segments segments, Segment segment,
                    const hr_tensor* inputs) except -1
# Adds a step for each node: shapes, plan and workspace from the kernel's `prepare`; what is known
# is folded.
cdef int prepare_segment(SegmentBuilder builder, Segments segments, Segment segment) except -1
cdef str shape_text(const hr_tensor* t)
