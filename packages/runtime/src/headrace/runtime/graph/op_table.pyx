# distutils: language = c++
"""The planner's facts about ops: the catalogue's signatures in C++, each made at first use."""

from cython.operator cimport dereference
from libc.stdint cimport int32_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair

from headrace.runtime.graph.attributes cimport (
    AttrKind, AttrSpec, OpEntry, bytes_attr, float_attr, kBool, kFloat, kFunc, kInt, kList,
    kIntegers, kNoKind, kNoValues, kShape, kString, kTensor, kType, number_attr,
)
from headrace.runtime.graph.graph_node cimport ArgInfo
from headrace.runtime.graph.node_kind cimport NodeKind

from headrace.formats import op_catalogue
from headrace.formats.tensor_codec import make_tensor_proto

cdef unordered_map[string, OpEntry*] _entries  # accessed under the GIL only

_KINDS = {
    "int": kInt, "float": kFloat, "bool": kBool, "string": kString, "type": kType,
    "shape": kShape, "tensor": kTensor, "func": kFunc,
}
_KINDS_OF_OPS = {
    "Switch": NodeKind.SWITCH, "RefSwitch": NodeKind.SWITCH,
    "Merge": NodeKind.MERGE, "RefMerge": NodeKind.MERGE,
    "Enter": NodeKind.ENTER, "RefEnter": NodeKind.ENTER,
    "Exit": NodeKind.EXIT, "RefExit": NodeKind.EXIT,
    "NextIteration": NodeKind.NEXT_ITERATION, "RefNextIteration": NodeKind.NEXT_ITERATION,
    "_Send": NodeKind.SEND, "_HostSend": NodeKind.SEND,
    "_Recv": NodeKind.RECV, "_HostRecv": NodeKind.RECV,
    **dict.fromkeys((
        "PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase",
        "While", "StatelessWhile", "For", "RemoteCall", "SymbolicGradient",
    ), NodeKind.CALL),
    "_Arg": NodeKind.ARGUMENT,
}
# Ops that take a reference, or the handle of a variable, and do not change the variable.
_REF_READERS = frozenset({
    "IsVariableInitialized", "RefIdentity", "RefSelect", *_KINDS_OF_OPS,
})
_RESOURCE_WRITERS = (
    "AssignVariable", "AssignAddVariable", "AssignSubVariable", "ResourceApply",
    "ResourceSparseApply", "ResourceScatter", "ResourceStridedSliceAssign", "ResourceCountUpTo",
    "DestroyResourceOp",
)

# Stateless ops that programs run for the error that they may raise.
_RESOURCE, _VARIANT = 20, 21  # DataType: kernels check handles themselves
_CHECKS = frozenset({"EnsureShape"})

# Ops that cannot fail for any input values once the shapes match. They need not run if only the
# shape of the result is needed; all others run for the error that they may raise.
_NEVER_FAIL = frozenset("""
    Abs Acos Acosh Angle Asin Asinh Atan Atanh Cast Ceil ComplexAbs Conj Cos Cosh Digamma Elu Erf Erfc
    Erfinv Exp Expm1 Floor Identity IdentityN Imag Invert IsFinite IsInf IsNan LeakyRelu Lgamma Log
    Log1p LogicalNot Neg OnesLike PreventGradient Real Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign
    Sin Sinh Softplus Softsign Sqrt Square StopGradient Tan Tanh ZerosLike
    EluGrad LeakyReluGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad SoftsignGrad
    SqrtGrad TanhGrad
    Add AddN AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex DivNoNan Equal Greater GreaterEqual
    Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mul MulNoNan NotEqual Select SelectV2
    SquaredDifference Sub Xdivy Xlog1py Xlogy
    All Any EuclideanNorm Max Mean Min Prod Sum L2Loss
    BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum MatMul
    BiasAdd BiasAddGrad BiasAddV1 Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D
    DepthwiseConv2dNative FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGrad
    FusedBatchNormGradV2 FusedBatchNormGradV3 LogSoftmax Softmax SoftmaxCrossEntropyWithLogits
    AvgPool AvgPoolGrad MaxPool MaxPoolGrad
    BroadcastTo Concat ConcatV2 DepthToSpace ExpandDims Fill Pack Pad PadV2 Reshape SpaceToDepth
    Squeeze Tile Transpose Unpack
""".split())
_INTEGERS_FAIL = frozenset(
    "Div FloorDiv FloorMod Inv Mod Pow RealDiv Reciprocal TruncateDiv TruncateMod".split())


cdef OpEntry* op_entry(string_view name) except NULL:
    cdef string key = string(name)
    found = _entries.find(key)
    if found != _entries.end():
        return dereference(found).second
    cdef OpEntry* entry = new_entry(op_catalogue.signature(key.decode("utf-8", "replace")))
    _entries[key] = entry
    return entry


