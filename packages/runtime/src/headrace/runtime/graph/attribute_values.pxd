"""All attributes of a node as Python values, for kernels written in Python."""

from headrace.runtime.graph.graph_node cimport GraphNode

cdef dict attribute_values(GraphNode* node)
