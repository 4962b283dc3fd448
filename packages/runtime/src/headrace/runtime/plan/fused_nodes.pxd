# cython: language_level=3
from libcpp.string cimport string

from headrace.runtime.graph.graph_node cimport GraphNode

# A node that stands for others, with their device and session and the attribute _origins. The caller
# adds further attributes and dtypes, and calls finish_face.
# origins: "name = op" of each node that it stands for, for traces.
cdef GraphNode* new_fused_node(bytes op, const string& name, const GraphNode* like,
                               str origins) except NULL