cdef OpEntry* new_entry(signature) except NULL:
    cdef OpEntry* entry = new OpEntry()
    try:
        _fill(entry, signature)
    except BaseException:
        del entry
        raise
    return entry


cdef int _fill(OpEntry* entry, signature) except -1:
    name = signature.name
    entry.name = name.encode()
    entry.stateful = signature.stateful
    entry.commutative = signature.commutative
    entry.aggregate = signature.aggregate
    entry.uninitialized_ok = signature.uninitialized_ok
    entry.shape_only = signature.shape_only
    entry.view = signature.view
    entry.data_shape = signature.data_shape
    entry.internal = signature.internal
    ref_input = False
    variable_input = False   # a reference of a fixed dtype is the handle of another object
    ranks = op_catalogue.input_ranks(name)
    if signature.shape_rule == "reduce":
        ranks = ()  # graphs before version 21 may have [[0, 1]] for axes
    for place, arg in enumerate(signature.inputs):
        entry.inputs.push_back(_arg(arg))
        ref_input = ref_input or arg.is_ref
        variable_input = variable_input or (arg.is_ref and bool(arg.type_attr))
        if ranks and not arg.is_ref and arg.dtype not in (_RESOURCE, _VARIANT):
            entry.inputs.back().ranks = ranks[place]
            entry.limits_ranks = True
    for arg in signature.outputs:
        entry.outputs.push_back(_arg(arg))
        if arg.is_ref:
            entry.has_ref = True
    entry.has_ref = entry.has_ref or ref_input
    for attr in signature.attrs:
        _fill_attr(entry, attr)
    entry.kind = _KINDS_OF_OPS.get(name, NodeKind.KERNEL)
    fused = op_catalogue.find("_Fused" + name)
    entry.has_fused_op = fused is not None and any(attr.name == "fused_ops" for attr in fused.attrs)
    entry.placeholder = name in ("Placeholder", "PlaceholderV2")
    entry.writes = (variable_input and name not in _REF_READERS) or name.startswith(_RESOURCE_WRITERS)
    entry.pure = not (
        entry.kind != NodeKind.KERNEL or entry.stateful or entry.has_ref or entry.writes
        or entry.placeholder or entry.outputs.empty() or name in _CHECKS)
    if name in _NEVER_FAIL:
        entry.failure = kNoValues
    elif name in _INTEGERS_FAIL:
        entry.failure = kIntegers
    return 0


cdef ArgInfo _arg(arg) except *:
    cdef ArgInfo info
    info.name = arg.name.encode()
    info.dtype = arg.dtype
    info.type_attr = arg.type_attr.encode()
    info.number_attr = arg.number_attr.encode()
    info.type_list_attr = arg.type_list_attr.encode()
    info.is_ref = arg.is_ref
    return info


cdef int _fill_attr(OpEntry* entry, attr) except -1:
    cdef AttrSpec spec
    kind = attr.kind
    is_list = kind.startswith("list(")
    element = _KINDS.get(kind[5:-1] if is_list else kind, kNoKind)
    spec.name = attr.name.encode()
    spec.type = kind.encode()
    spec.element = <AttrKind><int32_t>element
    spec.kind = kList if is_list else spec.element
    if attr.minimum is not None:
        spec.has_minimum = True
        spec.minimum = attr.minimum
    for value in attr.allowed:
        if element == kType:
            spec.allowed_types.push_back(<int32_t>value)
        elif element == kString:
            spec.allowed_strings.push_back(<string>value.encode())
    if attr.default is not op_catalogue.NO_DEFAULT:
        spec.has_default = True
        spec.default_value = _list_value(element, attr.default) if is_list else _value(
            element, attr.default)
        entry.defaults.push_back(pair[string, string](spec.name, spec.default_value))
    entry.attrs.push_back(spec)
    return 0


# AttrValue messages, field numbers 1 to 8; in a ListValue the elements have the same numbers.
cdef bytes _value(int32_t kind, value):
    if kind == kInt or kind == kBool or kind == kType:
        return number_attr(kind, value)
    if kind == kFloat:
        return float_attr(value)
    if kind == kString:
        return bytes_attr(kind, <string>(value.encode() if isinstance(value, str) else value))
    if kind == kShape:
        return bytes_attr(kind, <string>_shape(value))
    if kind == kTensor:
        return bytes_attr(kind, <string>_tensor(value))
    return bytes_attr(kind, <string>(value if isinstance(value, bytes) else b""))


cdef bytes _list_value(int32_t kind, values):
    return bytes_attr(kList, <string>b"".join([_value(kind, value) for value in values]))


cdef bytes _shape(shape):
    if shape is None:
        return number_attr(3, 1)
    return b"".join([
        <bytes>bytes_attr(2, <string>(<bytes>number_attr(1, -1 if dim is None else dim)))
        for dim in shape
    ])


cdef bytes _tensor(value):
    return make_tensor_proto(value.values, value.dtype).SerializeToString()
