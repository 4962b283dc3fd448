"""The nodes of a session."""

from libc.stdint cimport int32_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport OpEntry
from headrace.runtime.graph.graph_node cimport Edge, GraphNode, KernelState
from headrace.runtime.graph.name_index cimport NameIndex


cdef class SessionGraph:
    cdef vector[GraphNode*] nodes        # never moved or removed; owned
    cdef NameIndex index
    cdef unordered_map[string, OpEntry*] functions  # ops of the graph's own library; owned
    cdef readonly list graph_defs        # the bytes that the nodes' attributes point into
    cdef readonly object library         # FunctionLibrary: functions by name
    cdef readonly list bodies            # bytes of the bodies of calls, as graph_defs
    cdef bint has_calls                  # some node has a body or may get one
    cdef size_t body_nodes               # how many of `nodes` are nodes of bodies
    cdef readonly object lock            # held by extend and while a program is built
    cdef readonly int version            # counts extensions
    cdef readonly int producer           # the oldest producer of the GraphDefs; 0: one has none
    cdef vector[KernelState] retired    # states that a reset replaced
    cdef object __weakref__

    cpdef extend(self, bytes graph_def)
    cdef int32_t find(self, string_view name) noexcept nogil
    cdef int32_t add_body(self, int32_t call, bytes graph_def, NameIndex names) except -1
    cdef int remove_nodes(self, size_t first) noexcept
    cdef GraphNode* node_named(self, str name) except NULL
    cdef dict _describe(self, GraphNode* node)


# "name" or "name:port" to node and port; node -1: no such node; port -1: out of range.
cdef Edge find_tensor(SessionGraph graph, string_view written) noexcept nogil
cdef int add_functions(SessionGraph graph, functions) except -1
