"""TensorFlow's inner modules that programs import: `hr.python` and `hr.core`.

    from tensorflow.python.client import timeline
    from headrace.graph.python.client import timeline

They hold public names only, under the module in which TensorFlow 1.15 keeps them. aliases.py
describes the format.
"""

from __future__ import annotations

_CONTROL_FLOW = (
    "Assert case cond group identity no_op tuple while_loop "
    "with_dependencies=@control_flow.control_flow_ops:with_dependencies"
)
_RANDOM = (
    "random_uniform random_normal truncated_normal random_shuffle random_crop multinomial "
    "random_gamma random_poisson"
)
_QUEUES = "QueueBase FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue"
_VARIABLES = (
    "Variable global_variables all_variables local_variables model_variables trainable_variables "
    "moving_average_variables variables_initializer initialize_variables "
    "global_variables_initializer initialize_all_variables local_variables_initializer "
    "initialize_local_variables is_variable_initialized assert_variables_initialized "
    "report_uninitialized_variables VariableSynchronization VariableAggregation"
)
_SCOPES = (
    "VariableScope variable_scope get_variable get_variable_scope variable_op_scope "
    "variable_creator_scope get_local_variable no_regularizer AUTO_REUSE"
)
_CHECKPOINTS = (
    "train.latest_checkpoint train.get_checkpoint_state train.update_checkpoint_state "
    "train.generate_checkpoint_state_proto train.checkpoint_exists train.remove_checkpoint "
    "train.get_checkpoint_mtimes train.CheckpointManager"
)
_HOOKS = (
    "train.LoggingTensorHook train.StopAtStepHook train.StepCounterHook train.NanTensorHook "
    "train.NanLossDuringTrainingError train.SummarySaverHook train.GlobalStepWaiterHook "
    "train.FinalOpsHook train.FeedFnHook train.ProfilerHook train.CheckpointSaverHook "
    "train.CheckpointSaverListener train.SecondOrStepTimer"
)
_STEPS = (
    "train.global_step train.get_global_step train.create_global_step "
    "train.get_or_create_global_step train.assert_global_step write_graph=train.write_graph"
)

_FRAMEWORK = {
    "ops": "Graph Tensor Operation GraphKeys IndexedSlices RegisterGradient NotDifferentiable "
    "NoGradient name_scope op_scope device control_dependencies colocate_with container init_scope "
    "convert_to_tensor internal_convert_to_tensor=convert_to_tensor "
    "convert_n_to_tensor=@builder.conversion:convert_n_to_tensor "
    "register_tensor_conversion_function "
    "convert_to_tensor_or_indexed_slices get_default_graph get_default_session "
    "reset_default_graph add_to_collection add_to_collections get_collection get_collection_ref "
    "get_all_collection_keys _get_graph_from_inputs=contrib.framework.get_graph_from_inputs "
    "prepend_name_scope=@framework.import_scope:prepend_name_scope "
    "strip_name_scope=@framework.import_scope:strip_name_scope "
    "register_proto_function=@serialization.meta_graph:register_proto_function "
    "executing_eagerly_outside_functions",
    "dtypes": "DType as_dtype float16 half float32 float64 double bfloat16 int8 int16 int32 int64 "
    "uint8 uint16 uint32 uint64 bool string complex64 complex128 resource variant qint8 qint16 "
    "qint32 quint8 quint16 QUANTIZED_DTYPES",
    "constant_op": "constant",
    "tensor_shape": "TensorShape Dimension dimension_value "
    "as_shape=@framework.tensor_shape:as_shape "
    "as_dimension=@framework.tensor_shape:as_dimension "
    "unknown_shape=@framework.tensor_shape:unknown_shape "
    "scalar=@framework.tensor_shape:scalar vector=@framework.tensor_shape:vector "
    "matrix=@framework.tensor_shape:matrix",
    "tensor_spec": "TensorSpec",
    "tensor_util": "make_tensor_proto make_ndarray MakeNdarray=make_ndarray "
    "constant_value=get_static_value is_tensor",
    "sparse_tensor": "SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor",
    "random_seed": "get_seed set_random_seed",
    "importer": "import_graph_def",
    "graph_util": "graph_util.*",
    "graph_util_impl": "graph_util.*",
    "graph_io": "train.write_graph",
    "meta_graph": "import_scoped_meta_graph=@serialization.meta_graph:import_scoped_meta_graph "
    "export_scoped_meta_graph=@serialization.meta_graph:export_scoped_meta_graph "
    "create_meta_graph_def=@serialization.meta_graph:create_meta_graph_def "
    "read_meta_graph_file=@serialization.meta_graph:read_meta_graph_file",
    "device": "DeviceSpec merge_device=@framework.device_spec:merge_device "
    "canonical_name=@framework.device_spec:canonical",
    "function": "functions.Defun functions.Declare functions.get_extra_vars "
    "functions.get_extra_inputs functions.get_extra_args",
    "load_library": "load_op_library",
    "smart_cond": "contrib.framework.smart_cond contrib.framework.smart_case "
    "contrib.framework.smart_constant_value",
    "test_util": "TensorFlowTestCase=test.TestCase test.assert_equal_graph_def",
    "versions": "VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
}

