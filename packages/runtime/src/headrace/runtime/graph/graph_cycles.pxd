"""Rejects cycles in a graph."""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode

# Raises InvalidArgumentError for a cycle among the nodes from `before` on: older nodes never read
# newer ones.
cdef int reject_cycle(vector[GraphNode*]& nodes, int32_t before) except -1 nogil
