# distutils: language = c++
"""Checks a node against its op's signature: attributes, and the dtypes that follow from them."""

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    AttrEntry, AttrKind, AttrScalar, AttrSpec, Attributes, OpEntry, ParsedValue, attributes_of,
    check_tensor, find_scalar, fill_abi_node, kInt, kList, kNoKind, kString, kTensor, kType,
    parsed_value, read_attr,
)
from headrace.runtime.graph.graph_node cimport ArgInfo, GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_OK, HR_REF, hr_dtype
from headrace.runtime.graph.node_text cimport blame, dtype_text, text, text_of

cdef enum:
    _MOST_TENSORS = 1 << 20  # of one argument, so that a malicious N is an error
    _LAST_DTYPE = 32         # the largest DataType; references add HR_REF


cdef int check_node(GraphNode* node, OpEntry* entry) except -1 nogil:
    _check_attrs(node, entry)
    _find_dtypes(node, entry)
    return 0


cdef int _check_attrs(GraphNode* node, OpEntry* entry) except -1 nogil:
    cdef Attributes* attributes = attributes_of(node)
    cdef const AttrEntry* attr
    cdef AttrSpec* spec
    cdef AttrScalar scalar, other
    cdef AttrEntry filled
    cdef hr_dtype dtype
    cdef string problem
    cdef size_t i
    for i in range(entry.attrs.size()):
        spec = &entry.attrs[i]
        attr = attributes.find(string_view(spec.name))
        if attr == NULL:
            if not spec.has_default:
                with gil:
                    raise blame(
                        node, f"attribute '{text_of(spec.name)}' ({text_of(spec.type)}) is missing")
            filled.key = string_view(spec.name)
            filled.value = string_view(spec.default_value)
            attributes.entries.push_back(filled)
            continue
        scalar = read_attr(attr.value)
        if scalar.problem != NULL:
            with gil:
                raise blame(
                    node, f"attribute '{text_of(spec.name)}' has {scalar.problem.decode()}")
        if scalar.kind != spec.kind and spec.kind != kNoKind:
            with gil:
                raise blame(
                    node, f"attribute '{text_of(spec.name)}' is {_kind_text(scalar.kind)}, the op "
                    f"takes {text_of(spec.type)}")
        if spec.kind == kTensor:
            problem.clear()
            dtype = 0
            if entry.name == b"Const" and find_scalar(
                    node, string_view(<const char*>b"dtype"), kType, other) == HR_OK:
                dtype = <hr_dtype>other.number
            if not check_tensor(scalar.bytes, dtype, problem):
                with gil:
                    raise blame(node, f"attribute '{text_of(spec.name)}': {text_of(problem)}")
        _check_limits(node, spec, scalar)
    return 0


cdef int _check_limits(GraphNode* node, AttrSpec* spec, AttrScalar& scalar) except -1 nogil:
    cdef ParsedValue* value
    cdef int64_t count
    cdef size_t i
    cdef cbool found
    if spec.kind == kType and not spec.allowed_types.empty():
        _check_type(node, spec, <hr_dtype>scalar.number)
    elif spec.kind == kString and not spec.allowed_strings.empty():
        found = False
        for i in range(spec.allowed_strings.size()):
            found = found or string_view(spec.allowed_strings[i]) == scalar.bytes
        if not found:
            with gil:
                raise _not_allowed(node, spec, repr(text(scalar.bytes)))
    elif spec.kind == kInt and spec.has_minimum and <int64_t>scalar.number < spec.minimum:
        with gil:
            raise blame(
                node, f"attribute '{text_of(spec.name)}' is {<int64_t>scalar.number}, the op takes "
                f"{spec.minimum} or more")
    elif spec.kind == kList and (spec.has_minimum or not spec.allowed_types.empty()):
        value = parsed_value(node, string_view(spec.name))
        count = max(
            max(<int64_t>value.ints.size(), <int64_t>value.floats.size()),
            max(max(<int64_t>value.types.size(), <int64_t>value.strings.size()),
                <int64_t>value.ranks.size()))
        # A function's number of inputs is not known here.
        if spec.has_minimum and count < spec.minimum and spec.element != kNoKind:
            with gil:
                if text_of(spec.type) != "list(func)" and text_of(spec.type) != "list(tensor)":
                    raise blame(
                        node, f"attribute '{text_of(spec.name)}' has {count} elements, the op "
                        f"takes {spec.minimum} or more")
        if not spec.allowed_types.empty():
            for i in range(value.types.size()):
                _check_type(node, spec, value.types[i])
    return 0


