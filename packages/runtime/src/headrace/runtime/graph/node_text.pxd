"""How nodes and dtypes are named in errors."""

from libcpp.string cimport string
from libcpp.string_view cimport string_view

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_dtype

cdef str text(string_view view)
cdef str text_of(const string& value)
cdef str dtype_text(hr_dtype dtype)          # "float", "float_ref"
cdef object blame(const GraphNode* node, str problem)   # an InvalidArgumentError
# The label in traces: "name = op", for a fused node those of all its parts.
cdef str label_of(GraphNode* node)
cdef str node_label(const GraphNode* node)   # "MatMul 'logits'", with the user's names
