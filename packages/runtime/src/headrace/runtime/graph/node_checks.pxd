from headrace.runtime.graph.attributes cimport OpEntry
from headrace.runtime.graph.graph_node cimport GraphNode

# Fills in defaults, rejects attributes that the op does not allow, infers the dtypes of inputs and
# outputs, and completes the abi_node that kernels see.
cdef int check_node(GraphNode* node, OpEntry* entry) except -1 nogil
