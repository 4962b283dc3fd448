"""The table of public names: maps `hr.<name>` to a module and an attribute.

    "zeros": "ops.arrays.creation"      attribute `zeros` of headrace.graph.ops.arrays.creation
    "nn.relu": "ops.activations"        in the sub-namespace hr.nn
    "log": "ops.elementwise.elementwise:logarithm"  the attribute has another name
    "float32": "=headrace.formats.dtypes"           the module is outside of this package
    "raw_ops": "ops.raw_ops:"           the module itself

One line per name, in one dict per subject. To add a subject, write a dict `_MINE = {...}` and add
it to PUBLIC. Indexing, strings and sparse tensors are in public_values.py, files and lookup tables
in public_input.py, datasets in public_data.py, training in public_training.py.
"""

from __future__ import annotations

from headrace.graph.api.public_contrib import CONTRIB
from headrace.graph.api.public_data import DATA
from headrace.graph.api.public_input import INPUT
from headrace.graph.api.public_linalg import LINALG
from headrace.graph.api.public_networks import NETWORKS
from headrace.graph.api.public_rows import rows as _all
from headrace.graph.api.public_training import TRAINING
from headrace.graph.api.public_values import VALUES

_NUMBERS = (
    "DType as_dtype float16 half float32 float64 double bfloat16 int8 int16 int32 int64 uint8 "
    "uint16 uint32 uint64 bool string complex64 complex128 resource variant qint8 qint16 qint32 "
    "quint8 quint16 QUANTIZED_DTYPES"
)
_DTYPES = {
    **_all(
        "=headrace.formats.dtypes",
        _NUMBERS,
    ),
    **_all("=headrace.formats.dtypes", _NUMBERS, "dtypes"),
    **_all("ops.elementwise.elementwise", "cast saturate_cast complex", "dtypes"),
    "dtypes.as_string": "ops.strings",
}

_GRAPH = {
    **_all(
        "framework.graph",
        "Graph get_default_graph reset_default_graph",
    ),
    **_all(
        "framework.default_graph",
        "add_to_collection add_to_collections get_collection get_collection_ref "
        "get_all_collection_keys set_random_seed get_seed",
    ),
    **_all("framework.graph_keys", "GraphKeys"),
    **_all("framework.operation", "Operation Tensor"),
    **_all("framework.tensor_shape", "TensorShape Dimension dimension_value"),
    **_all(
        "framework.scopes",
        "name_scope op_scope device control_dependencies colocate_with container init_scope",
    ),
    **_all("framework.device_spec", "DeviceSpec"),
    **_all(
        "builder.indexed_slices",
        "IndexedSlices SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor "
        "convert_to_tensor_or_indexed_slices is_tensor",
    ),
    **_all(
        "builder.conversion",
        "constant convert_to_tensor register_tensor_conversion_function "
        "make_tensor_proto make_ndarray",
    ),
    **_all("framework.constant_value", "get_static_value"),
    **_all("builder.slice_syntax", "newaxis"),
    **_all("framework.op_registry", "RegisterGradient NotDifferentiable NoGradient"),
    **_all(
        "typing.aliases",
        "TensorLike SparseLike DTypeLike ShapeLike GraphElement FeedDict Collections Device Path "
        "Ints Padding VariableLike Initializer Regularizer Constraint Partitioner SupportsArray",
        "typing",
    ),
    "raw_ops": "ops.raw_ops:",
    "nest": "framework.nest:",
    "errors": "=headrace.formats.errors:",
    **_all("framework.tensor_spec", "TensorSpec SparseTensorSpec IndexedSlicesSpec"),
    **_all(
        "platform.compat",
        "as_bytes as_text as_str as_str_any path_to_str forward_compatible integral_types "
        "real_types complex_types bytes_or_text_types",
        space="compat",
    ),
    "compat.v1": "=headrace.graph:",  # for programs with `import tensorflow.compat.v1 as tf`
    "__version__": "api.version",
}