_OPS = {
    "array_ops": "batch_gather boolean_mask broadcast_dynamic_shape broadcast_static_shape "
    "broadcast_to batch_to_space concat constant edit_distance expand_dims fill gather gather_nd "
    "identity identity_n invert_permutation matrix_band_part matrix_diag matrix_diag_part "
    "matrix_set_diag matrix_transpose meshgrid newaxis one_hot ones ones_like pad parallel_stack "
    "placeholder placeholder_with_default rank repeat required_space_to_batch_paddings "
    "reshape reverse reverse_sequence reverse_v2 searchsorted sequence_mask setdiff1d shape "
    "shape_n "
    "size slice space_to_batch space_to_batch_nd batch_to_space_nd space_to_depth depth_to_space "
    "sparse_mask sparse_placeholder split squeeze stack stop_gradient strided_slice "
    "tensor_diag=diag "
    "tensor_diag_part=diag_part tile transpose unique unique_with_counts unravel_index unstack "
    "where where_v2 zeros zeros_like check_numerics bitcast ensure_shape guarantee_const "
    "extract_image_patches extract_volume_patches scatter_nd tensor_scatter_update",
    "math_ops": "math.* abs add add_n accumulate_n arg_max arg_min argmax argmin cast ceil complex "
    "count_nonzero cumsum cumprod div div_no_nan divide equal exp floor greater less linspace "
    "lin_space=lin_space log logical_and logical_not logical_or logical_xor matmul maximum minimum "
    "mod multiply negative pow range reduce_all reduce_any reduce_join reduce_logsumexp reduce_max "
    "reduce_mean reduce_min reduce_prod reduce_sum round rsqrt saturate_cast scalar_mul "
    "segment_sum "
    "sigmoid sign sqrt square squared_difference subtract tanh tensordot to_bfloat16 to_double "
    "to_float to_int32 to_int64 trace truediv unsorted_segment_sum sparse_segment_sum bincount",
    "nn": "nn.*",
    "nn_ops": "nn.*",
    "nn_impl": "nn.*",
    "rnn": "nn.dynamic_rnn nn.bidirectional_dynamic_rnn nn.raw_rnn nn.static_rnn "
    "nn.static_bidirectional_rnn nn.static_state_saving_rnn",
    "rnn_cell": "nn.rnn_cell.*",
    "rnn_cell_impl": "nn.rnn_cell.* "
    "assert_like_rnncell=nn.rnn_cell.assert_like_rnncell "
    "_zero_state_tensors=@rnn_cells.cell:zero_states",
    "init_ops": "zeros_initializer ones_initializer constant_initializer "
    "random_uniform_initializer "
    "random_normal_initializer truncated_normal_initializer uniform_unit_scaling_initializer "
    "variance_scaling_initializer glorot_uniform_initializer glorot_normal_initializer "
    "orthogonal_initializer he_normal=initializers.he_normal he_uniform=initializers.he_uniform "
    "lecun_normal=initializers.lecun_normal lecun_uniform=initializers.lecun_uniform "
    "Zeros=zeros_initializer Ones=ones_initializer Constant=constant_initializer "
    "RandomUniform=random_uniform_initializer RandomNormal=random_normal_initializer "
    "TruncatedNormal=truncated_normal_initializer Orthogonal=orthogonal_initializer "
    "VarianceScaling=variance_scaling_initializer GlorotUniform=glorot_uniform_initializer "
    "GlorotNormal=glorot_normal_initializer Identity=initializers.identity "
    "Initializer=@variables.initializers:Initializer",
    "variable_scope": f"{_SCOPES} variable=Variable "
    "_get_default_variable_store=@variables.variable_store:get_store",
    "variables": _VARIABLES,
    "resource_variable_ops": "ResourceVariable=@variables.resource_variable:ResourceVariable",
    "partitioned_variables": "create_partitioned_variables variable_axis_size_partitioner "
    "min_max_variable_partitioner fixed_size_partitioner",
    "control_flow_ops": _CONTROL_FLOW,
    "functional_ops": "map_fn foldl foldr scan functions.If functions.While functions.For "
    "functions.Gradient functions.remote_call functions.partitioned_call",
    "map_fn": "map_fn",
    "tensor_array_ops": "TensorArray",
    "data_flow_ops": f"{_QUEUES} dynamic_partition dynamic_stitch ConditionalAccumulator "
    "SparseConditionalAccumulator",
    "embedding_ops": "nn.embedding_lookup nn.embedding_lookup_sparse "
    "nn.safe_embedding_lookup_sparse",
    "candidate_sampling_ops": "nn.uniform_candidate_sampler nn.log_uniform_candidate_sampler "
    "nn.learned_unigram_candidate_sampler nn.fixed_unigram_candidate_sampler "
    "nn.all_candidate_sampler nn.compute_accidental_hits",
    "clip_ops": "clip_by_value clip_by_norm clip_by_average_norm clip_by_global_norm global_norm",
    "check_ops": "debugging.*",
    "confusion_matrix": "confusion_matrix "
    "remove_squeezable_dimensions=contrib.framework.remove_squeezable_dimensions",
    "ctc_ops": "nn.ctc_loss nn.ctc_greedy_decoder nn.ctc_beam_search_decoder",
    "custom_gradient": "custom_gradient grad_pass_through",
    "gradients": "gradients hessians AggregationMethod",
    "gradients_impl": "gradients hessians AggregationMethod UnconnectedGradients",
    "gradient_checker": "test.compute_gradient test.compute_gradient_error",
    "image_ops": "image.*",
    "image_ops_impl": "image.*",
    "io_ops": "read_file write_file matching_files TextLineReader FixedLengthRecordReader "
    "TFRecordReader WholeFileReader IdentityReader ReaderBase",
    "linalg_ops": "cholesky cholesky_solve eye matrix_inverse matrix_determinant matrix_solve "
    "matrix_solve_ls matrix_triangular_solve norm qr self_adjoint_eig self_adjoint_eigvals svd "
    "matrix_square_root tensordot",
    "linalg.linalg": "linalg.*",
    "linalg_impl": "linalg.*",
    "logging_ops": "Print print timestamp",
    "lookup_ops": "contrib.lookup.* lookup.* tables_initializer initialize_all_tables "
    "MutableHashTable=@lookup.mutable_tables:MutableHashTable "
    "index_table_from_tensor=@lookup.vocabularies:index_table_from_tensor "
    "index_to_string_table_from_tensor=@lookup.vocabularies:index_to_string_table_from_tensor",
    "losses.losses": "losses.*",
    "losses.losses_impl": "losses.*",
    "losses.util": "losses.add_loss losses.get_losses losses.get_regularization_loss "
    "losses.get_regularization_losses losses.get_total_loss",
    "metrics": "metrics.*",
    "metrics_impl": "metrics.*",
    "numerics": "add_check_numerics_ops verify_tensor_all_finite",
    "parsing_ops": "io.decode_raw io.decode_csv io.decode_compressed io.decode_json_example "
    "io.parse_tensor io.serialize_tensor io.parse_example io.parse_single_example "
    "io.parse_single_sequence_example io.parse_sequence_example io.FixedLenFeature "
    "io.FixedLenSequenceFeature io.VarLenFeature io.SparseFeature",
    "random_ops": _RANDOM,
    "resources": "register_resource=@variables.resources:register_resource "
    "shared_resources=@variables.resources:shared_resources "
    "local_resources=@variables.resources:local_resources "
    "report_uninitialized_resources=@variables.resources:report_uninitialized_resources "
    "initialize_resources=@variables.resources:initialize_resources",
    "script_ops": "py_func numpy_function py_function",
    "sets": "sets.*",
    "sparse_ops": "sparse_add sparse_concat sparse_fill_empty_rows sparse_mask sparse_maximum "
    "sparse_merge sparse_minimum sparse_reduce_max sparse_reduce_sum sparse_reorder "
    "sparse_reset_shape sparse_reshape sparse_retain sparse_slice sparse_softmax sparse_split "
    "sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_dense sparse_to_indicator "
    "sparse_transpose",
    "special_math_ops": "einsum lbeta",
    "spectral_ops": "spectral.* signal.*",
    "state_ops": "assign assign_add assign_sub count_up_to scatter_add scatter_div scatter_max "
    "scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub "
    "scatter_update",
    "stateless_random_ops": "random.stateless_uniform random.stateless_normal "
    "random.stateless_truncated_normal random.stateless_multinomial",
    "string_ops": "as_string decode_base64 encode_base64 reduce_join regex_replace string_join "
    "string_split string_strip string_to_hash_bucket string_to_hash_bucket_fast "
    "string_to_hash_bucket_strong string_to_number substr",
    "template": "make_template",
    "weights_broadcast_ops": "assert_broadcastable=@losses.weight_broadcasting:"
    "assert_broadcastable broadcast_weights=@losses.weight_broadcasting:broadcast_weights",
}

