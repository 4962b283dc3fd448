"""The state that the stages of specialisation.pyx share while they plan a segment."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.state.context cimport SessionState
from headrace.runtime.plan.executable cimport Executable, PreparedNode, SlotShapes
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    hr_code, hr_compute, hr_device, hr_kernel, hr_tensor,
)
from headrace.runtime.passes.program cimport Program


cdef extern from "plan/prepared_nodes.hpp" namespace "headrace" nogil:
    cdef cppclass PreparedNodes:
        PreparedNodes() except +
        shared_ptr[const PreparedNode] find(int32_t node, const string& key) except +
        void keep(int32_t node, const string& key,
                  const shared_ptr[const PreparedNode]& prepared) except +
        const vector[hr_tensor]* find_session_constant(int32_t node)
        void keep_session_constant(int32_t node, const vector[hr_tensor*]& outputs) except +
        shared_ptr[GraphNode] find_fused(const string& text) except +
        void keep_fused(const string& text, const shared_ptr[GraphNode]& node) except +

    bint prepare_key(const vector[const hr_tensor*]& inputs, const vector[uint8_t]& session_constant,
                     int32_t threads, unsigned long long private_layout, string* key) except +


# One node of the segment.
cdef struct Step:
    GraphNode* node
    const hr_kernel* kernel
    void* state
    hr_compute compute
    void* plan
    int64_t workspace
    int32_t first_input, n_inputs, first_output, n_outputs   # into SegmentBuilder.arguments
    bint elided          # its outputs are constant, unread, or computed by another step
    bint by_kernel       # allocates its outputs
    bint view
    bint writes
    bint on_host         # it computes on the host, in a segment of a device with memory of its own


# Builders are reused (take_builder, give_builder), since planning otherwise allocates about twenty
# arrays, some of them large.
cdef class SegmentBuilder:
    cdef Program program
    cdef SessionState* session
    cdef PreparedNodes* cache           # of the segment's runner
    cdef int threads
    cdef vector[hr_tensor] tensors      # reserved: pointers into it stay
    cdef vector[int32_t] root           # the tensor that owns the memory; a tensor itself, unless it is a view
    cdef vector[int32_t] first
    cdef vector[int32_t] last
    cdef vector[uint8_t] storage
    cdef vector[uint8_t] escapes
    cdef hr_device* memory              # the segment's device has memory of its own; null: the host's
    cdef vector[uint8_t] on_host        # the value is in host memory
    cdef vector[uint8_t] session_constant        # its address is constant as long as its node lives
    cdef vector[int32_t] local_of       # program value -> tensor
    cdef vector[int32_t] arguments
    cdef vector[Step] steps
    cdef shared_ptr[Executable] executable
    cdef Executable* out                # the same
    cdef vector[uint8_t] consumed       # per program value: whether a node of the segment reads it
    # Of the node that is being prepared; members, so that they are allocated once.
    cdef vector[const hr_tensor*] node_inputs
    cdef vector[hr_tensor*] node_outputs
    cdef vector[uint8_t] node_session_constants
    cdef string node_key
    cdef SlotShapes slots               # shapes of variables at this point of the plan
    cdef int32_t ends_at                # the step in which every run ends, with an error; -1: none

    cdef int add_tensor(self, hr_tensor* t, int storage) except -1
    cdef void clear(self) noexcept


cdef SegmentBuilder take_builder()
cdef void give_builder(SegmentBuilder builder) noexcept


cdef inline bint is_stateful(GraphNode* node) noexcept nogil:
    # Nodes that passes add, such as reads of variables, have no entry of the catalogue.
    return node.info == NULL or node.info.stateful

# The state of a node's kernel, made at first use; raises the error of `create`. A caller that needs
# it twice keeps it: after a reset the node gets another one.
cdef int ensure_state(GraphNode* node, const hr_kernel* kernel, SessionState* session,
                      void** state) except -1
# Calls a kernel's `prepare` for inputs of these shapes; `device`: where it will compute, or null. `prepared` owns the plan, also on an error.
cdef hr_code prepare_kernel(GraphNode* node, const hr_kernel* kernel, void* state,
                            const vector[const hr_tensor*]& inputs, hr_tensor** outputs,
                            int threads, uint64_t private_layout, hr_device* device,
                            PreparedNode* prepared) except? -1
# The error that create or prepare stored in a node.
cdef object node_error(GraphNode* node, hr_code code)
