"""The part of a graph that a program runs, while passes still change it.

Nodes have lists of edges of their own in two shared arrays; a pass that lengthens a list moves it
to the end of the array. Numbers of nodes are indices into `nodes`; `removed` ones have left.
"""

from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport OpEntry
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_REF, hr_dtype, hr_kernel
from headrace.runtime.graph.node_kind cimport NodeKind


cdef struct IRNode:
    GraphNode* source
    OpEntry* entry           # null for nodes that passes add, and feeds
    const hr_kernel* kernel
    NodeKind kind
    cbool removed
    int32_t device
    int32_t rank             # where among equals it runs: its number in the graph, as a rule
    int32_t first_input, n_inputs
    int32_t first_control, n_controls
    int32_t n_outputs
    int32_t port             # of a FEED: which output of its source is fed


cdef class GraphIR:
    cdef vector[IRNode] nodes
    cdef vector[Edge] edges
    cdef vector[int32_t] controls
    cdef vector[GraphNode*] owned       # nodes that passes added, until a program takes them
    cdef vector[int32_t] feeds          # per feed its node, or -1
    cdef vector[Edge] fetches
    cdef vector[int32_t] targets
    cdef list devices                   # full names
    cdef list device_types              # of each: "CPU"
    cdef bint partial_run

    cdef int32_t n_devices

    cdef hr_dtype dtype_of(self, Edge edge) noexcept nogil
    cdef int32_t add_node(self, NodeKind kind, const string& op, const string& name,
                          GraphNode* like) except -1 nogil
    # Gives the node a list of its own that may grow.
    cdef int set_inputs(self, int32_t node, vector[Edge]& inputs) except -1 nogil
    cdef int set_controls(self, int32_t node, vector[int32_t]& controls) except -1 nogil
    # Nodes in an order in which all may run; edges that close loops are left out. Nodes that
    # change variables come as late as they can.
    cdef int order(self, vector[int32_t]& sorted_nodes) except -1


cdef inline bint gives_own_reference(const GraphNode* node) noexcept nogil:
    """Whether a reference that the node gives is to itself, not passed on from an input."""
    cdef size_t k
    for k in range(node.input_dtypes.size()):
        if node.input_dtypes[k] >= HR_REF:
            return False
    return True
