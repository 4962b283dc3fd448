# cython: language_level=3
"""All attributes of a node as Python values, for kernels written in Python."""

from libcpp.string cimport string
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from headrace.formats.proto import op_pb2
from headrace.formats.tensor_codec import make_ndarray
from headrace.runtime.graph.graph_node cimport GraphNode


cdef extern from *:
    """
    #include "graph/attributes.hpp"
    // (name, AttrValue message): what the node says, over the defaults of its op.
    static std::vector<std::pair<std::string, std::string>> attribute_messages(
        const headrace::GraphNode* node) {
      std::vector<std::pair<std::string, std::string>> out;
      if (node->info)
        for (const auto& item : node->info->defaults) out.push_back(item);
      if (node->attributes)
        for (const auto& entry : node->attributes->entries)
          out.emplace_back(std::string(entry.key), std::string(entry.value));
      return out;
    }
    """
    vector[pair[string, string]] attribute_messages(const GraphNode* node)


cdef dict attribute_values(GraphNode* node):
    """As services.PythonKernels.create takes them; names that begin with "_" are left out."""
    cdef vector[pair[string, string]] messages = attribute_messages(node)
    cdef size_t i
    found = {}
    for i in range(messages.size()):
        name = (<bytes>messages[i].first).decode(errors="replace")
        if not name.startswith("_"):
            found[name] = python_value(op_pb2.AttrValue.FromString(<bytes>messages[i].second))
    return found


def python_value(message):
    """The value of an AttrValue message: see services.PythonKernels.create for the forms."""
    kind = message.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(message, kind)
    if kind == "list":
        for field, items in value.ListFields():
            return [single(field.name, item) for item in items]
        return []
    return single(kind, value)


def single(str kind, value):
    """One value of an AttrValue's field `kind`."""
    if kind == "shape":
        return None if value.unknown_rank else tuple(dim.size for dim in value.dim)
    if kind == "tensor":
        return make_ndarray(value)
    return value