_SESSION = {
    **_all("client.session", "Session InteractiveSession"),
    "get_default_session": "framework.default_session",
    **_all(
        "=headrace.formats.proto.run_pb2",
        "ConfigProto RunOptions RunMetadata GraphOptions OptimizerOptions GPUOptions",
    ),
    **_all("=headrace.formats.proto.graph_pb2", "GraphDef NodeDef"),
    **_all("=headrace.formats.proto.op_pb2", "AttrValue NameAttrList OpDef"),
    **_all("=headrace.formats.proto.meta_graph_pb2", "MetaGraphDef TensorInfo"),
    **_all("serialization.graph_import", "import_graph_def"),
    **_all(
        "serialization.graph_util",
        "extract_sub_graph remove_training_nodes convert_variables_to_constants",
        space="graph_util",
    ),
    **_all(
        "framework.graph_codec",
        "GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
    ),
}

_CONTROL_FLOW = {
    **_all(
        "control_flow.control_flow_ops",
        "no_op identity identity_n group tuple",
    ),
    "cond": "control_flow.cond",
    **_all("control_flow.case", "case switch_case"),
    "Assert": "control_flow.assertion",
    **_all("control_flow.while_loop", "while_loop"),
    "TensorArray": "ops.tensor_arrays.tensor_array",
    "map_fn": "functional.map_fn",
    **_all("functional.folds", "foldl foldr scan"),
    "debugging.Assert": "control_flow.assertion",
}

_FUNCTIONS = {
    "function": "functions.function",
    **_all(
        "functions.defun",
        "Defun Declare get_extra_vars get_extra_inputs get_extra_args",
        space="functions",
    ),
    **_all(
        "functions.functional_ops",
        "If While For Case Gradient partitioned_call remote_call symbolic_gradient",
        space="functions",
    ),
}

_STATE = {
    **_all("variables.variable", "Variable"),
    **_all("variables.distribution", "VariableSynchronization VariableAggregation"),
    **_all(
        "variables.variable_collections",
        "global_variables all_variables "
        "local_variables model_variables trainable_variables moving_average_variables "
        "variables_initializer initialize_variables global_variables_initializer "
        "initialize_all_variables local_variables_initializer initialize_local_variables "
        "is_variable_initialized assert_variables_initialized report_uninitialized_variables",
    ),
    **_all(
        "variables.variable_scope",
        "VariableScope variable_scope get_variable_scope variable_op_scope variable_creator_scope "
        "no_regularizer AUTO_REUSE",
    ),
    **_all("variables.get_variable", "get_variable get_local_variable"),
    **_all(
        "variables.partitioners",
        "fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner "
        "create_partitioned_variables",
    ),
    **_all("variables.template", "make_template"),
    **_all(
        "ops.state",
        "assign assign_add assign_sub count_up_to scatter_update scatter_add scatter_sub "
        "scatter_mul scatter_div scatter_min scatter_max scatter_nd_update scatter_nd_add "
        "scatter_nd_sub",
    ),
    **_all(
        "variables.initializers",
        "zeros_initializer ones_initializer constant_initializer random_uniform_initializer "
        "random_normal_initializer truncated_normal_initializer uniform_unit_scaling_initializer "
        "variance_scaling_initializer glorot_uniform_initializer glorot_normal_initializer "
        "orthogonal_initializer",
    ),
    **_all(
        "variables.initializers",
        "zeros ones random_uniform random_normal truncated_normal uniform_unit_scaling "
        "variance_scaling glorot_uniform glorot_normal orthogonal identity he_normal he_uniform "
        "lecun_normal lecun_uniform",
        space="initializers",
    ),
    "initializers.constant": "variables.initializers:Constant",
    **_all(
        "variables.initializers",
        "Constant Identity Initializer Ones Orthogonal VarianceScaling Zeros ones zeros identity "
        "orthogonal glorot_normal glorot_uniform he_normal he_uniform lecun_normal lecun_uniform",
        space="keras.initializers",
    ),
    "keras.initializers.constant": "variables.initializers:Constant",
    **_all(
        "variables.keras_initializers",
        "RandomNormal RandomUniform TruncatedNormal deserialize get normal random_normal "
        "random_uniform serialize truncated_normal uniform",
        space="keras.initializers",
    ),
}

