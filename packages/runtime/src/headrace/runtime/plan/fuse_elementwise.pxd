"""Makes one pass over memory of several elementwise steps."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_kernel, hr_tensor
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step

# Replaces groups of elementwise steps by one _FusedElementwise each, where a library has it.
cdef int fuse_elementwise(SegmentBuilder builder, Segments segments, Segment segment) except -1

# Prepares `node` for these inputs and puts it in root's place; False: it does not take them.
# second: where the kernel enters the shape of a further output, if it has one.
cdef bint prepare_fused(SegmentBuilder builder, Step* root, GraphNode* node, const hr_kernel* kernel,
                        vector[int32_t]& inputs, hr_tensor* second=*) except -1
