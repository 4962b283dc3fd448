"""Fed values as tensors that match their placeholders."""

from libc.stdint cimport int32_t

from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.memory.kernel_abi cimport hr_dtype
from headrace.runtime.passes.program cimport Program
from headrace.runtime.graph.session_graph cimport SessionGraph


# Stores the shapes that a program's placeholders declare, in a GraphDef of that producer version.
cdef int note_feed_shapes(Program program, int producer) except -1

# The tensor of a fed value; the object returned keeps its memory alive.
cdef object fed_tensor(Program program, int32_t feed, object value, hr_dtype dtype,
                       OwnedTensor* fed)

# (full name, DataType, shape) of a tensor of the graph; a size is None for any, the shape None for
# any rank.
cdef tuple tensor_spec(SessionGraph graph, str name)
