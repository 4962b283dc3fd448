"""The table of public names: which module has the object of `hr.<name>`.

    "placeholder": "ops.arrays"                 attribute `placeholder` of headrace.graph.ops.arrays
    "nn.relu": "ops.activations"                in the sub-namespace hr.nn (made by being named)
    "log": "ops.elementwise:logarithm"          under another name there
    "float32": "=headrace.formats.dtypes"       in a module outside of this package
    "raw_ops": "raw_ops:"                       the module itself

One line per name; each area keeps its names together, in its own dict of this table. To add an
area, write `_MINE = {...}` and name it in PUBLIC.
"""

from __future__ import annotations


def _all(module: str, names: str, space: str = "") -> dict[str, str]:
    """A row for each of the names, all in one module (and one sub-namespace)."""
    prefix = space + "." if space else ""
    return {prefix + name: module for name in names.split()}


_DTYPES = {
    **_all(
        "=headrace.formats.dtypes",
        "DType as_dtype float16 half float32 float64 double bfloat16 int8 int16 int32 int64 uint8 "
        "uint16 uint32 uint64 bool string complex64 complex128 resource variant qint8 qint16 "
        "qint32 quint8 quint16 QUANTIZED_DTYPES",
    ),
    "dtypes": "=headrace.formats.dtypes:",
}

_GRAPH = {
    **_all(
        "graph",
        "Graph get_default_graph reset_default_graph add_to_collection add_to_collections "
        "get_collection get_collection_ref get_all_collection_keys set_random_seed get_seed",
    ),
    **_all("graph_keys", "GraphKeys"),
    **_all("operation", "Operation Tensor"),
    **_all("tensor_shape", "TensorShape Dimension dimension_value"),
    **_all("scopes", "name_scope op_scope device control_dependencies colocate_with container "
           "init_scope"),
    **_all("device_spec", "DeviceSpec"),
    **_all("indexed_slices", "IndexedSlices SparseTensor SparseTensorValue "
           "convert_to_tensor_or_sparse_tensor"),
    **_all("conversion", "constant convert_to_tensor register_tensor_conversion_function "
           "convert_to_tensor_or_indexed_slices make_tensor_proto make_ndarray is_tensor"),
    **_all("constant_value", "get_static_value"),
    **_all("slice_syntax", "newaxis"),
    **_all("op_registry", "RegisterGradient NotDifferentiable NoGradient"),
    "raw_ops": "raw_ops:",
    "nest": "nest:",
    "errors": "=headrace.formats.errors:",
    "compat.v1.name_scope": "scopes",
}

_SESSION = {
    **_all("session", "Session InteractiveSession get_default_session"),
    **_all(
        "=headrace.formats.proto.run_pb2",
        "ConfigProto RunOptions RunMetadata GraphOptions OptimizerOptions GPUOptions",
    ),
    **_all(
        "=headrace.formats.proto.graph_pb2", "GraphDef NodeDef"
    ),
    **_all("=headrace.formats.proto.op_pb2", "AttrValue NameAttrList OpDef"),
    **_all("=headrace.formats.proto.meta_graph_pb2", "MetaGraphDef TensorInfo"),
    **_all("graph_import", "import_graph_def"),
    **_all(
        "graph_codec",
        "GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
    ),
}

PUBLIC: dict[str, str] = {**_DTYPES, **_GRAPH, **_SESSION}
