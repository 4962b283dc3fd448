"""Which nodes must share a device."""

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.passes.graph_ir cimport GraphIR


cdef enum Bond:
    NO_BOND
    REFERENCE      # what passes between them is a reference or a handle
    SAME_CLASS     # attribute _class: loc:@NAME
    SAME_LOOP      # the control flow nodes of one loop variable


# The groups of a graph: sets of nodes with one root each.
cdef class Colocation:
    cdef vector[int32_t] parent
    cdef vector[int32_t] partner    # per node: the node that it was joined with first; -1: none
    cdef vector[uint8_t] bond       # and by what

    # may_accelerate: per node, whether it may be on a device with memory of its own.
    cdef int find(self, GraphIR ir, const vector[uint8_t]& may_accelerate) except -1 nogil
    cdef int32_t root(self, int32_t i) noexcept nogil
    cdef void join(self, int32_t a, int32_t b, Bond bond) noexcept nogil
    cdef int keep_loop_variables_together(self, GraphIR ir, int32_t i) except -1 nogil


# Whether a node makes a reference or handle, instead of passing one on.
cdef bint makes_state(GraphIR ir, int32_t i) noexcept nogil
