from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.graph_ir cimport GraphIR

# Gives every node a device and, where its kind is KERNEL, a kernel.
# Adds to `assigned` the devices of the nodes of a whole graph that share state, or have some.
cdef int assign_state(SessionGraph graph, GraphIR ir, bint allow_reference) except -1

cdef int place(GraphIR ir, bint allow_soft_placement, bint allow_reference) except -1
