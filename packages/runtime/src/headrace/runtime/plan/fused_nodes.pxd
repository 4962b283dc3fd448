# cython: language_level=3
from libcpp.string cimport string

from headrace.runtime.graph.graph_node cimport GraphNode

# A node that replaces others, with their device and session and the attribute _origins. The caller
# adds further attributes and dtypes, and calls fill_abi_node.
# origins: "name = op" of each node that it replaces, for traces.
cdef GraphNode* new_fused_node(bytes op, const string& name, const GraphNode* like,
                               str origins) except NULL
