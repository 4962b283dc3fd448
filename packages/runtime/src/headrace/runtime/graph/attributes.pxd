"""Attribute values and catalogue entries (attributes.hpp), and the parser of graph_def.hpp."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport ArgInfo, GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_code, hr_dtype, hr_node, hr_node_api, hr_string, hr_tensor


cdef extern from "graph/graph_def.hpp" namespace "headrace" nogil:
    cdef struct ParsedAttr:
        string_view key
        string_view value

    cdef struct ParsedNode:
        string_view name
        string_view op
        string_view device
        uint32_t first_input
        uint32_t n_inputs
        uint32_t first_attr
        uint32_t n_attrs

    cdef cppclass ParsedGraph:
        vector[ParsedNode] nodes
        vector[string_view] inputs
        vector[ParsedAttr] attrs
        vector[string_view] functions
        vector[string_view] gradients
        int32_t producer
        int32_t min_consumer
        const char* problem
        int64_t offset

    void parse_graph_def(string_view, ParsedGraph&)


cdef extern from "graph/attributes.hpp" namespace "headrace" nogil:
    cdef enum AttrKind "headrace::AttrKind":
        kNoKind "headrace::kNoKind"
        kList "headrace::kList"
        kString "headrace::kString"
        kInt "headrace::kInt"
        kFloat "headrace::kFloat"
        kBool "headrace::kBool"
        kType "headrace::kType"
        kShape "headrace::kShape"
        kTensor "headrace::kTensor"
        kPlaceholder "headrace::kPlaceholder"
        kFunc "headrace::kFunc"

    cdef cppclass AttrSpec:
        string name
        string type
        AttrKind kind
        AttrKind element
        cbool has_default
        cbool has_minimum
        string default_value
        int64_t minimum
        vector[hr_dtype] allowed_types
        vector[string] allowed_strings

    cdef enum Failure:
        kNoValues
        kIntegers
        kAnyValues

    cdef cppclass OpEntry:
        string name
        vector[ArgInfo] inputs
        vector[ArgInfo] outputs
        vector[pair[string, string]] defaults
        cbool stateful
        cbool commutative
        cbool aggregate
        cbool uninitialized_ok
        cbool shape_only
        cbool view
        cbool data_shape
        cbool function
        vector[AttrSpec] attrs
        int32_t kind
        cbool placeholder
        cbool writes
        cbool has_ref
        cbool limits_ranks
        cbool internal
        cbool has_fused_op
        cbool pure
        Failure failure

    cdef struct AttrEntry:
        string_view key
        string_view value

    cdef cppclass AttrScalar:
        AttrKind kind
        uint64_t number
        float real
        string_view bytes
        const char* problem

    cdef cppclass ParsedValue:
        AttrKind kind
        hr_code code
        string problem
        hr_tensor tensor
        vector[int64_t] ints
        vector[float] floats
        vector[hr_dtype] types
        vector[hr_string] strings
        vector[int32_t] ranks
        vector[const int64_t*] dims

    cdef cppclass Attributes:
        vector[AttrEntry] entries
        const AttrEntry* find(string_view)
        void add(const string&, string)

    cbool check_tensor(string_view, hr_dtype, string&)
    Attributes* attributes_of(const GraphNode*)
    Attributes* make_attributes(GraphNode*)
    AttrScalar read_attr(string_view)
    hr_code find_scalar(const GraphNode*, string_view, AttrKind, AttrScalar&)
    ParsedValue* parsed_value(const GraphNode*, string_view)
    void argument_range(const GraphNode*, cbool, int32_t, int32_t*, int32_t*)
    string text_attribute(const hr_node*, const char*)
    string number_attr(int32_t, int64_t)
    string bytes_attr(int32_t, const string&)
    string float_attr(float)
    void fill_abi_node(GraphNode*)
    const hr_node_api headrace_node_api

# GraphNode.info of nodes that come from a graph is an OpEntry; null for nodes that passes add.
cdef inline OpEntry* op_entry_of(const GraphNode* node) noexcept nogil:
    return <OpEntry*>node.info

# Whether an op fails if a reference input refers to a variable without a value.
cdef inline bint needs_value(const GraphNode* node) noexcept nogil:
    return node.info != NULL and op_entry_of(node).has_ref and not node.info.uninitialized_ok
