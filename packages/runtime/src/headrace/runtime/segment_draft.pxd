"""A segment on its way to a tape: what the walks of specialisation.pyx share."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from headrace.runtime.context cimport SessionState, Slot
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport hr_buffer, hr_code, hr_compute, hr_kernel, hr_tensor
from headrace.runtime.program cimport Program
from headrace.runtime.tape cimport Tape


cdef struct Leaving:
    int32_t tensor
    int32_t root        # whose memory it is
    uint8_t handed_over # alone on memory that a run makes: may be taken, not copied


cdef struct KernelPlan:
    void* plan
    void (*destroy)(void*) noexcept nogil


cdef struct ShapeGuard:
    Slot* slot
    hr_tensor shape


# One node of the segment.
cdef struct Step:
    GraphNode* node
    const hr_kernel* kernel
    hr_compute compute
    void* plan
    int64_t workspace
    int32_t first_input, n_inputs, first_output, n_outputs   # into SegmentDraft.arguments
    bint elided          # its outputs are known, or nobody reads them, or another computes them
    bint by_kernel       # allocates its outputs
    bint view
    bint writes


cdef class SegmentDraft:
    cdef Program program
    cdef SessionState* session
    cdef int threads
    cdef vector[hr_tensor] tensors      # reserved: pointers into it stay
    cdef vector[int32_t] root           # whose memory a tensor is; itself, unless a view
    cdef vector[int32_t] first
    cdef vector[int32_t] last
    cdef vector[uint8_t] storage
    cdef vector[uint8_t] escapes
    cdef vector[int32_t] local_of       # program value -> tensor
    cdef vector[int32_t] arguments
    cdef vector[Step] steps
    # What the specialisation takes over.
    cdef Tape tape
    cdef vector[hr_tensor] entering
    cdef vector[int32_t] entering_tensor
    cdef vector[Leaving] leaving
    cdef vector[hr_buffer*] constants
    cdef vector[KernelPlan] plans
    cdef vector[ShapeGuard] guards
    cdef vector[GraphNode*] nodes       # that a walk has added
    cdef double flops
    cdef double bytes_moved
    cdef int64_t intermediate_bytes
    cdef int folded
    cdef int fused

    cdef int add_tensor(self, hr_tensor* t, int storage) except -1


cdef inline bint is_stateful(GraphNode* node) noexcept nogil:
    # Nodes that passes add, reads of variables above all, carry no entry of the catalogue.
    return node.info == NULL or node.info.stateful

# Makes the kernel's state at first use; raises what `create` refuses.
cdef int ensure_state(GraphNode* node, const hr_kernel* kernel, SessionState* session) except -1
# The error that create or prepare left on a node.
cdef object node_error(GraphNode* node, hr_code code)
