# cython: language_level=3
"""The state that the stages of specialisation.pyx share while they plan a segment."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.formats.fork_lock import ForkLock
from headrace.runtime.state.context cimport SessionState
from headrace.runtime.state.error_boundary cimport call_create, call_prepare
from headrace.runtime.threads.pools cimport begin_prepare, end_prepare
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, hr_code, hr_device, hr_kernel, hr_request, hr_tensor,
)
from headrace.runtime.graph.node_text cimport node_label

cdef extern from "graph/input_ranks.hpp" namespace "headrace" nogil:
    hr_code check_input_ranks(GraphNode* node, const hr_request* request)

_creating = ForkLock()


cdef class SegmentBuilder:
    def __cinit__(self):
        self.ends_at = -1

    cdef int add_tensor(self, hr_tensor* t, int storage) except -1:
        self.tensors.push_back(t[0])
        self.root.push_back(<int32_t>self.tensors.size() - 1)
        self.first.push_back(-1)
        self.last.push_back(-1)
        self.storage.push_back(storage)
        self.escapes.push_back(0)
        self.on_host.push_back(1)
        self.session_constant.push_back(0)
        return <int>self.tensors.size() - 1

    cdef void clear(self) noexcept:
        self.program = None
        self.session = NULL
        self.cache = NULL
        self.tensors.clear()
        self.root.clear()
        self.first.clear()
        self.last.clear()
        self.storage.clear()
        self.escapes.clear()
        self.on_host.clear()
        self.memory = NULL
        self.session_constant.clear()
        self.arguments.clear()
        self.steps.clear()
        self.executable.reset()
        self.out = NULL
        self.slots.clear()
        self.ends_at = -1


cdef SegmentBuilder _spare = None   # accessed under the GIL
cdef size_t MOST_SPARE_TENSORS = 1 << 14


cdef SegmentBuilder take_builder():
    global _spare
    cdef SegmentBuilder builder = _spare
    _spare = None
    return builder if builder is not None else SegmentBuilder()


cdef void give_builder(SegmentBuilder builder) noexcept:
    global _spare
    builder.clear()
    if builder.tensors.capacity() <= MOST_SPARE_TENSORS:
        _spare = builder


cdef int ensure_state(GraphNode* node, const hr_kernel* kernel, SessionState* session,
                      void** state) except -1:
    cdef hr_code code = HR_OK
    cdef bint is_first
    state[0] = NULL
    if node.find_state(kernel, state):
        return 0
    with _creating.current:
        if node.find_state(kernel, state):
            return 0
        # After a reset other threads may read both, which are then the same as before.
        if node.session != session:
            node.session = session
        if node.kernel == NULL:
            node.kernel = kernel
        is_first = node.kernel == kernel
        node.creating = kernel
        if kernel.create != NULL:
            with nogil:
                code = call_create(kernel, &node.abi_node, state)
            if code != HR_OK:
                state[0] = NULL
                PyErr_CheckSignals()   # a Python kernel may have received one
                raise node_error(node, code)
        if is_first:
            node.state.store(state[0])
            node.created.store(True)
        else:
            node.add_other(kernel, state[0])
    return 0


cdef hr_code prepare_kernel(GraphNode* node, const hr_kernel* kernel, void* state,
                            const vector[const hr_tensor*]& inputs, hr_tensor** outputs,
                            int threads, uint64_t private_layout, hr_device* device,
                            PreparedNode* prepared) except? -1:
    cdef hr_request request
    cdef hr_code code
    memset(&request, 0, sizeof(hr_request))
    request.size = sizeof(hr_request)
    request.node = &node.abi_node
    request.inputs = inputs.data()
    request.outputs = outputs
    request.threads = threads
    request.private_layout = private_layout
    request.device = device
    with nogil:
        begin_prepare()
        code = check_input_ranks(node, &request)
        if code == HR_OK:
            code = call_prepare(kernel, state, &request)
        end_prepare()
    prepared.plan = request.plan
    prepared.destroy = request.destroy_plan
    prepared.compute = request.compute if request.compute != NULL else kernel.compute
    prepared.workspace = <int64_t>request.workspace
    prepared.flops = request.flops
    prepared.bytes_moved = request.bytes_moved
    prepared.shape_depends_on_data = request.shape_depends_on_data != 0
    return code


cdef object node_error(GraphNode* node, hr_code code):
    """The error that create or prepare stored in a node."""
    text = (<bytes>node.error.take()).decode(errors="replace")
    name = (<bytes>node.name).decode(errors="replace")
    return errors.from_code(code, f"{node_label(node)}: {text}", name)
