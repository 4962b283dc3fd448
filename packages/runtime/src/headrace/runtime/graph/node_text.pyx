# distutils: language = c++
"""How nodes and dtypes are named in errors."""

from libcpp.string cimport string
from libcpp.string_view cimport string_view

from headrace.runtime.graph.attributes cimport AttrScalar, find_scalar, kString
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_OK, HR_REF, hr_dtype

from headrace.formats import op_signature
from headrace.formats.errors import InvalidArgumentError


cdef str text(string_view view):
    return view.data()[:view.size()].decode("utf-8", "replace") if view.size() else ""


cdef str text_of(const string& value):
    return text(string_view(value))


cdef str dtype_text(hr_dtype dtype):
    base = op_signature.TYPE_NAMES.get(dtype % HR_REF, f"DataType {dtype % HR_REF}")
    return f"{base}_ref" if dtype >= HR_REF else base


cdef object blame(const GraphNode* node, str problem):
    return InvalidArgumentError(
        None, None, f"{text_of(node.op)} '{text_of(node.name)}': {problem}",
        node_name=text_of(node.name))


cdef str label_of(GraphNode* node):
    cdef AttrScalar origins
    if node.info == NULL or find_scalar(
            node, string_view(<const char*>b"_origins"), kString, origins) != HR_OK:
        return f"{text_of(node.name)} = {text_of(node.op)}"
    return text(origins.bytes)


cdef str node_label(const GraphNode* node):
    # _ReadSlot is inserted where a variable is read: the user knows it as the variable.
    op = (<bytes>node.op).decode(errors="replace")
    if op == "_ReadSlot":
        op = "Variable"
    return f"{op} '{(<bytes>node.name).decode(errors='replace')}'"
