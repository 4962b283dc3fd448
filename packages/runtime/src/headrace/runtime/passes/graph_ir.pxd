"""The intermediate representation that passes transform: the nodes that a program runs.

The edges of all nodes are lists in two shared arrays; a pass that extends a list moves it to the
end of the array. Node numbers are indices into `nodes`; `removed` nodes are no longer part of it.
"""

from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport OpEntry
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF, hr_device, hr_dtype, hr_kernel
from headrace.runtime.graph.node_kind cimport NodeKind


cdef struct IRNode:
    GraphNode* source
    OpEntry* entry           # null for nodes that passes add, and feeds
    const hr_kernel* kernel
    NodeKind kind
    cbool removed
    int32_t device
    int32_t rank             # its order among nodes of equal priority: usually its number in the graph
    int32_t first_input, n_inputs
    int32_t first_control, n_controls
    int32_t n_outputs
    int32_t port             # of a FEED: the output of its source that is fed


cdef class GraphIR:
    cdef vector[IRNode] nodes
    cdef vector[Edge] edges
    cdef vector[int32_t] controls
    cdef vector[GraphNode*] owned       # nodes that passes added, until a program takes them
    cdef vector[int32_t] feeds          # per feed its node, or -1
    cdef vector[Edge] fetches
    cdef vector[int32_t] targets
    cdef list devices                   # full names
    cdef object table                   # their DeviceTable
    cdef bint partial_run
    cdef bint tolerant                  # places what it can, and reports nothing
    cdef bint between_tasks             # its devices belong to several tasks
    # Devices by the names of nodes with state, of the StateDevices of a session; null: none is kept.
    cdef unordered_map[string, int32_t]* assigned

    cdef int32_t n_devices
    cdef vector[hr_device*] memories    # of each device, null for the host's; empty: all are

    cdef hr_dtype dtype_of(self, Edge edge) noexcept nogil
    cdef int32_t add_node(self, NodeKind kind, const string& op, const string& name,
                          GraphNode* like) except -1 nogil
    # Moves the node's list to the end of the array, so that it may grow.
    cdef int set_inputs(self, int32_t node, vector[Edge]& inputs) except -1 nogil
    cdef int set_controls(self, int32_t node, vector[int32_t]& controls) except -1 nogil
    # Nodes in an order in which all can run; back edges of loops are ignored. Nodes that change
    # variables come as late as possible.
    cdef int order(self, vector[int32_t]& sorted_nodes) except -1
    # The same, where what is sent soonest comes first.
    cdef int order_for_sends(self, vector[int32_t]& sorted_nodes) except -1


# Whether a node sends a fetched value to the client.
cdef bint is_fetch(const GraphNode* node) noexcept nogil


cdef inline bint gives_own_reference(const GraphNode* node) noexcept nogil:
    """Whether a reference output of the node refers to the node itself, not to a variable of an
    input."""
    cdef size_t k
    for k in range(node.input_dtypes.size()):
        if node.input_dtypes[k] >= HR_REF:
            return False
    return True
