"""Public names for training: the global step, sessions, hooks, checkpoints.

public_names.py describes the format.
"""

from __future__ import annotations

from headrace.graph.api.public_rows import rows

_MESSAGES = {
    **rows(
        "=headrace.formats.proto.example_pb2",
        "Example SequenceExample Feature Features FeatureList FeatureLists BytesList FloatList "
        "Int64List",
        "train",
    ),
    **rows("=headrace.formats.proto.summary_pb2", "Summary SummaryMetadata HistogramProto"),
    **rows("=headrace.formats.proto.event_pb2", "Event SessionLog LogMessage"),
    "summary.TaggedRunMetadata": "=headrace.formats.proto.event_pb2",
    "summary.SummaryDescription": "=headrace.formats.proto.summary_pb2",
}

_STEPS = {
    **rows(
        "training.global_step",
        "get_global_step create_global_step get_or_create_global_step assert_global_step "
        "global_step",
        "train",
    ),
    "train.ExponentialMovingAverage": "training.moving_averages",
    **rows(
        "optimizers.proximal",
        "ProximalGradientDescentOptimizer ProximalAdagradOptimizer AdagradDAOptimizer",
        "train",
    ),
    **rows(
        "optimizers.learning_rate",
        "cosine_decay_restarts linear_cosine_decay noisy_linear_cosine_decay "
        "piecewise_constant_decay",
        "train",
    ),
}

_SESSIONS = {
    **rows("training.coordinator", "Coordinator LooperThread", "train"),
    "train.Scaffold": "training.scaffold",
    "train.SyncReplicasOptimizer": "training.sync_replicas",
    "train.SessionManager": "training.session_manager",
    **rows(
        "training.session_creators",
        "SessionCreator ChiefSessionCreator WorkerSessionCreator",
        "train",
    ),
    **rows(
        "training.monitored_session",
        "MonitoredSession SingularMonitoredSession MonitoredTrainingSession",
        "train",
    ),
    **rows(
        "training.session_run_hook",
        "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues",
        "train",
    ),
    **rows(
        "training.checkpoint_hooks",
        "SecondOrStepTimer CheckpointSaverListener CheckpointSaverHook AsyncCheckpointSaverHook",
        "train",
    ),
    **rows(
        "training.monitor_hooks",
        "LoggingTensorHook StopAtStepHook StepCounterHook NanLossDuringTrainingError NanTensorHook "
        "SummarySaverHook GlobalStepWaiterHook FinalOpsHook FeedFnHook",
        "train",
    ),
    "train.ProfilerHook": "training.profiler_hook",
    **rows("training.supervisor", "Supervisor basic_train_loop", "train"),
    **rows(
        "training.checkpoint_initialization",
        "init_from_checkpoint warm_start checkpoints_iterator",
        "train",
    ),
}

_FILES = {
    **rows(
        "platform.gfile",
        "GFile FastGFile Open Copy DeleteRecursively Exists Glob IsDirectory ListDirectory "
        "MakeDirs MkDir Remove Rename Stat Walk",
        "gfile",
    ),
    **rows(
        "platform.path_functions",
        "copy exists glob isdir listdir makedirs mkdir remove rename rmtree stat walk",
        "io.gfile",
    ),
    "io.gfile.GFile": "platform.gfile",
    **rows(
        "platform.resource_loader",
        "get_data_files_path get_path_to_datafile get_root_dir_with_all_resources load_resource "
        "readahead_file_path",
        "resource_loader",
    ),
    **rows("ops.queues", "QueueBase PaddingFIFOQueue PriorityQueue RandomShuffleQueue", "io"),
    "io.encode_png": "ops.image.codecs",
    "train.write_graph": "training.graph_writing",
    "io.write_graph": "training.graph_writing",
    "train.summary_iterator": "platform.record_io",
}
for _space in ("io", "python_io"):
    _FILES.update(
        rows(
            "platform.record_io",
            "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
            _space,
        )
    )

_PROGRAMS = {
    "app.run": "platform.flags",
    "app.flags": "platform.flags:",
    "flags": "platform.flags:",
    **rows(
        "testing.test_case",
        "TestCase main get_temp_dir is_gpu_available gpu_device_name is_built_with_cuda "
        "is_built_with_gpu_support is_built_with_rocm is_built_with_xla assert_equal_graph_def",
        "test",
    ),
    **rows("testing.gradient_checker", "compute_gradient compute_gradient_error", "test"),
    "test.mock": "=unittest.mock:",
}

_SWITCHES = {
    **rows(
        "platform.v2_compat",
        "enable_resource_variables disable_resource_variables resource_variables_enabled "
        "executing_eagerly executing_eagerly_outside_functions disable_v2_behavior "
        "disable_eager_execution disable_v2_tensorshape disable_tensor_equality "
        "disable_control_flow_v2 control_flow_v2_enabled",
    ),
    **rows("variables.variable_collections", "tables_initializer initialize_all_tables"),
    "initializers.global_variables": "variables.variable_collections:global_variables_initializer",
    "initializers.local_variables": "variables.variable_collections:local_variables_initializer",
    "initializers.variables": "variables.variable_collections:variables_initializer",
    "initializers.tables_initializer": "variables.variable_collections",
    "no_gradient": "framework.op_registry:NotDifferentiable",
    "OpError": "=headrace.formats.errors",
    "get_logger": "platform.logging",
    "VERSION": "api.version:__version__",
    "version.VERSION": "api.version:__version__",
    "version.PACKAGE_VERSION": "api.version",
    **rows(
        "framework.graph_codec",
        "GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
        "version",
    ),
}

_CLUSTERS = {
    **rows("=headrace.formats.proto.cluster_pb2", "ClusterDef JobDef", "train"),
    "train.ServerDef": "=headrace.formats.proto.server_pb2",
    "train.ClusterSpec": "cluster.cluster_spec",
    "train.Server": "cluster.server",
    "train.replica_device_setter": "cluster.device_setter",
    "test.create_local_cluster": "testing.local_cluster",
}

_EXPORTED = {
    "saved_model.is_valid_signature": "saved_model.signature_defs",
    "saved_model.contains_saved_model": "saved_model.saved_model:maybe_saved_model_directory",
    "saved_model.main_op_with_restore": "saved_model.saved_model",
    "saved_model.main_op.main_op_with_restore": "saved_model.saved_model",
    "saved_model.signature_def_utils.is_valid_signature": "saved_model.signature_defs",
    **rows(
        "saved_model.signature_defs",
        "DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_METHOD_NAME PREDICT_INPUTS PREDICT_OUTPUTS "
        "CLASSIFY_METHOD_NAME CLASSIFY_INPUTS CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
        "REGRESS_METHOD_NAME REGRESS_INPUTS REGRESS_OUTPUTS",
        "saved_model",
    ),
    **rows(
        "saved_model.constants",
        "ASSETS_DIRECTORY ASSETS_KEY GPU LEGACY_INIT_OP_KEY MAIN_OP_KEY SAVED_MODEL_FILENAME_PB "
        "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING "
        "VARIABLES_DIRECTORY VARIABLES_FILENAME",
        "saved_model",
    ),
}

TRAINING: dict[str, str] = {
    **_SWITCHES,
    **_EXPORTED,
    **_MESSAGES,
    **_STEPS,
    **_SESSIONS,
    **_CLUSTERS,
    **_FILES,
    **_PROGRAMS,
}