_QUEUES = {
    **_all("ops.queues", "QueueBase FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue"),
    **_all(
        "ops.queues",
        "QueueBase FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue",
        space="queue",
    ),
    **_all("ops.script", "py_func numpy_function"),
    "py_function": "client.python_functions",
    **_all(
        "ops.synchronisation.accumulators",
        "ConditionalAccumulatorBase ConditionalAccumulator SparseConditionalAccumulator",
    ),
    "sparse.SparseConditionalAccumulator": "ops.synchronisation.accumulators",
    "contrib.staging.StagingArea": "ops.synchronisation.staging_areas",
    "CriticalSection": "ops.synchronisation.critical_section",
    **_all(
        "ops.synchronisation.session_handles",
        "get_session_handle get_session_tensor delete_session_tensor",
    ),
}

_ARITHMETIC = {
    **_all(
        "ops.elementwise.elementwise",
        "negative sign square sqrt rsqrt reciprocal exp expm1 log log1p sin cos tan asin acos atan "
        "sinh cosh tanh asinh acosh atanh erf erfc erfinv ndtri lgamma digamma floor ceil rint "
        "sigmoid is_nan is_inf is_finite logical_not add subtract multiply div div_no_nan realdiv "
        "floordiv truncatediv floormod truncatemod mod pow maximum minimum squared_difference "
        "atan2 less less_equal greater greater_equal equal not_equal logical_and logical_or "
        "logical_xor igamma igammac zeta polygamma betainc truediv divide round cross cast "
        "saturate_cast to_float to_double to_int32 to_int64 to_bfloat16 bitcast complex real imag "
        "angle conj where where_v2 clip_by_value add_n accumulate_n",
    ),
    "abs": "ops.elementwise.elementwise:absolute",
    "complex_abs": "ops.elementwise.elementwise",
    **_all(
        "ops.elementwise.elementwise",
        "negative sign square sqrt rsqrt reciprocal exp expm1 log log1p sin cos tan asin acos atan "
        "sinh cosh tanh asinh acosh atanh erf erfc erfinv ndtri lgamma digamma floor ceil rint "
        "sigmoid is_nan is_inf is_finite logical_not add subtract multiply multiply_no_nan "
        "divide_no_nan floordiv floormod mod pow maximum minimum squared_difference xdivy xlogy "
        "xlog1py atan2 nextafter less less_equal greater greater_equal equal not_equal "
        "logical_and logical_or logical_xor igamma igammac zeta polygamma betainc truediv divide "
        "round real imag angle conj bessel_i0 bessel_i0e bessel_i1 bessel_i1e add_n accumulate_n",
        "math",
    ),
    "math.abs": "ops.elementwise.elementwise:absolute",
    "math.divide_no_nan": "ops.elementwise.elementwise:div_no_nan",
    **_all(
        "ops.elementwise.elementwise",
        "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
        "bitwise",
    ),
    **_all(
        "ops.reduction",
        "reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any "
        "reduce_logsumexp count_nonzero argmax argmin arg_max arg_min cumsum cumprod bincount "
        "histogram_fixed_width",
    ),
    **_all(
        "ops.reduction",
        "reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any "
        "reduce_logsumexp reduce_euclidean_norm reduce_variance reduce_std count_nonzero argmax "
        "argmin cumsum cumprod bincount top_k",
        "math",
    ),
    "nn.top_k": "ops.reduction",
    **_all("ops.matmul.matmul", "matmul einsum"),
    **_all("ops.matmul.matmul", "matmul matvec einsum", "linalg"),
    **_all("ops.matmul.tensordot", "tensordot"),
    **_all("ops.matmul.tensordot", "tensordot", "linalg"),
    **_all(
        "ops.arrays.placeholders",
        "placeholder placeholder_with_default sparse_placeholder stop_gradient guarantee_const "
        "ensure_shape",
    ),
    **_all(
        "ops.arrays.creation",
        "zeros ones fill zeros_like ones_like eye range linspace lin_space one_hot sequence_mask",
    ),
    **_all(
        "ops.arrays.shapes",
        "shape shape_n size rank broadcast_dynamic_shape broadcast_static_shape reshape "
        "expand_dims squeeze transpose matrix_transpose broadcast_to tile",
    ),
    **_all("ops.arrays.joining", "concat stack parallel_stack unstack split meshgrid"),
    **_all(
        "ops.arrays.arrays",
        "pad reverse reverse_v2 reverse_sequence roll invert_permutation unique "
        "unique_with_counts setdiff1d searchsorted space_to_depth depth_to_space "
        "space_to_batch_nd batch_to_space_nd diag diag_part",
    ),
    **_all("ops.slicing", "slice strided_slice"),
    **_all("ops.gather", "gather gather_nd batch_gather boolean_mask"),
    **_all("autodiff.gradients", "gradients hessians AggregationMethod UnconnectedGradients"),
}