_TRAINING = {
    "training": "train.*",
    "saver": f"train.Saver train.import_meta_graph train.export_meta_graph {_CHECKPOINTS}",
    "checkpoint_management": _CHECKPOINTS,
    "checkpoint_utils": "train.load_checkpoint train.load_variable train.list_variables "
    "train.init_from_checkpoint train.checkpoints_iterator "
    "wait_for_new_checkpoint=contrib.training.wait_for_new_checkpoint",
    "warm_starting_util": "train.warm_start",
    "coordinator": "train.Coordinator train.LooperThread",
    "queue_runner": "train.QueueRunner train.add_queue_runner train.start_queue_runners",
    "queue_runner_impl": "train.QueueRunner train.add_queue_runner train.start_queue_runners",
    "input": "train.batch train.batch_join train.input_producer train.limit_epochs "
    "train.match_filenames_once train.maybe_batch train.maybe_batch_join "
    "train.maybe_shuffle_batch train.maybe_shuffle_batch_join train.range_input_producer "
    "train.shuffle_batch train.shuffle_batch_join train.slice_input_producer "
    "train.string_input_producer",
    "training_util": _STEPS,
    "basic_session_run_hooks": _HOOKS,
    "session_run_hook": "train.SessionRunHook train.SessionRunArgs train.SessionRunContext "
    "train.SessionRunValues",
    "monitored_session": "train.Scaffold train.SessionCreator train.ChiefSessionCreator "
    "train.WorkerSessionCreator train.MonitoredSession train.SingularMonitoredSession "
    "train.MonitoredTrainingSession",
    "session_manager": "train.SessionManager",
    "supervisor": "train.Supervisor",
    "basic_loops": "train.basic_train_loop",
    "moving_averages": "train.ExponentialMovingAverage "
    "assign_moving_average=@training.moving_averages:assign_moving_average",
    "learning_rate_decay": "train.exponential_decay train.natural_exp_decay "
    "train.inverse_time_decay train.polynomial_decay train.cosine_decay train.piecewise_constant "
    "train.cosine_decay_restarts train.linear_cosine_decay train.noisy_linear_cosine_decay",
    "optimizer": "train.Optimizer",
    "gradient_descent": "train.GradientDescentOptimizer",
    "momentum": "train.MomentumOptimizer",
    "adam": "train.AdamOptimizer",
    "adagrad": "train.AdagradOptimizer",
    "adagrad_da": "train.AdagradDAOptimizer",
    "adadelta": "train.AdadeltaOptimizer",
    "rmsprop": "train.RMSPropOptimizer",
    "ftrl": "train.FtrlOptimizer",
    "proximal_adagrad": "train.ProximalAdagradOptimizer",
    "proximal_gradient_descent": "train.ProximalGradientDescentOptimizer",
    "sync_replicas_optimizer": "train.SyncReplicasOptimizer",
    "server_lib": "train.Server train.ClusterSpec",
    "device_setter": "train.replica_device_setter",
    "summary_io": "summary.FileWriter train.summary_iterator",
    "evaluation": "_evaluate_once=contrib.training.evaluate_once "
    "_get_or_create_eval_step=contrib.training.get_or_create_eval_step "
    "_StopAfterNEvalsHook=contrib.training.StopAfterNEvalsHook",
}

