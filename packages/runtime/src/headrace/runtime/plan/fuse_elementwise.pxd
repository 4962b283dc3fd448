"""Fuses elementwise steps into one pass over memory."""

from libc.stdint cimport int32_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_kernel, hr_tensor
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.segment_builder cimport SegmentBuilder, Step

# Replaces each group of elementwise steps by one _FusedElementwise, if a library has it.
cdef int fuse_elementwise(SegmentBuilder builder, Segments segments, Segment segment) except -1

# Replaces the steps of a group by one fused node, in the place of the step `root`; False: no kernel
# accepts it, and nothing changed.
cdef bint replace_group(SegmentBuilder builder, vector[int32_t]& group, int32_t root,
                        shared_ptr[GraphNode] node, vector[int32_t]& inputs) except -1

# Prepares `node` for these inputs and replaces `root` by it; False: the kernel does not accept
# them. second: receives the shape of a second output, if there is one.
cdef bint prepare_fused(SegmentBuilder builder, Step* root, GraphNode* node, const hr_kernel* kernel,
                        vector[int32_t]& inputs, hr_tensor* second=*) except -1
