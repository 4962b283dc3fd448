# cython: language_level=3
"""A segment on its way to an executable: what the walks of specialisation.pyx share."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.formats.fork_lock import ForkLock
from headrace.runtime.state.context cimport SessionState
from headrace.runtime.state.error_boundary cimport call_create
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_OK, hr_code, hr_kernel, hr_tensor
from headrace.runtime.graph.node_text cimport node_label

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
        self.lasting.push_back(0)
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
        self.lasting.clear()
        self.arguments.clear()
        self.steps.clear()
        self.made.reset()
        self.out = NULL
        self.slots.clear()
        self.ends_at = -1


cdef SegmentBuilder _spare = None   # touched under the GIL
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
    state[0] = NULL
    if node.created.load():
        state[0] = node.state.load()
        return 0
    with _creating.current:
        if node.created.load():
            state[0] = node.state.load()
            return 0
        # After a reset other threads read both: they are the same then, and stay as they are.
        if node.session != session:
            node.session = session
        if node.kernel != kernel:
            node.kernel = kernel
        if kernel.create != NULL:
            with nogil:
                code = call_create(kernel, &node.face, state)
            if code != HR_OK:
                state[0] = NULL
                PyErr_CheckSignals()   # a Python kernel may have met one
                raise node_error(node, code)
        node.state.store(state[0])
        node.created.store(True)
    return 0


cdef object node_error(GraphNode* node, hr_code code):
    """The error that create or prepare left on a node."""
    text = (<bytes>node.error.take()).decode(errors="replace")
    name = (<bytes>node.name).decode(errors="replace")
    return errors.from_code(code, f"{node_label(node)}: {text}", name)