_OTHERS = {
    "eager.def_function": "function",
    "data.ops.dataset_ops": "data.Dataset data.DatasetSpec data.Options DatasetV1=data.Dataset "
    "DatasetV2=data.Dataset DatasetV1Adapter=data.Dataset data.make_one_shot_iterator "
    "data.make_initializable_iterator data.experimental.get_structure "
    "get_legacy_output_classes=data.get_output_classes "
    "get_legacy_output_shapes=data.get_output_shapes "
    "get_legacy_output_types=data.get_output_types data.experimental.AUTOTUNE",
    "data.ops.iterator_ops": "data.Iterator data.experimental.get_next_as_optional "
    "GLOBAL_ITERATORS=@data.iterator:GLOBAL_ITERATORS",
    "data.ops.optional_ops": "data.experimental.Optional OptionalSpec",
    "data.ops.readers": "data.FixedLengthRecordDataset data.TFRecordDataset data.TextLineDataset",
    "data.experimental.ops.batching": "data.experimental.map_and_batch data.experimental.unbatch "
    "data.experimental.dense_to_sparse_batch",
    "data.experimental.ops.grouping": "data.experimental.group_by_window "
    "data.experimental.bucket_by_sequence_length",
    "data.experimental.ops.cardinality": "data.experimental.cardinality "
    "INFINITE=data.experimental.INFINITE_CARDINALITY "
    "UNKNOWN=data.experimental.UNKNOWN_CARDINALITY",
    "data.experimental.ops.error_ops": "data.experimental.ignore_errors",
    "data.experimental.ops.interleave_ops": "data.experimental.parallel_interleave "
    "data.experimental.choose_from_datasets data.experimental.sample_from_datasets",
    "data.experimental.ops.iterator_ops": "data.experimental.make_saveable_from_iterator "
    "data.experimental.CheckpointInputPipelineHook",
    "data.experimental.ops.random_ops": "data.experimental.RandomDataset",
    "data.experimental.ops.resampling": "data.experimental.rejection_resample",
    "data.experimental.ops.scan_ops": "data.experimental.scan",
    "data.experimental.ops.stats_aggregator": "data.experimental.StatsAggregator",
    "data.experimental.ops.stats_ops": "data.experimental.bytes_produced_stats "
    "data.experimental.latency_stats "
    "set_stats_aggregator=@data.statistics:set_stats_aggregator",
    "data.experimental.ops.take_while_ops": "data.experimental.take_while",
    "data.experimental.ops.unique": "data.experimental.unique",
    "data.experimental.ops.writers": "data.experimental.TFRecordWriter",
    "data.experimental.ops.readers": "data.experimental.CsvDataset data.experimental.SqlDataset "
    "data.experimental.make_csv_dataset data.experimental.make_batched_features_dataset",
    "data.experimental.ops.shuffle_ops": "data.experimental.shuffle_and_repeat",
    "client.session": "Session InteractiveSession",
    "client.timeline": "Timeline=@client.timeline:Timeline",
    "client.device_lib": "list_local_devices=@client.device_list:list_local_devices",
    "layers.base": "layers.Layer layers.InputSpec",
    "layers.core": "layers.Dense layers.Dropout layers.Flatten layers.dense layers.dropout "
    "layers.flatten",
    "layers.convolutional": "layers.Conv1D layers.Conv2D layers.Conv3D layers.Conv2DTranspose "
    "layers.Conv3DTranspose layers.SeparableConv1D layers.SeparableConv2D layers.conv1d "
    "layers.conv2d layers.conv3d layers.conv2d_transpose layers.conv3d_transpose "
    "layers.separable_conv1d layers.separable_conv2d",
    "layers.normalization": "layers.BatchNormalization layers.batch_normalization",
    "layers.pooling": "layers.MaxPooling1D layers.MaxPooling2D layers.MaxPooling3D "
    "layers.AveragePooling1D layers.AveragePooling2D layers.AveragePooling3D layers.max_pooling1d "
    "layers.max_pooling2d layers.max_pooling3d layers.average_pooling1d layers.average_pooling2d "
    "layers.average_pooling3d",
    "layers.layers": "layers.*",
    "layers.utils": "constant_value=contrib.framework.smart_constant_value "
    "smart_cond=contrib.framework.smart_cond",
    "lib.io.file_io": "FileIO=gfile.GFile file_exists=gfile.Exists delete_file=gfile.Remove "
    "get_matching_files=gfile.Glob create_dir=gfile.MkDir recursive_create_dir=gfile.MakeDirs "
    "copy=gfile.Copy rename=gfile.Rename delete_recursively=gfile.DeleteRecursively "
    "is_directory=gfile.IsDirectory list_directory=gfile.ListDirectory walk=gfile.Walk "
    "stat=gfile.Stat read_file_to_string=@platform.file_io:read_file_to_string "
    "write_string_to_file=@platform.file_io:write_string_to_file "
    "atomic_write_string_to_file=@platform.file_io:atomic_write_string_to_file",
    "lib.io.tf_record": "python_io.*",
    "lib.io.python_io": "python_io.*",
    "platform.app": "app.run",
    "platform.gfile": "gfile.*",
    "platform.googletest": "test.main test.get_temp_dir",
    "platform.resource_loader": "resource_loader.*",
    "platform.test": "test.*",
    "platform.tf_logging": "logging.*",
    "pywrap_tensorflow": "train.NewCheckpointReader",
    "saved_model.builder": "saved_model.builder.*",
    "saved_model.builder_impl": "saved_model.builder.*",
    "saved_model.loader": "saved_model.loader.*",
    "saved_model.loader_impl": "saved_model.loader.*",
    "saved_model.main_op": "saved_model.main_op.*",
    "saved_model.signature_def_utils": "saved_model.signature_def_utils.*",
    "saved_model.signature_def_utils_impl": "saved_model.signature_def_utils.*",
    "saved_model.simple_save": "saved_model.simple_save",
    "saved_model.utils": "saved_model.utils.*",
    "saved_model.utils_impl": "saved_model.utils.*",
    "tools.freeze_graph": "freeze_graph=@training.graph_freezing:freeze_graph",
    "tools.inspect_checkpoint": "print_tensors_in_checkpoint_file="
    "@checkpoints.checkpoint_listing:print_tensors_in_checkpoint_file",
    "summary.summary": "summary.*",
    "summary.summary_iterator": "train.summary_iterator",
    "summary.writer.writer": "summary.FileWriter",
    "summary.writer.writer_cache": "summary.FileWriterCache",
    "util.compat": "compat.*",
    "util.deprecation": "contrib.framework.deprecated contrib.framework.deprecated_args "
    "contrib.framework.deprecated_arg_values "
    "deprecated_argument_lookup=@platform.deprecation:deprecated_argument_lookup",
    "util.tf_export": "tf_export=@platform.deprecation:tf_export",
}