_NETWORKS = {
    **_all(
        "ops.activations",
        "relu relu6 leaky_relu elu selu crelu softplus softsign swish softmax "
        "log_softmax sigmoid tanh",
        "nn",
    ),
    **_all(
        "ops.convolution.convolution",
        "conv2d conv2d_backprop_input conv2d_backprop_filter "
        "conv2d_transpose conv3d conv1d depthwise_conv2d separable_conv2d atrous_conv2d "
        "convolution",
        "nn",
    ),
    **_all(
        "ops.pooling.pooling", "max_pool avg_pool max_pool_with_argmax max_pool3d avg_pool3d", "nn"
    ),
    **_all(
        "ops.losses",
        "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
        "sparse_softmax_cross_entropy_with_logits sigmoid_cross_entropy_with_logits "
        "weighted_cross_entropy_with_logits log_poisson_loss l2_loss in_top_k",
        "nn",
    ),
    **_all("ops.random.random", "dropout", "nn"),
    "nn.zero_fraction": "ops.clipping",
    **_all("ops.convolution.bias", "bias_add xw_plus_b relu_layer", "nn"),
    **_all(
        "ops.normalization.moments",
        "moments weighted_moments sufficient_statistics normalize_moments",
        "nn",
    ),
    **_all(
        "ops.normalization.normalization",
        "batch_normalization fused_batch_norm batch_norm_with_global_normalization l2_normalize "
        "local_response_normalization",
        "nn",
    ),
    **_all("ops.convolution.patches", "extract_image_patches extract_patches", "image"),
    **_all("ops.convolution.patches", "extract_image_patches extract_volume_patches"),
    "nn.lrn": "ops.normalization.normalization:local_response_normalization",
    "math.l2_normalize": "ops.normalization.normalization",
    "linalg.l2_normalize": "ops.normalization.normalization",
    **_all(
        "ops.random.random",
        "random_uniform random_normal truncated_normal random_shuffle random_crop "
        "multinomial random_gamma random_poisson",
    ),
    "random.uniform": "ops.random.random:random_uniform",
    "random.normal": "ops.random.random:random_normal",
    "random.shuffle": "ops.random.random:random_shuffle",
    "random.gamma": "ops.random.random:random_gamma",
    "random.poisson": "ops.random.random:random_poisson",
    **_all("ops.random.random", "truncated_normal multinomial", "random"),
    "random.set_random_seed": "framework.default_graph",
    **_all("ops.clipping", "clip_by_norm global_norm clip_by_global_norm clip_by_average_norm"),
}

