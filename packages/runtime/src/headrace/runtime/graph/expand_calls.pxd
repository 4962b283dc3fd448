"""Replaces calls of functions by the nodes of their bodies."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.session_graph cimport SessionGraph


# Makes the bodies of all calls that fetches and targets need. Bodies are made once for a graph.
cdef int expand_calls(SessionGraph graph, vector[Edge]& feeds, vector[Edge]& fetches,
                      vector[int]& targets) except -1


# What supplies a tensor if it is not fed: one step through a call or an argument; the edge itself
# if its node runs.
cdef inline Edge step_back(SessionGraph graph, Edge edge) noexcept nogil:
    cdef GraphNode* node = graph.nodes[edge.node]
    if node.body:
        return node.body.get().outputs[edge.port]
    if node.argument.node >= 0:
        return node.argument
    return edge


# The node that runs and at which control edges from `node` start.
cdef inline int32_t control_source(SessionGraph graph, int32_t node) noexcept nogil:
    while True:
        if graph.nodes[node].body:
            node = graph.nodes[node].body.get().done
        elif graph.nodes[node].argument.node >= 0:
            node = graph.nodes[node].argument.node
        else:
            return node