_MESSAGES = {
    "framework.graph_pb2": "GraphDef",
    "framework.node_def_pb2": "NodeDef",
    "framework.attr_value_pb2": "AttrValue NameAttrList",
    "framework.op_def_pb2": "OpDef",
    "framework.summary_pb2": "Summary SummaryMetadata HistogramProto",
    "util.event_pb2": "Event SessionLog LogMessage",
    "example.example_pb2": "train.Example train.SequenceExample",
    "example.feature_pb2": "train.Feature train.Features train.FeatureList train.FeatureLists "
    "train.BytesList train.FloatList train.Int64List",
    "protobuf.config_pb2": "ConfigProto RunOptions RunMetadata GraphOptions OptimizerOptions "
    "GPUOptions",
    "protobuf.meta_graph_pb2": "MetaGraphDef TensorInfo",
    "protobuf.saver_pb2": "train.SaverDef",
    "protobuf.cluster_pb2": "train.ClusterDef train.JobDef",
    "protobuf.tensorflow_server_pb2": "train.ServerDef",
}

INNER_MODULES = {
    **{f"python.framework.{module}": names for module, names in _FRAMEWORK.items()},
    **{f"python.ops.{module}": names for module, names in _OPS.items()},
    **{f"python.training.{module}": names for module, names in _TRAINING.items()},
    **{f"python.{module}": names for module, names in _OTHERS.items()},
    "python.framework": "errors errors_impl=errors",
    "python.platform": "flags",
    "python.util": "nest",
    "python.saved_model": "saved_model.signature_constants saved_model.tag_constants "
    "saved_model.constants",
    **{f"core.{module}": names for module, names in _MESSAGES.items()},
}
