from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.graph.session_graph cimport SessionGraph

# The nodes that fetches and targets need, the fed tensors cut off. Fills ir.nodes, edges,
# controls, feeds, fetches, targets.
cdef int prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
               vector[int]& targets, GraphIR ir) except -1
