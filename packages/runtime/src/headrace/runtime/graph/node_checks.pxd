from headrace.runtime.graph.attributes cimport OpEntry
from headrace.runtime.graph.graph_node cimport GraphNode

# Fills defaults in, refuses attributes that the op does not allow, finds the dtypes of inputs and
# outputs, and finishes the face that kernels see.
cdef int check_node(GraphNode* node, OpEntry* entry) except -1 nogil
