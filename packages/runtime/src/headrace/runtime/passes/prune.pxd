from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.passes.graph_ir cimport GraphIR
from headrace.runtime.graph.session_graph cimport SessionGraph

# Finds the nodes that fetches and targets need; fed tensors end the search. Fills ir.nodes, edges,
# controls, feeds, fetches, targets.
cdef int prune(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
               vector[int]& targets, GraphIR ir) except -1