cdef int _check_type(GraphNode* node, AttrSpec* spec, hr_dtype dtype) except -1 nogil:
    cdef size_t i
    for i in range(spec.allowed_types.size()):
        if spec.allowed_types[i] == dtype:
            return 0
    with gil:
        raise _not_allowed(node, spec, dtype_text(dtype))


# Here and below, separate functions make the texts: a nogil function with a Python variable takes
# the GIL whenever it returns.
cdef object _not_allowed(const GraphNode* node, AttrSpec* spec, str actual):
    allowed = [dtype_text(t) for t in spec.allowed_types]
    allowed += [repr(text_of(s)) for s in spec.allowed_strings]
    return blame(
        node, f"attribute '{text_of(spec.name)}' is {actual}, the op takes {', '.join(allowed)}")


cdef str _kind_text(AttrKind kind):
    return {0: "empty", 1: "a list", 2: "a string", 3: "an int", 4: "a float", 5: "a bool",
            6: "a type", 7: "a shape", 8: "a tensor", 9: "a function's placeholder",
            10: "a function"}[<int32_t>kind]


cdef int _find_dtypes(GraphNode* node, OpEntry* entry) except -1 nogil:
    cdef size_t i
    node.input_dtypes.reserve(entry.inputs.size())
    node.output_dtypes.reserve(entry.outputs.size())
    for i in range(entry.inputs.size()):
        _expand(node, &entry.inputs[i], node.input_dtypes)
        if entry.limits_ranks:
            node.input_ranks.resize(node.input_dtypes.size(), entry.inputs[i].ranks)
    for i in range(entry.outputs.size()):
        _expand(node, &entry.outputs[i], node.output_dtypes)
    fill_abi_node(node)
    return 0


cdef int _expand(GraphNode* node, ArgInfo* arg, vector[hr_dtype]& dtypes) except -1 nogil:
    cdef AttrScalar scalar
    cdef hr_dtype dtype = arg.dtype
    cdef int64_t count = 1
    cdef ParsedValue* value
    cdef hr_dtype ref = HR_REF if arg.is_ref else 0
    if not arg.number_attr.empty():
        find_scalar(node, string_view(arg.number_attr), kInt, scalar)
        count = <int64_t>scalar.number
        if count < 0 or count > _MOST_TENSORS:
            with gil:
                raise blame(
                    node,
                    f"attribute '{text_of(arg.number_attr)}' is {count}, no number of tensors")
    if not arg.type_list_attr.empty():
        value = parsed_value(node, string_view(arg.type_list_attr))
        if value == NULL or value.code != HR_OK:
            with gil:
                raise blame(node, f"attribute '{text_of(arg.type_list_attr)}' is malformed")
        for dtype in value.types:
            if dtype <= 0 or dtype > _LAST_DTYPE:
                with gil:
                    raise _no_dtype(node, arg.type_list_attr, dtype)
            dtypes.push_back(dtype + ref)
        return 0
    if not arg.type_attr.empty():
        find_scalar(node, string_view(arg.type_attr), kType, scalar)
        dtype = <hr_dtype>scalar.number
    if dtype <= 0 or dtype > _LAST_DTYPE:
        with gil:
            raise _no_dtype(node, arg.type_attr, dtype)
    dtypes.insert(dtypes.end(), <size_t>count, dtype + ref)
    return 0


cdef object _no_dtype(const GraphNode* node, const string& attr, hr_dtype dtype):
    return blame(node, f"attribute '{text_of(attr)}' is {dtype}, which is not a DataType")
