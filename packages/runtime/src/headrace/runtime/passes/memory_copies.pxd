"""Where each value is, and the copies between host and device memory."""

from libc.stdint cimport int32_t

from headrace.runtime.passes.graph_ir cimport GraphIR


# A value in host memory; otherwise the number of the device whose memory it is in.
cdef enum:
    ON_HOST = -1

# The memory that a node's output is in.
cdef int32_t memory_given(GraphIR ir, int32_t node, int32_t port) noexcept nogil
# Whether a node of a device with memory of its own computes on the host.
cdef bint computes_on_host(GraphIR ir, int32_t node) noexcept nogil
# Inserts copies where a node takes a value from another memory than it is in.
cdef int insert_copies(GraphIR ir) except -1