_TRAINING = {
    **_all("optimizers.gradient_descent", "GradientDescentOptimizer MomentumOptimizer", "train"),
    **_all(
        "optimizers.adaptive",
        "AdagradOptimizer AdadeltaOptimizer AdamOptimizer RMSPropOptimizer FtrlOptimizer",
        "train",
    ),
    "train.Optimizer": "optimizers.optimizer",
    **_all(
        "optimizers.learning_rate",
        "exponential_decay natural_exp_decay inverse_time_decay "
        "polynomial_decay cosine_decay piecewise_constant",
        "train",
    ),
}

_SUMMARIES = {
    **_all(
        "summary.summaries",
        "scalar histogram image audio text tensor_summary merge merge_all",
        "summary",
    ),
    **_all("summary.file_writer", "FileWriter FileWriterCache", "summary"),
    **_all("=headrace.formats.proto.summary_pb2", "Summary", "summary"),
    **_all("=headrace.formats.proto.event_pb2", "Event SessionLog", "summary"),
    "train.Checkpoint": "checkpoints.object_checkpoint",
    "train.CheckpointManager": "checkpoints.checkpoint_manager",
    "train.AsyncSaver": "checkpoints.async_saver",
    "train.Saver": "checkpoints.saver",
    **_all("checkpoints.saver", "import_meta_graph export_meta_graph", "train"),
    "train.SaverDef": "=headrace.formats.proto.variable_pb2",
    **_all(
        "checkpoints.checkpoint_state",
        "latest_checkpoint get_checkpoint_state update_checkpoint_state "
        "generate_checkpoint_state_proto checkpoint_exists remove_checkpoint "
        "get_checkpoint_mtimes",
        "train",
    ),
    "train.CheckpointState": "=headrace.formats.proto.checkpoint_state_pb2",
    **_all(
        "checkpoints.checkpoint_reader", "load_checkpoint load_variable list_variables", "train"
    ),
    "train.NewCheckpointReader": "checkpoints.checkpoint_reader:new_checkpoint_reader",
}

_SAVED_MODEL = {
    **_all(
        "saved_model.saved_model", "simple_save load maybe_saved_model_directory", "saved_model"
    ),
    "saved_model.Builder": "saved_model.saved_model:SavedModelBuilder",
    "saved_model.builder.SavedModelBuilder": "saved_model.saved_model",
    **_all("saved_model.saved_model", "load maybe_saved_model_directory", "saved_model.loader"),
    "saved_model.main_op.main_op": "saved_model.saved_model",
    **_all(
        "saved_model.signature_defs",
        "build_tensor_info get_tensor_from_tensor_info build_signature_def "
        "predict_signature_def regression_signature_def classification_signature_def",
        "saved_model",
    ),
    **_all(
        "saved_model.signature_defs",
        "build_tensor_info get_tensor_from_tensor_info",
        "saved_model.utils",
    ),
    **_all(
        "saved_model.signature_defs",
        "build_signature_def predict_signature_def regression_signature_def "
        "classification_signature_def",
        "saved_model.signature_def_utils",
    ),
    "saved_model.signature_constants": "saved_model.signature_defs:",
    "saved_model.tag_constants": "saved_model.constants:",
    "saved_model.constants": "saved_model.constants:",
}

PUBLIC: dict[str, str] = {
    **CONTRIB,
    **VALUES,
    **TRAINING,
    **_SAVED_MODEL,
    **_SUMMARIES,
    **_NETWORKS,
    **NETWORKS,
    **LINALG,
    **_TRAINING,
    **_ARITHMETIC,
    **_DTYPES,
    **_GRAPH,
    **_SESSION,
    **_CONTROL_FLOW,
    **_FUNCTIONS,
    **_STATE,
    **_QUEUES,
    **INPUT,
    **DATA,
}
