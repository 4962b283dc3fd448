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

_CONTROL_FLOW = {
    **_all(
        "ops.control_flow",
        "no_op identity group tuple cond case switch_case while_loop Assert",
    ),
    "debugging.Assert": "ops.control_flow",
    "is_tensor": "conversion",
}

_STATE = {
    **_all(
        "variables",
        "Variable VariableSynchronization VariableAggregation global_variables all_variables "
        "local_variables model_variables trainable_variables moving_average_variables "
        "variables_initializer initialize_variables global_variables_initializer "
        "initialize_all_variables local_variables_initializer initialize_local_variables "
        "is_variable_initialized assert_variables_initialized report_uninitialized_variables",
    ),
    **_all(
        "variable_scope",
        "VariableScope variable_scope get_variable get_variable_scope get_local_variable "
        "variable_op_scope variable_creator_scope no_regularizer AUTO_REUSE",
    ),
    **_all(
        "partitioned_variable",
        "fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner "
        "create_partitioned_variables",
    ),
    **_all("template", "make_template"),
    **_all(
        "ops.state",
        "assign assign_add assign_sub count_up_to scatter_update scatter_add scatter_sub "
        "scatter_mul scatter_div scatter_min scatter_max scatter_nd_update scatter_nd_add "
        "scatter_nd_sub",
    ),
    **_all(
        "initializers",
        "zeros_initializer ones_initializer constant_initializer random_uniform_initializer "
        "random_normal_initializer truncated_normal_initializer uniform_unit_scaling_initializer "
        "variance_scaling_initializer glorot_uniform_initializer glorot_normal_initializer "
        "orthogonal_initializer",
    ),
    **_all(
        "initializers",
        "zeros ones constant random_uniform random_normal truncated_normal uniform_unit_scaling "
        "variance_scaling glorot_uniform glorot_normal orthogonal identity he_normal he_uniform "
        "lecun_normal lecun_uniform",
        space="initializers",
    ),
    **_all("placeholders", "placeholder placeholder_with_default sparse_placeholder"),
}

_QUEUES = {
    **_all("ops.queues", "QueueBase FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue"),
    **_all("ops.queues", "QueueBase FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue",
           space="queue"),
    **_all("ops.script", "py_func numpy_function"),
}

PUBLIC: dict[str, str] = {
    **_DTYPES,
    **_GRAPH,
    **_SESSION,
    **_CONTROL_FLOW,
    **_STATE,
    **_QUEUES,
}
